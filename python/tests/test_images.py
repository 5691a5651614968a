"""What an image may be, and that arrays stay where they are."""

import warnings

import numpy as np
import pytest
from phantom import AFFINE, brain

import freeflow
from freeflow import _arrays
from freeflow.inputs import Inputs, Side


def native(array):
    return freeflow.Image(array, AFFINE)._volume(freeflow.Context("cpu"))


@pytest.mark.parametrize(
    "change", [np.asfortranarray, np.ascontiguousarray, lambda a: np.ascontiguousarray(a.transpose(1, 0, 2)).transpose(1, 0, 2)]
)
def test_float32_is_used_in_place_in_any_order(change):
    array = change(brain(0))
    seen = native(array).numpy()
    assert np.shares_memory(array, seen) and np.array_equal(array, seen) and seen.strides == array.strides


@pytest.mark.parametrize("kind", ["f8", ">f4", "f2", "i2", "u1", "?", "i8"])
def test_other_types_are_converted(kind):
    array = (brain(0) > 50).astype(kind)
    assert np.array_equal(native(array).numpy(), array.astype("f4"))


def test_read_only_arrays_are_used_in_place():
    array = brain(0)
    array.flags.writeable = False
    assert np.shares_memory(array, native(array).numpy())


def test_an_array_lives_as_long_as_what_refers_to_it():
    volume = native(brain(0))
    junk = [np.full(brain(0).shape, 7, "f4") for _ in range(5)]
    assert np.array_equal(volume.numpy(), brain(0)) and junk
    seen = volume.numpy()
    del volume
    assert np.array_equal(seen, brain(0))


def test_numpy_gets_a_copy_where_it_asks_for_one():
    image = freeflow.Image(brain(0), AFFINE)
    assert not np.shares_memory(np.array(image), image.array) and np.array_equal(np.array(image), brain(0))
    assert np.shares_memory(np.asarray(image), image.array) and np.asarray(image, dtype="f8").dtype == "f8"
    assert image.__array__(copy=False) is image.array
    with pytest.raises(ValueError, match="without a copy"):
        image.__array__("f8", copy=False)


def test_views_and_sides_of_one_voxel():
    for array in (brain(0)[::2], brain(0)[:, ::-1], brain(0)[3:9, 4:20], brain(0)[:, :, :1], np.broadcast_to(np.float32(3), (4, 5, 6))):
        assert np.array_equal(native(array).numpy(), array)
    for array in (brain(0)[::2, :, :1], brain(0)[::-1].astype("f8"), np.broadcast_to(brain(0)[:1, :1], (1, 5, 32))):
        assert _arrays.memory_axes(_arrays.dense(array, "float32", "a")) == _arrays.memory_axes(array)


def gapped(array):
    return np.asfortranarray(np.repeat(array, 2, axis=2))[:, :, ::2]


def flipped(array):
    return np.asfortranarray(array[::-1, ::-1])[::-1, ::-1]


def permuted(array):
    return np.ascontiguousarray(np.repeat(array, 2, axis=1).transpose(1, 0, 2))[::2].transpose(1, 0, 2)


def component(array):
    return np.stack([array.T, array.T], axis=-1)[..., 1].T  # as SimpleITK and ITK have vectors


@pytest.mark.parametrize("change", [gapped, flipped, permuted, component])
def test_a_view_has_the_bits_of_a_dense_array_of_its_order(change):
    """Masks, channels and what is sampled lie in memory as the array that was given does, and so must its copy."""
    few = {"levels": 1, "iterations": 2, "linear": "none", "start": "none", "device": "cpu"}
    views = [[change(brain(s, (18, 20, 16))), change(brain(s, (18, 20, 16)) ** 2)] for s in (0, 1)]
    dense = [[np.array(a, order="K") for a in pair] for pair in views]
    for given in ({}, {"fixed_mask": views[0][0] > 10, "moving_mask": brain(1, (18, 20, 16)) > 10}):
        for channels in (1, 2):
            seen, expected = (freeflow.register(f[:channels], m[:channels], **given, **few) for f, m in (views, dense))
            assert np.array_equal(seen.transform.numpy(), expected.transform.numpy())
            assert np.array_equal(seen.inverse_warped.numpy(), expected.inverse_warped.numpy())
            for one, other in zip(seen.warped_channels, expected.warped_channels):
                assert np.array_equal(one.numpy(), other.numpy())


