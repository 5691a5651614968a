"""Images of other libraries: place, channels, and back."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from phantom import AFFINE, brain

import freeflow

TURNED = np.array(AFFINE)
TURNED[:3, :3] = np.array([[0, -1, 0], [0.6, 0, 0.8], [0.8, 0, -0.6]]) @ AFFINE[:3, :3]
RGB = np.random.default_rng(0).integers(0, 255, (5, 4, 3, 3), np.uint8)


def same(image, array, affine):
    return np.array_equal(image.numpy(), array) and np.allclose(image.affine_ras, affine, atol=1e-5)


@pytest.fixture
def itk(monkeypatch):
    """itk.image_from_array, and where itk is not installed what FreeFlow asks of its images."""
    try:
        import itk
    except ImportError:
        itk = SimpleNamespace(array_view_from_image=lambda image: image.array, image_from_array=Standin, matrix_from_array=np.array)
        monkeypatch.setitem(sys.modules, "itk", itk)
    return itk


class Standin:
    def __init__(self, array, is_vector=False):
        self.array, self._components = array, array.shape[3] if is_vector else 1

    def __array__(self, dtype=None, copy=None):
        return self.array

    def __getattr__(self, name):
        if name.startswith("Set"):
            return lambda value: self.__dict__.update({name[3:]: value})
        if name.startswith("Get"):
            return lambda: {"ImageDimension": 3, "NumberOfComponentsPerPixel": self._components}.get(name[3:], self.__dict__.get(name[3:]))
        raise AttributeError(name)


def test_itk_images_have_their_place(itk):
    """numpy takes them for arrays, (k, j, i) and without a place."""
    theirs = itk.image_from_array(np.ascontiguousarray(brain(0).T))
    placement = freeflow.Image(brain(0), TURNED)._placement
    theirs.SetSpacing(placement.spacing)
    theirs.SetOrigin(placement.origin_lps)
    theirs.SetDirection(itk.matrix_from_array(np.array(placement.direction_lps)))
    assert same(freeflow.Image.of(theirs), brain(0), TURNED)
    with pytest.raises(TypeError, match=r"knows its place: freeflow.Image.of"):
        freeflow.Image(theirs, np.eye(4))


def test_antspy_images_have_their_place_and_go_back():
    ants = pytest.importorskip("ants")
    ours = freeflow.Image(brain(0), TURNED)
    theirs = ours.to_ants()
    assert theirs.pixeltype == "float" and same(freeflow.Image.of(theirs), brain(0), TURNED)
    assert np.array_equal(freeflow.Image.of(ants.from_numpy(brain(0))).affine_ras, np.diag([-1, -1, 1, 1]))
    negative = (brain(0) - 50).astype(np.int16)  # ANTsPy's own way makes 4294967246 of -50
    assert np.array_equal(freeflow.Image(negative, TURNED).to_ants().numpy(), negative)
    assert freeflow.Image((brain(0) > 50).astype(np.uint8)).to_ants().pixeltype == "unsigned char"
    arguments = {"levels": 1, "iterations": 2, "device": "cpu"}
    moving = freeflow.Image(brain(1), TURNED)
    found = freeflow.register([theirs, theirs], [moving.to_ants()] * 2, fixed_mask=(theirs > 10), **arguments)
    mask = freeflow.Image(brain(0) > 10, TURNED)
    assert np.array_equal(
        found.transform.numpy(), freeflow.register([ours] * 2, [moving] * 2, fixed_mask=mask, **arguments).transform.numpy()
    )


class Tensor(np.ndarray):
    """What FreeFlow asks of MONAI's MetaTensor and, by `data`, of TorchIO's images, where these are not installed."""

    data = property(lambda self: self.as_tensor())

    def as_tensor(self):
        return np.asarray(self)


def tensor_of(library, array, affine, monkeypatch, **meta):
    """An image of shape (channel, i, j, k) of "monai" or "torchio", or a stand-in's."""
    try:
        import torch

        if isinstance(sys.modules.get(library), SimpleNamespace):
            raise ImportError("its stand-in is there")
        if library == "monai":
            return pytest.importorskip("monai").data.MetaTensor(torch.from_numpy(array), affine=torch.from_numpy(affine), meta=meta)
        return pytest.importorskip("torchio").ScalarImage(tensor=torch.from_numpy(array), affine=affine)
    except (ImportError, pytest.skip.Exception):
        monkeypatch.setitem(sys.modules, library, SimpleNamespace(data=SimpleNamespace(MetaTensor=Tensor), Image=Tensor))
        made = array.view(Tensor)
        made.affine, made.meta = affine, meta
        return made


