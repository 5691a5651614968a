"""What Python computes has the bits of the programs' files."""

import json
import struct
import subprocess
import warnings

import numpy as np
import pytest
from phantom import AFFINE, brain, heads, rotated

import freeflow
from freeflow import files


@pytest.mark.parametrize(
    "model, name, options, flags",
    [
        ("flow", "fluidreg", {}, []),
        (
            "flow",
            "fluidreg",
            {"symmetric": True, "iterations": [8, 6, 4, 2], "init": "center"},
            ["--symmetric", "--iterations", "8x6x4x2", "--init", "center"],
        ),
        (
            "fluid",
            "fluidreg",
            {"levels": 2, "iterations": 8, "kl": 0.2},
            ["--model", "fluid", "--levels", "2", "--iterations", "8", "--kl", "0.2"],
        ),
        (
            "demons",
            "fluidreg",
            {"similarity": "ssd", "iterations": 6, "sigma_field": "1.5mm"},
            ["--model", "demons", "-s", "ssd", "--iterations", "6", "--sigma-field", "1.5mm"],
        ),
        ("ffd", "ffdreg", {"spacing": "8mm", "similarity": "nmi", "clip": (5, 120)}, ["--spacing", "8mm", "-s", "nmi", "--clip", "5,120"]),
        ("rigid", "linreg", {}, ["--dof", "6"]),
        ("affine", "linreg", {"similarity": "lncc+0.3nmi"}, ["-s", "lncc+0.3nmi"]),
    ],
)
def test_files_are_the_programs(program, tmp_path, model, name, options, flags):
    compare_files(program, tmp_path, AFFINE, model, name, options, flags)


@pytest.mark.parametrize(
    "model, name, options, flags",
    [
        ("flow", "fluidreg", {"levels": 2, "iterations": 6}, ["--levels", "2", "--iterations", "6"]),
        (
            "demons",
            "fluidreg",
            {"similarity": "ssd", "symmetric": True, "levels": 2, "iterations": 6},
            ["--model", "demons", "-s", "ssd", "--symmetric", "--levels", "2", "--iterations", "6"],
        ),
        ("ffd", "ffdreg", {"levels": 2, "iterations": 6}, ["--levels", "2", "--iterations", "6"]),
    ],
)
def test_images_stored_in_another_order_too(program, tmp_path, model, name, options, flags):
    """An inverse that is computed later has to bring the field to the order in which the program inverts."""
    affine = np.array(AFFINE)[:, [1, 2, 0, 3]] @ np.diag([-1, 1, -1, 1])
    compare_files(program, tmp_path, affine, model, name, options, flags)


@pytest.mark.parametrize("codes", [(1, 1), (0, 1), (2, 0), (4, 4), (1, 2)])
def test_oblique_images_too(program, tmp_path, codes):
    """Of two forms that agree ITK takes the qform, but for a scanner's sform; both are rounded to floats, each in its own way."""
    options = {"levels": 1, "iterations": 2, "linear": "none", "start": "none"}
    flags = [f"--{name}={value}" for name, value in options.items()]
    compare_files(program, tmp_path, rotated(), "flow", "fluidreg", options, flags, codes)
    theirs, ours = (json.load(open(tmp_path / f"{by}_report.json")) for by in ("program", "python"))
    for side in ("fixed", "moving"):
        for key in ("spacing_mm", "origin_mm_lps", "direction_lps"):
            assert theirs[side][key] == ours[side][key]


def compare_files(program, tmp_path, affine, model, name, options, flags, codes=(1, 1)):
    """codes: of the images' qform and sform."""
    prefix = str(tmp_path / "program_")
    f, m = (str(tmp_path / f"{name}.nii") for name in "fm")
    for path, seed in ((f, 0), (m, 1)):
        freeflow.Image(brain(seed, shift=seed), affine).write(path)
        with open(path, "r+b") as file:
            file.seek(252)
            file.write(struct.pack("<2h", *codes))
    subprocess.run([program(name), "-f", f, "-m", m, "-o", prefix, "-q", "--device", "cpu", *flags], check=True)
    result = freeflow.register(f, m, model, device="cpu", **options)
    written = result.save(str(tmp_path / "python_"))
    assert len(written) == (4 if name == "linreg" else 6)
    for path in written:
        assert_files_agree(path.replace("python_", "program_"), path)
    subprocess.run([program("regtool"), "report", str(tmp_path / "python_")], check=True)
    page = (tmp_path / "python_report.html").read_text()
    assert "freeflow.register" in page
    assert ("Deformation" in page) == (name != "linreg")


def assert_files_agree(theirs, ours):
    if ours.endswith(".json"):
        assert_reports_agree(json.load(open(theirs)), json.load(open(ours)))
    elif ours.endswith(".mat"):
        assert open(theirs, "rb").read() == open(ours, "rb").read(), ours
    else:
        (_, one), (_, other) = files._read(theirs), files._read(ours)
        assert np.array_equal(one, other), ours


def assert_reports_agree(theirs, ours):
    assert set(theirs) - {"command", "summary"} == set(ours)
    assert set(theirs["seconds"]) == set(ours["seconds"])
    assert set(theirs["memory_bytes"]) - {"predicted_device"} == set(ours["memory_bytes"])
    assert set(ours["outputs"]) == set(theirs["outputs"])
    assert all(theirs["outputs"][kind] for kind in ours["outputs"])
    for their_level, our_level in zip(theirs["levels"], ours["levels"], strict=True):
        assert {**their_level, "seconds": 0} == {**our_level, "seconds": 0}
    assert theirs["similarity"]["after"] is not None
    for key in ("jacobian", "overlap_fraction", "inverse_residual_voxels", "inverse_unfolding", "similarity", "displacement_mm"):
        assert theirs.get(key) == ours.get(key), key