def test_placement_is_kept():
    image = freeflow.Image(brain(0), AFFINE)
    assert np.allclose(image.affine_ras, AFFINE, atol=1e-12) and image.spacing_mm == (2, 2, 2.5)
    assert np.array_equal(freeflow.Image(brain(0)).affine_ras, np.eye(4))


def test_nifti_round_trip(tmp_path):
    turned = np.array(AFFINE)
    turned[:3, :3] = np.array([[0, -1, 0], [0.6, 0, 0.8], [0.8, 0, -0.6]]) @ AFFINE[:3, :3]
    for name, array in (("a.nii", brain(0)), ("b.nii.gz", brain(0).astype("i2")), ("c.nii.gz", brain(0) > 50)):
        freeflow.Image(array, turned).write(tmp_path / name)
        read = freeflow.Image.read(tmp_path / name)
        assert np.array_equal(read.array, array) and np.allclose(read.affine_ras, turned, atol=1e-5)


@pytest.mark.parametrize("kind", ["?", "i1", "i2", "u2", "i4", "i8", "u8", "f2", "f4", "f8", "g", ">i2", ">f4", ">f8"])
def test_every_type_is_written_and_given_on(tmp_path, kind):
    array = (brain(0) > 50 if kind == "?" else brain(0)).astype(kind)
    image = freeflow.Image(array, AFFINE)
    image.write(tmp_path / "a.nii")
    assert np.array_equal(freeflow.Image.read(tmp_path / "a.nii").numpy(), array.astype("f4") if kind == "g" else array)
    for library, give in (("nibabel", image.to_nibabel), ("SimpleITK", image.to_sitk)):
        pytest.importorskip(library)
        assert np.array_equal(freeflow.Image.of(give()).numpy().astype("f4"), array.astype("f4"))