@pytest.mark.parametrize("library", ["monai", "torchio"])
def test_images_of_pytorch_libraries_have_their_place(library, monkeypatch):
    fixed, moving = (np.ascontiguousarray(brain(s)) for s in (0, 1))
    theirs, other = (tensor_of(library, a[None], TURNED, monkeypatch) for a in (fixed, moving))
    assert same(freeflow.Image.of(theirs), fixed, TURNED)
    ours = [freeflow.Image(a, TURNED) for a in (fixed, moving)]
    bits = [freeflow.register(*pair, levels=1, iterations=2, device="cpu").transform.numpy() for pair in ((theirs, other), ours)]
    assert np.array_equal(*bits)
    two = tensor_of(library, np.stack([fixed, moving]), TURNED, monkeypatch)
    assert all(same(image, a, TURNED) for image, a in zip(freeflow.Image.channels(two), (fixed, moving)))
    with pytest.raises(ValueError, match=r"fixed has 2 components per voxel; freeflow.Image.channels"):
        freeflow.register(two, other)
    with pytest.raises(TypeError, match=r"knows its place: freeflow.Image.of"):
        freeflow.Image(theirs, TURNED)


def test_metatensors_of_three_axes_and_in_lps(monkeypatch):
    with pytest.raises(TypeError, match="fixed has the dtype"):
        freeflow.register(tensor_of("monai", np.zeros((4, 4, 4), np.complex64), TURNED, monkeypatch), brain(0))
    array = np.ascontiguousarray(brain(0))
    assert same(freeflow.Image.of(tensor_of("monai", array, TURNED, monkeypatch)), array, TURNED)
    lps = tensor_of("monai", array[None], np.diag([-1.0, -1, 1, 1]) @ TURNED, monkeypatch, space="LPS")
    assert same(freeflow.Image.of(lps), array, TURNED)


def test_back_to_pytorch_libraries():
    torch, monai, torchio = (pytest.importorskip(name) for name in ("torch", "monai", "torchio"))
    tensor = torch.from_numpy(np.ascontiguousarray(brain(0)))
    image = freeflow.Image(tensor, TURNED)
    there = image.to_monai()
    assert isinstance(there, monai.data.MetaTensor) and there.shape == (1, *tensor.shape) and there.data_ptr() == tensor.data_ptr()
    assert same(freeflow.Image.of(there), brain(0), TURNED)
    assert same(freeflow.Image.of(image.to_torchio()), brain(0), TURNED)
    counts = freeflow.Image(np.full((4, 5, 6), 60000, np.uint16), TURNED)
    assert counts.to_monai().dtype == torch.int32 and int(counts.to_torchio().data.max()) == 60000


def test_channels_of_images_with_several_values_per_voxel(itk):
    rgb = RGB.astype(np.float32)
    theirs = itk.image_from_array(np.ascontiguousarray(rgb.transpose(2, 1, 0, 3)), is_vector=True)
    theirs.SetSpacing([2.0, 3.0, 4.0])
    theirs.SetOrigin([0.0, 0.0, 0.0])
    theirs.SetDirection(itk.matrix_from_array(np.eye(3)))
    for c, image in enumerate(freeflow.Image.channels(theirs)):
        assert same(image, rgb[..., c], np.diag([-2, -3, 4, 1]))
    with pytest.raises(ValueError, match=r"fixed has 3 components per voxel; freeflow.Image.channels"):
        freeflow.register(theirs, theirs)


def test_channels_of_simpleitk_and_antspy():
    sitk = pytest.importorskip("SimpleITK")
    theirs = sitk.GetImageFromArray(np.ascontiguousarray(RGB.transpose(2, 1, 0, 3)), isVector=True)
    found = freeflow.Image.channels(theirs)
    assert len(found) == 3 and all(same(image, RGB[..., c], np.diag([-1, -1, 1, 1])) for c, image in enumerate(found))
    assert len(freeflow.Image.channels(sitk.Image([4, 5, 6], sitk.sitkInt16))) == 1
    ants = pytest.importorskip("ants")
    theirs = ants.from_numpy(RGB.astype(np.float32), has_components=True)
    assert all(same(image, RGB[..., c], np.diag([-1, -1, 1, 1])) for c, image in enumerate(freeflow.Image.channels(theirs)))


