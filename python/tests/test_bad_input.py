"""What cannot be used ends in an exception whose sentence names the argument."""

import os
import struct
import subprocess

import numpy as np
import pytest
from phantom import AFFINE, brain

import freeflow

GOOD = brain(0, (12, 14, 10))


def affine_with(value, row=0, column=0):
    affine = np.array(AFFINE)
    affine[row, column] = value
    return affine


@pytest.mark.parametrize(
    "array, affine, error, words",
    [
        (GOOD[0], AFFINE, ValueError, "array has 2 dimensions"),
        (GOOD[None], AFFINE, ValueError, "channels"),
        (GOOD[:0], AFFINE, ValueError, "no voxels"),
        (GOOD.astype(object), AFFINE, TypeError, "array"),
        ("nowhere.nii.gz", AFFINE, TypeError, "array must be an image or an array of numbers"),
        (GOOD, affine_with(np.nan), ValueError, "affine_ras has numbers that are not finite"),
        (GOOD, affine_with(np.inf, 1, 3), ValueError, "affine_ras has numbers that are not finite"),
        (GOOD, affine_with(0), ValueError, "affine_ras"),
        (GOOD, affine_with(1, 0, 1), ValueError, "sheared"),
        (GOOD, affine_with(1, 3, 0), ValueError, "last row"),
        (GOOD, np.eye(3), ValueError, "4x4"),
        (GOOD, "RAS", TypeError, "affine_ras"),
    ],
)
def test_images(array, affine, error, words):
    with pytest.raises(error, match=words):
        freeflow.Image(array, affine)