def test_reports_of_channels_and_masks_agree(program, tmp_path):
    arrays = {"f": brain(0), "m": brain(1), "f2": brain(0) ** 2, "m2": brain(1) ** 2, "mask": (brain(0) > 30).astype("u1")}
    for name, array in arrays.items():
        freeflow.Image(array, AFFINE).write(str(tmp_path / f"{name}.nii.gz"))
    f, m, f2, m2, mask = (str(tmp_path / f"{name}.nii.gz") for name in arrays)
    flags = ["--fixed-mask", mask, "--channel-weights", "1", "3", "--levels", "1", "--iterations", "2", "--device", "cpu"]
    subprocess.run([program("fluidreg"), "-f", f, "-f", f2, "-m", m, "-m", m2, "-o", str(tmp_path / "p_"), "-q", *flags], check=True)
    theirs = json.load(open(tmp_path / "p_report.json"))
    result = freeflow.register([f, f2], [m, m2], fixed_mask=mask, channel_weights=[1, 3], levels=1, iterations=2, device="cpu")
    assert result.report["channels"] == theirs["channels"] and len(theirs["channels"]) == 2
    assert result.report["similarity"] == theirs["similarity"]
    assert result.report["displacement_mm"] == theirs["displacement_mm"]
    everywhere = freeflow.register([f, f2], [m, m2], channel_weights=[1, 3], levels=1, iterations=2, device="cpu")
    assert everywhere.report["similarity"]["before"] != theirs["similarity"]["before"]


def voxels_of(transform):
    """The field in voxels along the array's axes: its bits."""
    field = transform._native.parts()[1]
    axes = list(field.grid.axes)
    planes = field.dlpack()
    planes = np.from_dlpack(planes) if transform.device == "cpu" else pytest.importorskip("cupy").from_dlpack(planes).get()
    planes = planes.transpose(0, *[3 - axes.index(a) for a in range(3)])
    return planes[[axes.index(a) for a in range(3)]]


@pytest.mark.parametrize("affine", [AFFINE, rotated()])
def test_memory_order_changes_no_bit(affine):
    fixed, moving = brain(0), brain(1)
    expected = freeflow.register(freeflow.Image(fixed, affine), freeflow.Image(moving, affine), levels=2, iterations=5)
    for change in (
        np.ascontiguousarray,
        lambda a: np.repeat(a.astype(">f8"), 2, 0)[::2],
        lambda a: np.ascontiguousarray(a.transpose(1, 0, 2)).transpose(1, 0, 2),
    ):
        got = freeflow.register(freeflow.Image(change(fixed), affine), freeflow.Image(change(moving), affine), levels=2, iterations=5)
        assert np.array_equal(voxels_of(got.transform), voxels_of(expected.transform))
        assert np.array_equal(voxels_of(got.transform.inverse()), voxels_of(expected.transform.inverse()))
        # Sampling adds up along the axes of memory.
        assert np.allclose(got.warped.numpy(), expected.warped.numpy(), atol=2e-4)
        assert np.allclose(got.inverse_warped.numpy(), expected.inverse_warped.numpy(), atol=2e-4)


def test_threads_and_repeats_change_no_bit():
    one, two = (freeflow.register(brain(0), brain(1), "ffd", levels=2, iterations=5, threads=n, device="cpu") for n in (1, 2))
    assert np.array_equal(one.transform.numpy(), two.transform.numpy())


def test_a_stripped_image_beside_a_whole_one_too(program, tmp_path):
    (stripped, _), (other, whole) = heads()
    paths = {name: str(tmp_path / f"{name}.nii.gz") for name in ("stripped", "whole")}
    for name, array in (("stripped", stripped), ("whole", whole)):
        freeflow.Image(array, AFFINE).write(paths[name])
    flags = ["--levels", "1", "--iterations", "3", "--device", "cpu", "--init", "moments"]  # of what counts
    given = {"levels": 1, "iterations": 3, "device": "cpu", "init": "moments"}
    for fixed, moving, side in (("stripped", "whole", "fixed"), ("whole", "stripped", "moving")):
        prefix = str(tmp_path / f"{side}_")
        subprocess.run([program("fluidreg"), "-f", paths[fixed], "-m", paths[moving], "-o", prefix, "-q", *flags], check=True)
        said = f"{side} shows an object without what surrounds it in {'moving' if side == 'fixed' else 'fixed'} .a brain without its skull"
        with pytest.warns(UserWarning, match=said):
            result = freeflow.register(paths[fixed], paths[moving], **given)
        for path in result.save(str(tmp_path / f"python_{side}_")):
            assert_files_agree(path.replace("python_", ""), path)
        report = json.load(open(prefix + "report.json"))
        assert 0 < result.report[side]["voxels_in_mask"] == report[side]["voxels_in_mask"] < whole.size
        assert result.report["seconds"]["stripped"] > 0 and report["seconds"]["stripped"] > 0
    pairs = [(stripped, other), (stripped, whole), {"fixed": stripped, "moving": whole, "background": 0}]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        several = list(freeflow.register_many(pairs, **given))
    assert ["voxels_in_mask" in r.report["fixed"] for r in several] == [False, True, False]
    assert sum("without what surrounds it" in str(w.message) for w in caught) == 1