def test_what_is_done_to_a_simpleitk_image_afterwards_leaves_its_voxels_alone():
    """Its images share their buffers until one is changed, which then gets another one and may be the last to hold the old."""
    sitk = pytest.importorskip("SimpleITK")
    voxels = np.random.default_rng(0).random((60, 70, 80), np.float32)
    given = sitk.GetImageFromArray(voxels)
    image = freeflow.Image.of(given)
    shared = sitk.Image(given)
    given.SetOrigin((1, 2, 3))  # another buffer
    del shared, given
    junk = [np.full(voxels.shape, 9, np.float32) for _ in range(6)]
    assert np.array_equal(image.numpy(), voxels.T) and len(junk) == 6
    changed = sitk.GetImageFromArray(voxels)
    image = freeflow.Image.of(changed)
    changed *= 2
    assert np.array_equal(image.numpy(), voxels.T)


def test_a_series_that_lacks_slices_is_spoken_of(recwarn):
    sitk = pytest.importorskip("SimpleITK")
    theirs = freeflow.Image(brain(0), TURNED).to_sitk()
    freeflow.Image.of(theirs)
    assert not recwarn.list
    theirs.SetMetaData("ITK_non_uniform_sampling_deviation", "5.9")  # as ITK's reader leaves it
    with pytest.warns(UserWarning, match="image was read from slices that lie unevenly, or of which some are missing"):
        freeflow.Image.of(theirs)


def test_a_series_comes_apart_and_goes_back(tmp_path, monkeypatch):
    nibabel = pytest.importorskip("nibabel")
    sitk = pytest.importorskip("SimpleITK")
    monkeypatch.chdir(tmp_path)
    voxels = np.random.default_rng(0).random((6, 5, 4, 3), np.float32)
    given = nibabel.Nifti1Image(voxels, TURNED)
    given.header.set_zooms((*given.header.get_zooms()[:3], 2.5))
    given.header.set_xyzt_units("mm", "sec")
    for name in ("bold.nii", "bold.nii.gz"):
        nibabel.save(given, name)
    sitk.WriteImage(sitk.ReadImage("bold.nii"), "bold.nrrd")
    for series in ("bold.nii", tmp_path / "bold.nii.gz", sitk.ReadImage("bold.nii"), "bold.nrrd", given):
        found = freeflow.Image.channels(series)
        assert len(found) == 3 and all(same(image, voxels[..., c], TURNED) for c, image in enumerate(found))
    with pytest.raises(ValueError, match="image has 4 dimensions, and a volume has 3"):
        freeflow.Image.of(sitk.ReadImage("bold.nii"))
    with pytest.raises(TypeError, match="affine_ras is of arrays"):
        freeflow.Image.channels("bold.nii", AFFINE)
    page = (Path(__file__).resolve().parents[2] / "docs/python.md").read_text()
    code = page[page.index('series = nibabel.load("bold.nii.gz")') :].split("```")[0]
    exec(code, {"nibabel": nibabel, "np": np, "freeflow": freeflow, "result": SimpleNamespace(transform=freeflow.Transform.identity())})
    back = nibabel.load("bold_in_t1.nii.gz")
    assert np.array_equal(back.get_fdata(dtype=np.float32), voxels) and np.allclose(back.affine, TURNED, atol=1e-5)
    assert back.header.get_zooms()[3] == 2.5 and back.header.get_xyzt_units() == ("mm", "sec")
    assert back.header["sform_code"] == back.header["qform_code"] == 2 and back.header.get_data_dtype() == np.float32


def test_channels_of_nibabel():
    nibabel = pytest.importorskip("nibabel")
    colours = np.zeros(RGB.shape[:3], [("R", "u1"), ("G", "u1"), ("B", "u1")])
    for c, colour in enumerate("RGB"):
        colours[colour] = RGB[..., c]
    for array in (RGB, RGB[:, :, :, None], colours):
        found = freeflow.Image.channels(nibabel.Nifti1Image(array, TURNED))
        assert len(found) == 3 and all(same(image, RGB[..., c], TURNED) for c, image in enumerate(found))
    assert len(freeflow.Image.channels(nibabel.Nifti1Image(RGB[..., 0], TURNED))) == 1
    with pytest.raises(TypeError, match="affine_ras is of arrays"):
        freeflow.Image.channels(nibabel.Nifti1Image(RGB, TURNED), AFFINE)
    for array in (colours, RGB[..., 0].astype(complex)):
        with pytest.raises(TypeError, match="fixed has the dtype"):
            freeflow.register(nibabel.Nifti1Image(array, TURNED), brain(0))