def test_nifti_as_nibabel_reads_it(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    turned = np.array(AFFINE)
    turned[:3, :3] = np.array([[0, -1, 0], [0.6, 0, 0.8], [0.8, 0, -0.6]]) @ AFFINE[:3, :3]
    freeflow.Image(brain(0), turned).write(tmp_path / "ours.nii.gz")
    theirs = nibabel.load(tmp_path / "ours.nii.gz")
    assert np.array_equal(theirs.get_fdata(dtype="f4"), brain(0))
    assert np.allclose(theirs.affine, turned, atol=1e-5) and np.allclose(theirs.get_qform(), turned, atol=1e-4)
    for kind, scaled in (("i2", True), ("f4", False), ("f8", False), ("u1", False)):
        image = nibabel.Nifti1Image(brain(0).astype(kind), turned)
        if scaled:
            image.header.set_slope_inter(0.5, 3)
        nibabel.save(image, tmp_path / "theirs.nii.gz")
        loaded = nibabel.load(tmp_path / "theirs.nii.gz")
        ours = freeflow.Image.read(tmp_path / "theirs.nii.gz")
        assert np.allclose(ours.numpy(), loaded.get_fdata(), rtol=1e-6) and np.allclose(ours.affine_ras, loaded.affine, atol=1e-6)
        assert np.array_equal(freeflow.Image.of(loaded).numpy().astype("f4"), ours.numpy().astype("f4"))
    nibabel.save(nibabel.Nifti2Image(brain(0), turned), tmp_path / "second.nii.gz")
    second = freeflow.Image.read(tmp_path / "second.nii.gz")
    assert np.array_equal(second.numpy(), brain(0)) and np.allclose(second.affine_ras, turned, atol=1e-6)
    assert freeflow.Image.of(nibabel.load(tmp_path / "second.nii.gz")).affine_ras.tolist() == second.affine_ras.tolist()
    qform_only = nibabel.Nifti1Image(brain(0), None)
    qform_only.header.set_qform(turned, 1)
    qform_only.header.set_sform(None, 0)
    nibabel.save(qform_only, tmp_path / "q.nii")
    assert np.allclose(freeflow.Image.read(tmp_path / "q.nii").affine_ras, nibabel.load(tmp_path / "q.nii").affine, atol=1e-5)
    # Of a half turn the quaternion's root is rounding alone, which is nothing to the programs too.
    for name, b, c in (("b", 0.6, 0.8), ("c", 0.28, 0.96)):
        half = nibabel.Nifti1Image(brain(0), None)
        half.header["qform_code"], half.header["sform_code"] = 1, 0
        half.header["quatern_b"], half.header["quatern_c"], half.header["quatern_d"] = b, c, 0
        nibabel.save(half, tmp_path / f"{name}.nii")
        expected = np.array([[b * b - c * c, 2 * b * c, 0], [2 * b * c, c * c - b * b, 0], [0, 0, -1]])
        read = freeflow.Image.read(tmp_path / f"{name}.nii")
        assert np.allclose(read.affine_ras[:3, :3] / read.spacing_mm, expected, atol=1e-7)
    both = nibabel.Nifti1Image(brain(0), turned)
    both.header.set_qform(turned + np.outer([8, 0, 0, 0], [0, 0, 0, 1]), 1)
    nibabel.save(both, tmp_path / "two.nii")
    with pytest.warns(UserWarning, match="two.nii': qform and sform differ, and the sform counts here; .* up to 8 mm elsewhere"):
        assert np.allclose(freeflow.Image.read(tmp_path / "two.nii").affine_ras, turned, atol=1e-5)
    back = freeflow.Image(brain(0), turned).to_nibabel()
    assert np.allclose(back.affine, turned) and np.array_equal(np.asanyarray(back.dataobj), brain(0))


def test_simpleitk_images_are_used_in_place():
    sitk = pytest.importorskip("SimpleITK")
    given = freeflow.Image(brain(0), AFFINE).to_sitk()
    image = freeflow.Image.of(given)
    assert np.array_equal(image.numpy(), brain(0)) and np.allclose(image.affine_ras, AFFINE)
    assert np.allclose(given.TransformIndexToPhysicalPoint((3, 4, 5)), np.array([-1, -1, 1]) * (AFFINE @ [3, 4, 5, 1])[:3])
    view = np.shares_memory(image._volume(freeflow.Context("cpu")).numpy(), image.array)
    del given
    assert view and np.array_equal(image.numpy(), brain(0))
    with pytest.raises(ValueError, match="components"):
        freeflow.Image.of(sitk.Image([4, 4, 4], sitk.sitkVectorFloat32, 3))


@pytest.mark.parametrize(
    "of", [lambda i: i.array, lambda i: i.numpy(), np.asarray, lambda i: np.asarray(i.array), lambda i: i.array.T.reshape(-1)]
)
def test_arrays_of_a_simpleitk_image_outlive_it(of):
    sitk = pytest.importorskip("SimpleITK")
    array = of(freeflow.Image.of(sitk.GetImageFromArray(np.full((64, 64, 64), 7, "f4"))))
    junk = [np.full((64, 64, 64), 9, "f4") for _ in range(20)]  # takes memory that was given back
    assert junk and (array == 7).all()


def said_of_places(recwarn):
    said = [str(w.message) for w in recwarn if "without a place" in str(w.message)]
    recwarn.clear()
    return said


def test_a_bare_array_beside_a_placed_image_is_said(recwarn):
    fixed, moving = (freeflow.Image(brain(s), AFFINE) for s in (0, 1))
    few = {"levels": 1, "iterations": 1, "linear": "none", "start": "none", "device": "cpu"}
    warnings.simplefilter("always")
    found = freeflow.register(fixed, moving, **few).transform
    found.apply(moving, fixed), found.apply(moving)
    freeflow.register(brain(0), freeflow.Image(brain(1)), **few).transform.apply(brain(1), brain(0))
    freeflow.Transform.identity().apply(brain(0))
    assert said_of_places(recwarn) == []
    freeflow.register(fixed, brain(1), **few)
    assert said_of_places(recwarn)[0].startswith("moving is an array without a place and fixed has one")
    freeflow.register([brain(0)] * 2, [moving] * 2, **few)
    assert said_of_places(recwarn)[0].startswith("fixed is an array without a place and moving has one")
    for arguments, words in (
        ((brain(1), fixed), "image is an array without a place and like has one"),
        ((moving, brain(0)), "like is an array without a place and image has one"),
        ((brain(1),), "image is an array without a place and the transform has one"),
        ((brain(1), brain(0)), "image is an array without a place and the transform has one"),
    ):
        found.apply(*arguments)
        (said,) = said_of_places(recwarn)
        assert said.startswith(words)


def test_bare_masks_lie_on_the_grids_of_their_images(recwarn):
    fixed, moving = (freeflow.Image(brain(s), AFFINE) for s in (0, 1))
    few = {"levels": 1, "iterations": 2, "device": "cpu"}
    placed = freeflow.register(fixed, moving, fixed_mask=freeflow.Image(brain(0) > 10, AFFINE), **few)
    for mask in (brain(0) > 10, (brain(0) > 10).tolist()):
        assert np.array_equal(freeflow.register(fixed, moving, fixed_mask=mask, **few).transform.numpy(), placed.transform.numpy())
    assert placed.report["fixed"]["voxels_in_mask"] == (brain(0) > 10).sum()
    assert "voxels_in_mask" not in placed.report["moving"]
    holes = np.where(brain(0) > 10, 1.0, np.inf).astype(np.float32)
    with pytest.warns(UserWarning, match=f"fixed_mask: {np.isinf(holes).sum()} of {holes.size} voxels are NaN or infinite"):
        masked = freeflow.register(fixed, moving, fixed_mask=holes, **few)
    assert np.array_equal(masked.transform.numpy(), placed.transform.numpy())
    assert not [w for w in recwarn if "mask" in str(w.message)]


def test_infinities_count_as_no_value():
    moving = brain(1)
    moving[0, 0, 0] = np.inf
    with pytest.warns(UserWarning, match="moving: 1 of 46080 voxels are NaN or infinite and count as outside"):
        result = freeflow.register(brain(0), moving, levels=1, iterations=2)
    assert result.report["moving"]["voxels_without_value"] == 1
    assert np.isinf(moving[0, 0, 0]) and np.isfinite(result.warped.numpy()).all()


@pytest.mark.parametrize("far", [1e300, -1e300])
def test_what_is_beyond_float32_counts_as_no_value(far):
    few = {"levels": 1, "iterations": 1, "linear": "none", "start": "none", "device": "cpu"}
    moving = brain(1).astype(np.float64)
    moving[:4] = far
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = freeflow.register(brain(0), moving, **few)
        with pytest.raises(ValueError, match="moving has no voxel with a value"):
            freeflow.register(brain(0), np.full(moving.shape, far), **few)
        carried = freeflow.Transform.identity().apply(moving)
    said = [str(w.message) for w in caught]
    assert "moving: 5120 of 46080 voxels are NaN or infinite and count as outside" in said
    assert not [sentence for sentence in said if "overflow" in sentence or "padded" in sentence]
    assert result.report["moving"]["voxels_without_value"] == 5120 and not carried.numpy()[:4].any()


def test_padding_is_left_out_with_a_warning():
    padded = [np.where(np.arange(36)[:, None, None] < 3, np.float32(-2000), a) for a in (brain(0), brain(1))]
    with pytest.warns(UserWarning, match="fixed is padded with -2000"):
        result = freeflow.register(*padded, levels=1, iterations=2)
    missing = [np.where(a == -2000, np.nan, a) for a in padded]
    same = freeflow.register(*missing, levels=1, iterations=2, background=12345)
    assert np.array_equal(result.transform.numpy(), same.transform.numpy())
    assert result.report["similarity"] == same.report["similarity"], "of what was measured"
    for r in (result, same):
        assert r.report["fixed"]["voxels_counted"] == r.report["moving"]["voxels_counted"] == 33 * 40 * 32
    mask = np.arange(40)[:, None] < np.full(32, 30) + np.zeros((36, 1, 1))
    pairs = [freeflow.register(*images, levels=1, iterations=2, fixed_mask=mask) for images in (padded, missing)]
    assert [p.report["fixed"]["voxels_counted"] for p in pairs] == 2 * [33 * 30 * 32]
    assert pairs[0].report["similarity"] == pairs[1].report["similarity"] != result.report["similarity"]


def test_a_negative_value_around_a_field_of_view_is_padding():
    padded = np.full_like(brain(1), -1000)
    padded[6:30, 5:] = np.maximum(brain(1), 0)[6:30, 5:]
    given = {"levels": 1, "iterations": 2, "device": "cpu"}
    with pytest.warns(UserWarning, match="moving is padded with -1000"):
        found = freeflow.register(brain(0), padded, **given)
    same = freeflow.register(brain(0), np.where(padded == -1000, np.nan, padded), **given)
    assert np.array_equal(found.transform.numpy(), same.transform.numpy())


@pytest.mark.parametrize("order", ["C", "F"])
def test_nan_around_an_object_is_its_background(order):
    images = [brain(0), brain(1)]
    kept = images[1] > 30
    kept[15:22, : kept.shape[1] // 2] = False  # two halves
    masked, filled = (np.where(kept, images[1], fill).astype("f4", order=order) for fill in (np.nan, images[1][kept].min()))
    given = {"levels": 1, "iterations": 2, "device": "cpu"}
    with pytest.warns(UserWarning, match="moving has NaN around its object, which counts as its background; background=nan"):
        result = freeflow.register(images[0], masked, **given)
    same = freeflow.register(images[0], filled, **given)
    assert np.array_equal(result.transform.numpy(), same.transform.numpy())
    other = freeflow.register(images[0], masked, background=np.nan, **given)
    assert not np.array_equal(result.transform.numpy(), other.transform.numpy())


@pytest.mark.parametrize("kind", ["float32", "int16"])
def test_half_an_image_is_not_measured_beyond_its_plane(kind):
    whole, half = (np.where(brain(s) > 10, brain(s), 0).astype(kind) for s in (0, 1))
    half[18:] = 0
    half[0, 0, 0] = 3  # the background is on any side
    with pytest.warns(UserWarning, match="moving ends in a plane within its grid: only its voxels 0 to 17 of 36 along x"):
        result = freeflow.register(whole, half, levels=1, iterations=2, device="cpu")
    assert result.report["moving"]["voxels_measured"] == 18 * whole[0].size
    missing = half.astype("f4")
    missing[18:] = np.nan
    same = freeflow.register(whole, missing, levels=1, iterations=2, device="cpu")
    assert np.array_equal(result.transform.numpy(), same.transform.numpy())
    assert result.report["similarity"] == same.report["similarity"]
    both = list(freeflow.register_many([(half, half), (half, whole)], levels=1, iterations=2, device="cpu"))
    assert ["voxels_measured" in r.report["fixed"] for r in both] == [False, True]


def test_half_a_padded_image_is_looked_at_within_its_padding():
    padded = np.where(brain(1) > 10, brain(1), 0).astype("f4")
    padded[18:] = 0
    padded[:2] = padded[34:] = padded[..., :3] = -3000
    part = ((2, 18), (0, 40), (3, 32))
    assert _arrays.measured_part(padded, np.float32(-3000)) == (part, False)
    assert _arrays.measured_part(np.full_like(padded, -3000), np.float32(-3000)) is None
    whole, given = np.where(brain(0) > 10, brain(0), 0), {"levels": 1, "iterations": 2, "device": "cpu"}
    with pytest.warns(UserWarning, match="only its voxels 2 to 17 of 36 along x, 3 to 31 of 32 along z"):
        result = freeflow.register(whole, padded, **given)
    missing = np.full_like(padded, np.nan)
    missing[2:18, :, 3:] = padded[2:18, :, 3:]
    same = freeflow.register(whole, missing, **given)
    assert np.array_equal(result.transform.numpy(), same.transform.numpy())
    for more in ({"moving_mask": np.ones_like(padded)}, {"background": -3000}):
        assert "voxels_measured" not in freeflow.register(whole, padded, **given, **more).report["moving"]


def test_half_of_what_was_cut_out_ends_where_its_nan_begins():
    half = np.where(brain(1) > 10, brain(1), np.nan)
    half[18:] = np.nan
    assert _arrays.measured_part(half) is None
    assert _arrays.measured_part(half, cut_out=True) == (((0, 18), (0, 40), (0, 32)), False)


def test_around_two_fields_of_view_nothing_was_measured():
    noise = np.random.default_rng(3).uniform(1, 9, brain(1).shape)
    views = [np.pad((brain(s) + noise)[:, :, 4:], [(5, 6), (0, 9), (4, 0)]).astype("f4") for s in (0, 1)]
    half = np.where((brain(1) > 10) & (np.arange(36) < 18)[:, None, None], brain(1), 0)
    given = {"levels": 1, "iterations": 2, "device": "cpu"}
    for fixed, moving in (views, (half, views[1])):
        report = freeflow.register(fixed, moving, **given).report
        assert "voxels_measured" in report["fixed"] and "voxels_measured" in report["moving"]


def test_a_field_of_view_on_a_larger_grid_is_what_was_measured():
    """Neither a box of one value, which is an object."""
    noisy = brain(1) + np.random.default_rng(3).uniform(1, 9, brain(1).shape)
    whole, padded = (brain(0) + 1).astype("f4"), np.pad(noisy[:, 4:], [(5, 6), (0, 9), (4, 0)]).astype("f4")
    with pytest.warns(UserWarning, match="moving ends in a plane within its grid: only its voxels 5 to "):
        result = freeflow.register(whole, padded, levels=1, iterations=2, device="cpu")
    missing = np.pad(noisy[:, 4:].astype("f4"), [(5, 6), (0, 9), (4, 0)], constant_values=np.nan)
    same = freeflow.register(whole, missing, levels=1, iterations=2, background=-1, device="cpu")
    assert np.array_equal(result.transform.numpy(), same.transform.numpy())
    solid = np.where(padded > 0, 5, 0).astype("f4")
    result = freeflow.register(solid, padded, levels=1, iterations=2, device="cpu")
    assert "voxels_measured" in result.report["moving"] and "voxels_measured" not in result.report["fixed"]


def test_background_and_clip_are_of_what_float32_holds():
    """A value that float32 rounds is found in arrays of double, too; NaN stays."""
    images = [brain(s).astype("f8") for s in (0, 1)]
    for image in images:
        image[:3] = -2000.1
        image[-1] = np.nan
    given = freeflow.register(*images, levels=1, iterations=2, background=-2000.1, clip=(5, 90), device="cpu")
    seen = [np.where(i == -2000.1, np.nan, np.clip(i, 5, 90)).astype("f4") for i in images]
    same = freeflow.register(*seen, levels=1, iterations=2, background=12345, device="cpu")
    assert np.array_equal(given.transform.numpy(), same.transform.numpy())
    with pytest.warns(UserWarning, match="fixed is padded with -2000"):
        found = freeflow.register(*images, levels=1, iterations=2, clip=(5, 90), device="cpu")
    assert np.array_equal(found.transform.numpy(), same.transform.numpy())


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def test_torch_tensors_are_used_in_place(torch):
    tensor = torch.from_numpy(np.ascontiguousarray(brain(0)))
    assert np.shares_memory(native(tensor).numpy(), tensor.numpy())
    result = freeflow.register(tensor.requires_grad_(), torch.from_numpy(brain(1)), levels=1, iterations=2, device="cpu")
    assert isinstance(result.warped.array, torch.Tensor) and result.warped.array.shape == tensor.shape
    with pytest.raises(ValueError, match="meta"):
        freeflow.register(torch.empty((4, 4, 4), device="meta"), tensor)
    with pytest.raises(TypeError, match="complex"):
        freeflow.register(torch.zeros((4, 4, 4), dtype=torch.complex64), tensor)
    out = result.transform.apply(freeflow.Image(torch.ones(tensor.shape, dtype=torch.int64)))
    assert out.array.dtype == torch.int64


@pytest.mark.parametrize("kind", ["float32", "float64", "int16"])
def test_padding_background_and_clip_of_tensors(torch, kind):
    padded = [np.where(np.arange(36)[:, None, None] < 3, -2000, brain(s).round()).astype(kind) for s in (0, 1)]
    tensors = [torch.from_numpy(a) for a in padded]
    arguments = {"levels": 1, "iterations": 2, "clip": (5, 90), "device": "cpu"}
    for more in ({}, {"background": -2000}):
        bits = [freeflow.register(*images, **arguments, **more).transform.numpy() for images in (padded, tensors)]
        assert np.array_equal(*bits)
    assert all(np.array_equal(t.numpy(), a) for t, a in zip(tensors, padded))
    with pytest.warns(UserWarning, match="moving is padded with -2000"):
        freeflow.register(*tensors, **arguments)


def test_a_tensor_with_its_negative_bit_set_is_taken(torch):
    complex_brain = torch.complex(torch.zeros(brain(0).shape), -torch.from_numpy(np.ascontiguousarray(brain(0))))
    negative = complex_brain.conj().imag  # a view whose bit says that its memory holds the opposite
    assert negative.is_neg()
    for image in (freeflow.Transform.identity().apply(negative), freeflow.Image(negative, AFFINE)):
        assert np.array_equal(image.numpy(), brain(0))


@pytest.mark.parametrize("kind", ["float32", "float64", "int16"])
def test_a_copied_tensor_keeps_the_order_of_its_axes(torch, kind):
    whole = torch.from_numpy(np.ascontiguousarray(brain(0))).to(getattr(torch, kind))
    for tensor in (whole[..., ::2], whole.permute(2, 0, 1)[::2], whole[:1].expand(5, -1, -1), whole[..., :1].expand(-1, -1, 4)):
        copied = _arrays.dense(tensor, "float32", "a")
        assert _arrays.memory_axes(copied) == _arrays.memory_axes(tensor) and torch.equal(copied, tensor.float())


def shrink(tensor, bytes_left):
    if hasattr(tensor, "untyped_storage"):
        tensor.untyped_storage().resize_(bytes_left)
    else:  # before torch 2
        tensor.storage().resize_(bytes_left // tensor.element_size())


def test_tensors_that_hold_nothing_are_refused(torch):
    good = torch.from_numpy(brain(0))
    freed = torch.from_numpy(np.ascontiguousarray(brain(0))).clone()
    shrink(freed, 0)
    sparse = good.contiguous().to_sparse()
    labels = good.to(torch.int64)
    shrink(labels, 100)
    transform = freeflow.Transform.identity()
    for call in (
        lambda: freeflow.register(freed, good),
        lambda: freeflow.register([good, good], [good, freed]),
        lambda: freeflow.register(good, good, moving_mask=freed),
        lambda: freeflow.Image(freed, AFFINE),
        lambda: transform.apply(freed),
        lambda: transform.apply(labels),
        lambda: freeflow.denoise_surface(freed),
    ):
        with pytest.raises(ValueError, match="memory has been freed"):
            call()
    with pytest.raises(TypeError, match="moving is a tensor of the layout torch.sparse_coo"):
        freeflow.register(good, sparse)


def test_a_tensor_freed_after_it_was_given_is_refused(torch):
    given = torch.from_numpy(np.ascontiguousarray(brain(0))).clone()
    image = freeflow.Image(given, AFFINE)
    result = freeflow.register(brain(1), given, levels=1, iterations=1, device="cpu")
    shrink(given, 0)
    with pytest.raises(ValueError, match="memory has been freed"):
        freeflow.register(image, image)
    with pytest.raises(ValueError, match="memory has been freed"):
        result.warped  # computed when asked for


def test_what_can_hardly_be_meant_is_said():
    given = {"levels": 1, "iterations": 1, "device": "cpu"}
    with pytest.warns(UserWarning, match="background=7777 is the value of no voxel"):
        freeflow.register(brain(0), brain(1), background=7777, **given)
    metres = np.diag([1e-3, 1e-3, 1e-3, 1]) @ AFFINE
    sides = Side(freeflow.Image(brain(0), AFFINE), None, "fixed"), Side(freeflow.Image(brain(1), metres), None, "moving")
    assert Inputs(*sides).warnings == ["fixed is 80 mm long and moving 0.08: are the lengths of one in another unit?"]
    with pytest.warns(UserWarning, match="are the lengths of one in another unit"), pytest.raises(freeflow.RegistrationError):
        freeflow.register(freeflow.Image(brain(0), AFFINE), freeflow.Image(brain(1), metres), **given)
    numbers = {"background": None, "clip": (-1000, 100)}
    ct = np.full((8, 8, 8), -200, np.float32)
    ct[:4] = 90
    like_ct = [Side(ct, None, name, **numbers) for name in ("fixed", "moving")]
    assert Inputs(like_ct[0], Side([ct + 250], None, "moving", **numbers)).warnings == [
        "clip=(-1000, 100) cuts 0 % of fixed and 50 % of moving at its upper end: are their numbers in one unit?"
    ]
    assert Inputs(*like_ct).warnings == []
    with pytest.warns(UserWarning, match="init gives a displacement, so there is no linear stage"):
        start = freeflow.register(brain(0), brain(1), **given).transform
        freeflow.register(brain(0), brain(1), init=start, **given)