def mask(value=1, shape=GOOD.shape):
    return np.full(shape, value, np.uint8)


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        ({"fixed": GOOD.astype(complex)}, TypeError, "fixed has the dtype complex128"),
        ({"fixed": GOOD[0]}, ValueError, "fixed has 2 dimensions"),
        ({"fixed": np.ma.masked_less(GOOD, 10)}, TypeError, "fixed is a masked array"),
        ({"moving": 3}, ValueError, "moving has 0 dimensions"),
        ({"moving": None}, TypeError, "moving"),
        ({"moving": "nowhere.nii.gz"}, OSError, "nowhere"),
        ({"moving": np.full(GOOD.shape, np.nan, np.float32)}, ValueError, "moving has no voxel with a value"),
        (
            {"fixed": [GOOD, GOOD], "moving": [GOOD, np.full(GOOD.shape, np.nan, np.float32)]},
            ValueError,
            r"moving\[1\] has no voxel with a value",
        ),
        ({"moving": np.zeros(GOOD.shape, np.float32)}, freeflow.RegistrationError, "moving"),
        ({"fixed": [GOOD, GOOD]}, ValueError, "fixed has 2 channels"),
        ({"fixed": [GOOD, GOOD[1:]], "moving": [GOOD, GOOD]}, ValueError, r"fixed\[1\] lies on another grid"),
        ({"fixed_mask": mask(0)}, ValueError, "fixed_mask has no voxel"),
        ({"fixed_mask": mask()[0]}, ValueError, "fixed_mask has 2 dimensions"),
        ({"moving_mask": mask(shape=(3, 3, 3))}, ValueError, "moving_mask"),
        ({"model": "thin plate"}, ValueError, "model 'thin plate'"),
        ({"similarity": "psnr"}, ValueError, "similarity 'psnr'"),
        ({"similarity": 3}, ValueError, "similarity must be a word"),
        ({"bending": 1}, ValueError, "bending is no option of model='flow'"),
        ({"mask": mask()}, ValueError, "mask is no option of model='flow': is fixed_mask or moving_mask meant"),
        ({"itertions": 3}, ValueError, "itertions is no option of model='flow': is iterations meant"),
        ({"type_of_transform": "SyN"}, ValueError, "which takes similarity, channel_weights"),
        ({"context": freeflow.Context("cpu"), "threads": 1}, ValueError, "context and threads exclude each other"),
        ({"moving": "."}, OSError, "it is a folder"),
        ({"model": "ffd", "bending": -1}, ValueError, "^bending must lie"),
        ({"model": "ffd", "bending": "much"}, ValueError, "bending must be a number"),
        ({"model": "ffd", "spacing": "8parsec"}, ValueError, "spacing '8parsec'"),
        ({"levels": 2.5}, ValueError, "levels must be a whole number"),
        ({"levels": True}, ValueError, "levels must be a whole number"),
        ({"levels": 99}, ValueError, "levels"),
        ({"levels": 2, "iterations": [3, 3, 3]}, ValueError, "iterations"),
        ({"iterations": []}, ValueError, "iterations is an empty list: give a value, or leave it out"),
        ({"fixed": [], "moving": []}, ValueError, "fixed is an empty list: give an image, or some"),
        ({"iterations": "100x50"}, ValueError, "iterations must be a whole number or a list"),
        ({"init": "middle"}, ValueError, "init 'middle'"),
        ({"init": np.eye(4)}, TypeError, "init must be"),
        ({"init": freeflow.Transform.field(np.zeros((4, 4, 4, 3)), AFFINE), "model": "affine"}, ValueError, "init has a displacement"),
        ({"clip": (3, 2)}, ValueError, "clip must be"),
        ({"clip": 3}, TypeError, "clip must be"),
        ({"clip": [500, 900]}, ValueError, r"clip=\(500, 900\) leaves one value of fixed, all of whose voxels lie to one side of it"),
        ({"background": "air"}, TypeError, "background must be a number"),
        ({"fixed": freeflow.Image(GOOD, AFFINE), "moving_mask": freeflow.Image(mask()[:, :1], AFFINE)}, ValueError, "moving_mask"),
        ({"fixed": [[1, 2], [3]]}, TypeError, "fixed"),
        ({"fixed": np.array([["a", "b"]])}, TypeError, "fixed has the dtype"),
        ({"fixed": GOOD.astype("M8[s]")}, TypeError, "fixed has the dtype"),
        ({"init": "x.mat"}, ValueError, "init 'x.mat'"),
        ({"moving": [GOOD, GOOD[0]], "fixed": [GOOD, GOOD]}, ValueError, r"moving\[1\] has 2 dimensions"),
        ({"device": "tpu"}, ValueError, "tpu"),
        ({"device": "cuda:77"}, (ValueError, freeflow.DeviceError), "cuda:77"),
        ({"threads": -1}, ValueError, "threads"),
        ({"threads": 1.5}, TypeError, "threads"),
        ({"context": "cpu"}, TypeError, "context must be a freeflow.Context"),
        ({"progress": 3}, TypeError, "progress must be"),
        ({"interpolation": "sinc"}, ValueError, "interpolation 'sinc'"),
    ],
)
def test_registrations(arguments, error, words):
    with pytest.raises(error, match=words):
        freeflow.register(**{"fixed": GOOD, "moving": GOOD, **arguments})


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda t: t.points([[1, 2]]), ValueError, "xyz must be of shape"),
        (lambda t: t.points([[1, 2, np.nan]]), ValueError, "xyz has numbers that are not finite"),
        (lambda t: t.points([[1, 2, 3]], frame="voxel"), ValueError, "frame 'voxel'"),
        (lambda t: t.apply(GOOD, interpolation=1), ValueError, "interpolation must be a word, .* and is 1"),
        (lambda t: t.apply(GOOD, interpolation="sinc"), ValueError, "interpolation 'sinc'"),
        (lambda t: t.apply(GOOD, interpolation="vote"), ValueError, "interpolation 'vote' is of labels, and image holds float32"),
        (lambda t: t.apply(mask(), interpolation="sinc"), ValueError, "interpolation 'sinc' of labels"),
        (lambda t: t.apply(mask(), fill=0.5), ValueError, "fill 0.5 is no label"),
        (lambda t: t.apply(mask(), fill=np.nan), ValueError, "fill nan is no label"),
        (lambda t: t.apply(mask(), fill=-1), ValueError, "fill -1 does not fit into labels of uint8"),
        (lambda t: t.apply(mask() > 0, fill=2), ValueError, "fill 2 does not fit into labels of bool"),
        (lambda t: t.apply(mask(), fill="air"), TypeError, "fill must be a number or 'min'"),
        (lambda t: t.apply(mask(), fill="min"), ValueError, "fill 'min' is of images; labels take an integer"),
        (lambda t: t.apply(GOOD, fill=None), TypeError, "fill must be a number"),
        (lambda t: t.apply(GOOD[0]), ValueError, "image has 2 dimensions"),
        (lambda t: t.apply(GOOD.astype(complex)), TypeError, "image has the dtype complex"),
        (lambda t: t.apply(GOOD, GOOD[0]), ValueError, "like has 2 dimensions"),
        (lambda t: t.jacobian(GOOD[0]), ValueError, "like has 2 dimensions"),
        (lambda t: t.displacement(GOOD, frame="mni"), ValueError, "frame 'mni'"),
        (lambda t: t.points([["a", 1, 2]]), TypeError, "xyz"),
        (lambda t: freeflow.Image(freeflow.Image(GOOD, AFFINE)), TypeError, "array is an Image, which knows its place"),
        (lambda t: freeflow.Image.channels([freeflow.Image(GOOD, AFFINE)]), TypeError, "array is a list of Images"),
        (lambda t: freeflow.Transform.affine(np.eye(3)), ValueError, "4x4"),
        (lambda t: freeflow.Transform.affine("LPS"), TypeError, "matrix_ras"),
        (lambda t: freeflow.Transform.field(np.zeros((4, 4, 4, 3)), affine_with(np.inf)), ValueError, "affine_ras has numbers"),
        (lambda t: freeflow.Transform.field(np.zeros((4, 4, 4, 3), complex), AFFINE), TypeError, "displacement_ras has the dtype"),
        (lambda t: t.jacobian(), ValueError, "like is missing"),
        (lambda t: t.write("t.h5", like=GOOD), ValueError, "regtool convert"),
        (lambda t: t.write("nowhere/t.nii", like=GOOD), OSError, "cannot write 'nowhere/t.nii': there is no folder 'nowhere'"),
        (lambda t: freeflow.Transform.read(["a.mat", "b.mat"]), TypeError, r"Transform.read\(\*paths\)"),
        (lambda t: list(freeflow.register_many((GOOD, GOOD))), ValueError, "one of pairs is a ndarray"),
        (lambda t: list(freeflow.register_many([(GOOD,)])), ValueError, "one of pairs is a tuple of 1"),
        (lambda t: t @ np.eye(4), TypeError, "unsupported|ufunc"),
        (lambda t: freeflow.Transform.affine(np.zeros((4, 4))), ValueError, "affine"),
        (lambda t: freeflow.Transform.affine(affine_with(np.nan)), ValueError, "matrix_ras has numbers that are not finite"),
        (lambda t: freeflow.Transform.field(np.zeros((4, 4, 4)), AFFINE), ValueError, "displacement_ras must be of shape"),
        (lambda t: freeflow.Transform.field(np.full((4, 4, 4, 3), np.nan), AFFINE), ValueError, "displacement_ras has numbers"),
        (lambda t: freeflow.Transform.read("t.h5"), ValueError, "regtool convert"),
        (lambda t: freeflow.Transform.read("nowhere.mat"), OSError, "nowhere.mat"),
        (lambda t: freeflow.denoise_surface(GOOD[0]), ValueError, "surface has 2 dimensions"),
        (lambda t: freeflow.denoise_surface(mask()), ValueError, "surface"),
        (lambda t: freeflow.denoise_surface(np.abs(GOOD)), ValueError, "surface holds values of one sign"),
        (lambda t: freeflow.denoise_surface(mask(), patch=4), ValueError, "surface|patch"),
        (lambda t: freeflow.Context("cpu", stream=5), ValueError, "stream goes with a CUDA device"),
        (lambda t: freeflow.Context("cuda:99"), (ValueError, freeflow.DeviceError), "cuda:99"),
        (lambda t: freeflow.Context("cpu", stream="fast"), TypeError, "stream is a str"),
    ],
)
def test_other_calls(call, error, words):
    with pytest.raises(error, match=words):
        call(freeflow.Transform.identity())


@pytest.mark.parametrize(
    "name, content", [("a.nii.gz", b""), ("a.nii.gz", b"\x1f\x8b\x08\0junk"), ("a.nii", b"x" * 400), ("a.nii", b"\0" * 1000)]
)
def test_damaged_files(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    for read in (freeflow.Image.read, freeflow.Transform.read):
        with pytest.raises(OSError, match=name):
            read(path)


def changed_header(path, layout, at, *values):
    freeflow.Image(GOOD.astype(np.int16), AFFINE).write(path)
    raw = bytearray(path.read_bytes())
    struct.pack_into(layout, raw, at, *values)
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize(
    "layout, at, value, words",
    [
        ("<h", 42, -3, "declares a size of -3 x 14 x 10 voxels"),
        ("<h", 40, 9, "declares 9 dimensions"),
        ("<f", 108, np.nan, "puts the voxels at byte nan"),
        ("<f", 108, np.inf, "puts the voxels at byte inf"),
        ("<f", 108, -1, "puts the voxels at byte -1"),
        ("<i", 0, 540, "it is not a NIfTI file"),
    ],
)
def test_headers_that_say_what_cannot_be(tmp_path, layout, at, value, words):
    with pytest.raises(OSError, match=words):
        freeflow.Image.read(changed_header(tmp_path / "a.nii", layout, at, value))


def test_voxels_at_byte_0_follow_the_header(program, tmp_path):
    path = changed_header(tmp_path / "a.nii", "<f", 108, 0)
    path.write_bytes(path.read_bytes()[:348] + path.read_bytes()[352:])
    freeflow.Transform.identity().write(tmp_path / "i.mat")
    flags = ["-r", path, "-t", tmp_path / "i.mat", "-o", tmp_path / "same.nii", "--interpolation", "nearest"]
    subprocess.run([program("regtool"), "apply", "-i", path, *flags], check=True)
    assert np.array_equal(freeflow.Image.read(path).numpy(), GOOD.astype(np.int16))
    assert np.array_equal(freeflow.Image.read(tmp_path / "same.nii").numpy(), GOOD.astype(np.int16))


@pytest.mark.parametrize("slope, intercept", [(np.nan, np.nan), (np.inf, 3), (0, 5), (1, 0)])
def test_a_scale_that_is_no_number_is_none(tmp_path, slope, intercept):
    image = freeflow.Image.read(changed_header(tmp_path / "a.nii", "<2f", 112, slope, intercept))
    assert np.array_equal(image.numpy(), GOOD.astype(np.int16)) and image.array.dtype == np.int16


@pytest.mark.parametrize("unit, code, factor", [("meter", 1, 1e-3), ("micron", 3, 1e3)])
def test_lengths_in_another_unit_are_converted(tmp_path, unit, code, factor):
    nibabel = pytest.importorskip("nibabel")
    affine = np.diag([factor, factor, factor, 1]) @ AFFINE
    image = nibabel.Nifti1Image(GOOD, affine)
    image.header.set_xyzt_units(unit)
    image.set_qform(affine, 1)
    nibabel.save(image, tmp_path / "both.nii")
    image.set_sform(None, 0)
    nibabel.save(image, tmp_path / "qform.nii")
    image.set_sform(affine, 1)
    for given in (tmp_path / "both.nii", tmp_path / "qform.nii", image):
        with pytest.warns(UserWarning, match="its lengths are in m.*etres and were converted to millimetres"):
            read = freeflow.Image.of(given)
        assert np.allclose(read.affine_ras, AFFINE, rtol=1e-5, atol=1e-5)
        assert np.allclose(read.spacing_mm, np.linalg.norm(AFFINE[:3, :3], axis=0), rtol=1e-6)
    assert nibabel.load(tmp_path / "both.nii").header["xyzt_units"] == code


def test_a_field_in_another_unit_is_refused(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    field = nibabel.Nifti1Image(np.zeros((4, 5, 6, 1, 3), np.float32), np.eye(4))
    field.header.set_intent("vector")
    field.header.set_xyzt_units("micron")
    nibabel.save(field, tmp_path / "field.nii.gz")
    with pytest.raises(OSError, match="its lengths are in micrometres; convert it to millimetres, its vectors as well"):
        freeflow.Transform.read(tmp_path / "field.nii.gz")


def test_files_of_several_volumes_name_the_way(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    colours = np.zeros((4, 5, 6), [("R", "u1"), ("G", "u1"), ("B", "u1")])
    for array, way in ((np.zeros((4, 5, 6, 2), np.float32), "'.*a.nii.gz'"), (colours, r"nibabel.load\(...\)")):
        nibabel.save(nibabel.Nifti1Image(array, AFFINE), tmp_path / "a.nii.gz")
        with pytest.raises(OSError, match=rf"a.nii.gz.*freeflow.Image.channels\({way}\) makes a list"):
            freeflow.register(tmp_path / "a.nii.gz", GOOD)
        assert len(freeflow.Image.channels(nibabel.load(tmp_path / "a.nii.gz"))) in (2, 3)


@pytest.mark.parametrize("shape", [(4, 5, 1), (1, 5, 6)])
def test_files_of_one_slice_are_refused_as_by_the_programs(tmp_path, shape):
    """One file of a DICOM series is one; arrays of such a shape are taken."""
    image = freeflow.Image(np.ones(shape, np.float32), AFFINE)
    image.write(tmp_path / "a.nii")
    for read in (freeflow.Image.read, freeflow.Image.channels, lambda path: freeflow.register(path, path)):
        with pytest.raises(OSError, match=f"a.nii': it is a 2-D image \\({shape[0]} x 5 x {shape[2]} voxels\\); a volume is needed"):
            read(tmp_path / "a.nii")


def test_a_side_that_nifti_cannot_have(tmp_path):
    with pytest.raises(ValueError, match="32767 voxels at most"):
        freeflow.Image(np.zeros((40000, 1, 1), np.float32)).write(tmp_path / "a.nii")
    assert list(tmp_path.iterdir()) == []


def test_truncated_files(tmp_path):
    path = tmp_path / "b.nii.gz"
    freeflow.Image(GOOD, AFFINE).write(path)
    whole = path.read_bytes()
    for length in (0, 5, 100, 200, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(OSError, match="b.nii.gz"):
            freeflow.Image.read(path)


def test_nothing_of_a_failed_save_is_left(tmp_path):
    result = freeflow.register(GOOD, brain(1, GOOD.shape), levels=1, iterations=2)
    with pytest.raises(ValueError, match="what 'wrap'"):
        result.save(tmp_path / "x_", what="wrap")
    result.report["odd"] = {(1, 2): 3}  # no key of JSON
    with pytest.raises(TypeError):
        result.save(tmp_path / "x_")
    assert list(tmp_path.iterdir()) == []


def test_folders_of_a_failed_save_go_and_inputs_stay(tmp_path):
    freeflow.Image(GOOD, AFFINE).write(tmp_path / "x_Warped.nii.gz")
    before = (tmp_path / "x_Warped.nii.gz").read_bytes()
    result = freeflow.register(tmp_path / "x_Warped.nii.gz", freeflow.Image(brain(1, GOOD.shape), AFFINE), levels=1, iterations=2)
    with pytest.raises(ValueError, match="x_Warped.nii.gz' is also an input; choose another prefix"):
        result.save(tmp_path / "x_")
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [before]
    result.save(tmp_path / "made" / "x_")
    result.report["odd"] = {(1, 2): 3}
    with pytest.raises(TypeError):
        result.save(tmp_path / "new" / "deep" / "x_")
    assert not (tmp_path / "new").exists() and (tmp_path / "made").exists()


@pytest.mark.parametrize("folder", [".", "new/..", "new/."])
def test_a_dot_is_the_folder(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    os.mkdir("new")
    place = os.path.join(folder, "Warped.nii.gz")
    freeflow.Image(GOOD, AFFINE).write(place)
    result = freeflow.register(place, freeflow.Image(brain(1, GOOD.shape), AFFINE), levels=1, iterations=2)
    with pytest.raises(ValueError, match="Warped.nii.gz' is also an input"):
        result.save(folder)
    result.save(folder, what="report")
    assert os.path.exists(os.path.join(folder, "report.json"))


def test_a_header_without_a_place_is_said_and_mirrored_voxels_are_refused(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    image = nibabel.Nifti1Image(GOOD, AFFINE)
    image.header.set_sform(None, 0)
    image.header.set_qform(None, 0)
    raw = bytearray(image.header.binaryblock) + bytes(4) + GOOD.tobytes(order="F")
    raw[108:112] = np.float32(352).tobytes()
    (tmp_path / "none.nii").write_bytes(raw)
    with pytest.warns(UserWarning, match="none.nii' has neither sform nor qform: its axes are taken as left, posterior, superior"):
        freeflow.register(tmp_path / "none.nii", freeflow.Image(GOOD, AFFINE), "rigid", levels=1, iterations=1)
    with pytest.warns(UserWarning, match="fixed has neither sform nor qform: its axes lie as nibabel puts them"):
        freeflow.register(nibabel.load(tmp_path / "none.nii"), freeflow.Image(GOOD, AFFINE), "rigid", levels=1, iterations=1)
    raw[80:84] = np.float32(-2).tobytes()
    (tmp_path / "mirrored.nii").write_bytes(raw)
    with pytest.raises(OSError, match="mirrored.nii': its header declares a voxel size"):
        freeflow.Image.read(tmp_path / "mirrored.nii")


def test_a_save_where_nothing_can_be_written_names_the_prefix(tmp_path):
    result = freeflow.register(GOOD, brain(1, GOOD.shape), levels=1, iterations=2)
    (tmp_path / "file").write_text("old")
    for prefix in ("/proc/x_", str(tmp_path / "file" / "x_")):
        with pytest.raises(OSError, match=f"^cannot write '{prefix}': [A-Z][a-z ]+$"):
            result.save(prefix)


def test_a_save_that_fails_leaves_what_was_there(tmp_path):
    result = freeflow.register(GOOD, brain(1, GOOD.shape), levels=1, iterations=2)
    for name in ("0GenericAffine.mat", "1Warp.nii.gz"):
        (tmp_path / f"x_{name}").write_text("old")
    (tmp_path / "x_Warped.nii.gz" / "full").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(IsADirectoryError, match="^cannot write '[^']*/x_Warped.nii.gz': Is a directory$"):
        result.save(tmp_path / "x_")
    assert sorted(tmp_path.rglob("*")) == before
    assert {p.read_text() for p in before if p.is_file()} == {"old"}


def test_a_save_that_stops_midway_leaves_what_was_there(tmp_path, monkeypatch):
    result = freeflow.register(GOOD, brain(1, GOOD.shape), levels=1, iterations=2)
    (tmp_path / "x_0GenericAffine.mat").write_text("old")
    replace = os.replace

    def full(source, target):
        if target.endswith("x_Warped.nii.gz"):
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="^cannot write '[^']*/x_Warped.nii.gz': No space left on device$"):
        result.save(tmp_path / "x_")
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


def test_option_names_are_of_a_model():
    assert "spacing" in freeflow.option_names("ffd")
    with pytest.raises(TypeError, match=r"^option_names\(\) missing 1 required positional argument: 'model'$"):
        freeflow.option_names()
    for model in ("fdd", 3, None):
        with pytest.raises(ValueError, match=f"^model {model!r} is not one of flow, ffd"):
            freeflow.option_names(model)


def test_prefixes_that_are_files_or_folders(tmp_path):
    result = freeflow.register(GOOD, brain(1, GOOD.shape), levels=1, iterations=2)
    for name in ("out.nii", "out.nii.gz", "out.MHA", "out.nrrd"):
        with pytest.raises(ValueError, match="ends as a file's name, but is the prefix of several files: '.*/out_'"):
            result.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "out").mkdir()
    with pytest.warns(UserWarning, match="'.*/out' is a folder, and the outputs lie beside it with names that begin like its"):
        result.save(tmp_path / "out", what="warped")
