"""Transforms against oracles in numpy."""

import pickle
import struct

import numpy as np
import pytest
from phantom import AFFINE, SHAPE, brain, labels

import freeflow

TURN = np.array([[0.98, -0.17, 0.05, 3], [0.18, 1.03, -0.04, -2], [-0.03, 0.06, 0.95, 1.5], [0, 0, 0, 1]])


def smooth_field(shape=SHAPE, size=2.0):
    """(i, j, k, 3), millimetres RAS, zero at the border."""
    i, j, k = np.meshgrid(*[np.linspace(0, np.pi, n) for n in shape], indexing="ij")
    bump = np.sin(i) * np.sin(j) * np.sin(k)
    return (size * np.stack([bump * np.cos(j), -bump * np.sin(2 * k), bump * np.cos(i + k)], axis=-1)).astype(np.float32)


def voxels_of(xyz, affine=AFFINE):
    inverse = np.linalg.inv(affine)
    return xyz @ inverse[:3, :3].T + inverse[:3, 3]


def world_of(index, affine=AFFINE):
    return index @ affine[:3, :3].T + affine[:3, 3]


def trilinear(array, at):
    """Of an array (i, j, k[, c]) at voxels `at` (..., 3) inside it."""
    low = np.clip(np.floor(at).astype(int), 0, np.array(array.shape[:3]) - 2)
    part = at - low
    total = 0
    for corner in np.ndindex(2, 2, 2):
        weight = np.prod(np.where(corner, part, 1 - part), axis=-1)
        value = array[tuple(np.moveaxis(low + corner, -1, 0))]
        total = total + (weight[..., None] if array.ndim == 4 else weight) * value
    return total


def grid_points(shape=SHAPE):
    return np.stack(np.meshgrid(*[np.arange(n) for n in shape], indexing="ij"), axis=-1).astype(float)


def inner_points(count=200):
    return world_of(np.random.default_rng(0).uniform(4, np.array(SHAPE) - 6, (count, 3)))


def chain():
    return freeflow.Transform.affine(TURN) @ freeflow.Transform.field(smooth_field(), AFFINE)


def expected_points(xyz):
    moved = xyz + trilinear(smooth_field().astype(float), voxels_of(xyz))
    return moved @ TURN[:3, :3].T + TURN[:3, 3]


def test_points_go_through_field_and_affine():
    xyz = inner_points()
    assert np.abs(chain().points(xyz) - expected_points(xyz)).max() < 1e-5
    assert np.abs(chain().points(xyz * [-1, -1, 1], frame="lps") * [-1, -1, 1] - expected_points(xyz)).max() < 1e-5
    assert chain().points(xyz[0]).shape == (3,)
    assert chain().points(np.zeros((0, 3))).shape == (0, 3)


def test_inverse_brings_points_back():
    xyz = inner_points()
    there, back = chain().points(xyz), chain().inverse()
    assert np.abs(back.points(there) - xyz).max() < 2e-3
    assert np.abs(pickle.loads(pickle.dumps(back)).points(there) - xyz).max() < 2e-3
    assert np.abs(back.points(there * [-1, -1, 1], frame="lps") * [-1, -1, 1] - xyz).max() < 2e-3
    assert np.array_equal(back.inverse().points(xyz), there)


def test_an_inverse_in_a_chain_is_solved_for_too():
    affine = freeflow.Transform.affine(TURN)
    bent = freeflow.Transform.field(smooth_field(size=6.0), AFFINE)
    xyz = inner_points()
    for whole, there, expected in (
        (bent.inverse() @ freeflow.Transform.identity(), bent.points(xyz), xyz),
        (affine @ bent.inverse(), bent.points(xyz), affine.points(xyz)),
        (bent.inverse() @ (affine @ bent).inverse(), (affine @ bent @ bent).points(xyz), xyz),
    ):
        for transform in (whole, pickle.loads(pickle.dumps(whole)), whole.inverse().inverse()):
            assert np.abs(transform.points(there) - expected).max() < 1e-5
            assert np.abs(transform.inverse().points(expected) - there).max() < 1e-5


def test_an_inverse_does_not_take_a_grid_of_another_space(tmp_path):
    back, image = chain().inverse(), freeflow.Image(brain(0), AFFINE)
    calls = [back.jacobian, back.numpy, lambda: back.apply(image), lambda: back.apply(freeflow.Image(labels(0), AFFINE))]
    for call in (*calls, lambda: back.write(tmp_path / "b.nii"), (chain() @ freeflow.Transform.affine(TURN)).numpy):
        with pytest.raises(ValueError, match=r"like is missing: the transform's field follows an affine, .* \(of an inverse like=moving\)"):
            call()
    back.write(tmp_path / "b.nii", like=image)
    assert freeflow.Transform.field(smooth_field(), AFFINE).inverse().numpy().shape == (*SHAPE, 3)
    assert back.inverse().numpy().shape == (*SHAPE, 3)


def test_a_registrations_inverse_takes_the_moving_images_grid(tmp_path):
    away = np.array(AFFINE)
    away[0, 3] -= 100
    fixed, moving = freeflow.Image(brain(0), AFFINE), freeflow.Image(np.ascontiguousarray(brain(1)[:-2]), away)
    found = freeflow.register(fixed, moving, "ffd", init="center", device="cpu", levels=1, iterations=2).transform
    points = world_of(np.random.default_rng(0).uniform(4, np.array(SHAPE) - 7, (50, 3)), away)
    for transform in (found, pickle.loads(pickle.dumps(found))):
        back = transform.inverse()
        carried = back.apply(fixed)
        assert np.array_equal(carried.affine_ras, away) and np.array_equal(carried.numpy(), back.apply(fixed, moving).numpy())
        back.write(tmp_path / "b.nii")
        assert np.abs(freeflow.Transform.read(tmp_path / "b.nii").points(points) - back.points(points)).max() < 0.1
        assert np.array_equal(back.inverse().numpy(), found.numpy())


def test_a_linear_registration_takes_the_fixed_images_grid(tmp_path):
    away = np.array(AFFINE)
    away[0, 3] -= 100
    fixed, moving = freeflow.Image(brain(0, (18, 20, 16)), AFFINE), freeflow.Image(brain(1, (16, 20, 18)), away)
    found = freeflow.register(fixed, moving, "rigid", init="center", search="gradient", iterations=2, device="cpu").transform
    for transform in (found, pickle.loads(pickle.dumps(found)), freeflow.Transform.affine(TURN) @ found):
        for image in (moving, freeflow.Image(labels(1, (16, 20, 18)), away)):
            carried = transform.apply(image)
            assert np.array_equal(carried.affine_ras, AFFINE) and np.array_equal(carried.numpy(), transform.apply(image, fixed).numpy())
        assert np.array_equal(transform.numpy(), transform.displacement(fixed)) and np.array_equal(transform.jacobian().affine_ras, AFFINE)
        transform.write(tmp_path / "a.nii.gz")
        assert freeflow.Transform.read(tmp_path / "a.nii.gz").numpy().shape == (18, 20, 16, 3)
    assert np.array_equal(found.inverse().apply(fixed).affine_ras, away)
    assert np.array_equal(freeflow.Transform.affine(TURN).apply(moving).affine_ras, away)
    with pytest.warns(UserWarning, match="image is an array without a place and the transform has one"):
        found.apply(moving.numpy())


def test_what_follows_a_registration_takes_the_fixed_images_grid():
    away = np.array(AFFINE)
    away[0, 3] -= 100
    linear = freeflow.register(freeflow.Image(brain(0), AFFINE), freeflow.Image(brain(1), away), "rigid", init="center", device="cpu")
    whole = freeflow.Transform.field(smooth_field(), away) @ linear.transform
    assert np.array_equal(whole.jacobian().affine_ras, AFFINE)


def test_points_that_nothing_is_mapped_to_are_spoken_of():
    away = np.zeros((*SHAPE, 3), np.float32)
    away[..., 0] = 40  # and 0 beyond the grid, so there is a gap where it begins
    middle = (np.array(SHAPE) - 1) / 2
    begin = min(world_of(np.array([i, *middle[1:]]))[0] for i in (0, SHAPE[0] - 1))
    in_the_gap = world_of(middle) * [0, 1, 1] + [begin + 20, 0, 0]
    back = freeflow.Transform.field(away, AFFINE).inverse()
    with pytest.warns(UserWarning, match="no point was found that the transform takes to 1 of 2 points"):
        back.points([in_the_gap, world_of(middle) + [40, 0, 0]])


def test_composition_is_one_after_the_other():
    xyz = inner_points()
    both = chain() @ chain()
    assert np.abs(both.points(xyz) - chain().points(chain().points(xyz))).max() < 1e-9


@pytest.mark.parametrize("order", ["F", "C"])
def test_apply_samples_the_image(order):
    image = freeflow.Image(np.array(brain(1), order=order), AFFINE)
    warped = chain().apply(image, image, fill=-7).numpy()
    at = voxels_of(expected_points(world_of(grid_points())))
    inside = ((at > 0.01) & (at < np.array(SHAPE) - 1.01)).all(axis=-1)
    assert np.abs(warped - trilinear(brain(1).astype(float), at))[inside].max() < 2e-3
    outside = ((at < -0.6) | (at > np.array(SHAPE) - 0.4)).any(axis=-1)
    assert inside.sum() > 20000 and outside.sum() > 100
    assert (warped[outside] == -7).all()


def test_the_fill_may_be_the_smallest_value():
    given = (1000 * brain(1) - 1024).astype(np.float32)
    given[3, 4, 5] = np.nan
    image, far = freeflow.Image(given, AFFINE), np.eye(4)
    far[0, 3] = 10
    transform = freeflow.Transform.affine(far)
    by_word, by_number = (transform.apply(image, fill=fill).numpy() for fill in ("min", float(np.nanmin(given))))
    assert np.array_equal(by_word, by_number) and by_word.min() == np.nanmin(given)
    whole = freeflow.Image(np.nan_to_num(given).astype(np.int16), AFFINE)
    assert transform.apply(whole, interpolation="linear", fill="min").numpy().min() == whole.numpy().min()


def test_a_series_is_carried_volume_by_volume():
    volumes = [freeflow.Image(array, AFFINE) for array in (brain(1), labels(1), brain(0))]
    carried = chain().apply(volumes, volumes[2], fill=3)
    assert [v.array.dtype for v in carried] == [np.float32, labels(1).dtype, np.float32]
    for one, volume in zip(carried, volumes):
        alone = chain().apply(volume, volumes[2], fill=3)
        assert np.array_equal(one.numpy(), alone.numpy()) and np.array_equal(one.affine_ras, AFFINE)
    nested = brain(1).tolist()  # numbers in lists are one image still
    assert isinstance(freeflow.Transform.identity().apply(nested), freeflow.Image)
    with pytest.raises(ValueError, match=r"image\[1\] has 2 dimensions"):
        chain().apply([brain(1), brain(1)[0]], volumes[2])


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.int64, bool])
def test_labels_keep_their_type_and_values(kind):
    given = labels(1).astype(kind)
    out = chain().apply(freeflow.Image(given, AFFINE), freeflow.Image(brain(0), AFFINE)).numpy()
    assert out.dtype == kind and set(np.unique(out)) <= set(np.unique(given)) | {0}
    at = np.floor(voxels_of(expected_points(world_of(grid_points()))) + 0.5).astype(int)
    inside = ((at >= 0) & (at < SHAPE)).all(axis=-1)
    expected = np.where(inside, given[tuple(np.moveaxis(np.clip(at, 0, np.array(SHAPE) - 1), -1, 0))], 0)
    assert (out != expected).mean() < 1e-3  # beside the middle between two voxels


def test_labels_beyond_32_bits():
    given = np.where(labels(1) == 2, 2**40 + 1, labels(1).astype(np.int64))
    out = freeflow.Transform.identity().apply(freeflow.Image(given, AFFINE)).numpy()
    assert np.array_equal(out, given)


def test_integers_are_a_grey_image_where_that_is_asked_for():
    grey = brain(1).astype(np.int16)
    image, same = (freeflow.Image(a, AFFINE) for a in (grey, grey.astype(np.float32)))
    for by in ("linear", "cubic"):
        out = chain().apply(image, interpolation=by).numpy()
        assert out.dtype == np.float32 and np.array_equal(out, chain().apply(same, interpolation=by).numpy())
    assert np.array_equal(chain().apply(same).numpy(), chain().apply(same, interpolation="linear").numpy())
    assert np.array_equal(chain().apply(image).numpy(), chain().apply(image, interpolation="nearest").numpy())


def test_labels_stored_as_floats_are_spoken_of(recwarn):
    transform = freeflow.Transform.identity()
    for image in (brain(1), brain(1).round(), np.round(brain(1)) - 1024, (brain(1) > 20).astype("f4"), labels(1)):
        transform.apply(freeflow.Image(image, AFFINE))
    given = freeflow.Image(labels(1).astype("f4"), AFFINE)
    transform.apply(given, interpolation="linear")
    assert not recwarn.list
    long = freeflow.Image(labels(1).astype("f8") * 10_000_019, AFFINE)  # beyond what every float holds
    for image in (given, long):
        with pytest.warns(UserWarning, match="image looks like labels, which linear interpolation mixes into others"):
            transform.apply(image)


def test_images_stored_as_integers_are_spoken_of(recwarn):
    transform = freeflow.Transform.identity()
    given = freeflow.Image((10 * brain(1)).astype("i2") - 1024, AFFINE)
    for by in ("nearest", "linear"):
        transform.apply(given, interpolation=by)
    few = np.zeros((9, 9, 9), np.uint8)
    few[2, 3, 4], few[7, 7, 7] = 1, 2
    for array in (labels(1), (brain(1) > 20).astype("u1"), brain(1) > 20, few, labels(1).astype("i8") * 10_000_019):
        transform.apply(freeflow.Image(array, AFFINE))
    assert not recwarn.list
    with pytest.warns(UserWarning, match="image holds integers that do not look like labels, .* by the nearest voxel") as said:
        found = transform.apply(given)
    assert [w.filename for w in said] == [__file__] and np.array_equal(found.numpy(), given.numpy())


@pytest.mark.parametrize("by", ["linear", "cubic", "nearest"])
def test_infinite_voxels_count_as_outside(by):
    array = brain(1)
    array[12, 12, 12] = np.inf
    with pytest.warns(UserWarning, match="image has infinite voxels, which count as outside"):
        out = freeflow.Transform.identity().apply(freeflow.Image(array, AFFINE), interpolation=by).numpy()
    assert np.isfinite(out).all() and np.allclose(out[:6], brain(1)[:6], atol=0.01)


@pytest.mark.parametrize("kind, fill", [("u1", 255), (">i2", -7), ("i4", -(2**31)), ("u4", 2**32 - 1), ("i8", 2**40 + 1)])
def test_labels_take_any_fill_that_their_type_holds(kind, fill):
    away = np.eye(4)
    away[0, 3] = 20
    given = labels(1).astype(kind)
    out = freeflow.Transform.affine(away).apply(freeflow.Image(given, AFFINE), fill=fill).numpy()
    assert out.dtype == np.dtype(kind) and (out[-5:] == fill).all() and np.array_equal(out[:-10], given[10:])


@pytest.mark.parametrize("fill", [0, -(2**40)])
def test_labels_of_tensors_may_be_as_large(fill):
    torch = pytest.importorskip("torch")
    given = np.where(labels(1) > 0, labels(1).astype(np.int64) + 2**40, 7)
    tensor = torch.from_numpy(np.ascontiguousarray(given))
    for by in ("nearest", "vote"):
        out, expected = (chain().apply(freeflow.Image(a, AFFINE), interpolation=by, fill=fill) for a in (tensor, given))
        assert out.array.dtype == torch.int64 and np.array_equal(out.numpy(), expected.numpy())
        assert (expected.numpy() > 2**40).any()


def test_vote_differs_from_nearest_at_edges_alone():
    image = freeflow.Image(labels(1), AFFINE)
    nearest, vote = (chain().apply(image, interpolation=i).numpy() for i in ("nearest", "vote"))
    assert 0 < (nearest != vote).mean() < 0.1


def test_jacobian_is_the_determinant():
    whole = chain().jacobian().numpy()
    mapped = expected_points(world_of(grid_points()[1:-1, 1:-1, 1:-1])[None])[0]
    columns = [np.gradient(mapped, s, axis=a) for a, s in enumerate((2.0, 2.0, 2.5))]
    determinant = np.linalg.det(np.stack(columns, axis=-1))
    inner = (slice(3, -3),) * 3
    assert np.abs(whole[1:-1, 1:-1, 1:-1] - determinant)[inner].max() < 2e-3
    assert np.allclose(chain().jacobian(log=True).numpy(), np.log(whole), atol=1e-6)


def test_displacement_holds_the_whole_chain():
    u = chain().displacement()
    expected = expected_points(world_of(grid_points())) - world_of(grid_points())
    assert u.shape == (*SHAPE, 3) and np.abs(u - expected)[1:-1, 1:-1, 1:-1].max() < 1e-4
    assert np.array_equal(chain().displacement(frame="lps"), u * np.float32([-1, -1, 1]))


def test_dlpack_shows_the_field_in_place():
    transform = freeflow.Transform.field(smooth_field(), AFFINE)
    voxels = np.from_dlpack(transform)
    assert voxels.shape == (3, *SHAPE[::-1])
    assert np.allclose(voxels.T, smooth_field() / [2, 2, 2.5], atol=1e-6)
    assert np.shares_memory(voxels, np.from_dlpack(transform))
    del transform
    assert np.isfinite(voxels).all()  # the array keeps it


@pytest.mark.parametrize("extension", [".mat", ".txt", ".tfm"])
def test_affine_files(tmp_path, extension):
    path = tmp_path / f"a{extension}"
    freeflow.Transform.affine(TURN).write(path)
    assert np.allclose(freeflow.Transform.read(path).affine_ras, TURN, atol=1e-12)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        freeflow.Transform.affine(TURN).write(tmp_path / f"none/a{extension}")


KINDS = {  # parameters, and where SimpleITK 2.5 takes (10, 20, 30)
    "VersorRigid3DTransform": ("0.1 -0.2 0.3 4 5 6", (-7.471015950270722, 17.8, 38.357005316756904)),
    "Similarity3DTransform": ("0.1 -0.2 0.3 4 5 6 1.5", (-13.706523925406081, 23.2, 53.03550797513536)),
    "ScaleTransform": ("1.5 2 0.5", (14.5, 38, 16.5)),
    "IdentityTransform": ("", (10, 20, 30)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_itks_other_linear_transforms(tmp_path, kind):
    parameters, expected = KINDS[kind]
    center = "1 2 3" if parameters else ""
    path = tmp_path / "t.tfm"
    path.write_text(f"#Insight Transform File V1.0\n#Transform 0\nTransform: {kind}_double_3_3\nParameters: {parameters}\nFixedParameters: {center}\n")
    found = freeflow.Transform.read(path).points([10, 20, 30], frame="lps")
    assert np.abs(found - expected).max() < 1e-9
    itk = pytest.importorskip("SimpleITK")
    assert np.abs(found - itk.ReadTransform(str(path)).TransformPoint((10, 20, 30))).max() < 1e-9


def test_several_affines_in_one_file_are_no_chain_unless_it_says_so(tmp_path):
    """fMRIPrep's files of head motion have one per volume."""
    moved = "#Transform 0\nTransform: MatrixOffsetTransformBase_double_3_3\nParameters: 1 0 0 0 1 0 0 0 1 {} 0 0\nFixedParameters: 0 0 0\n\n"
    both = moved.format(1) + moved.format(2)
    (tmp_path / "hmc.txt").write_text("#Insight Transform File V1.0\n" + both)
    with pytest.raises(OSError, match="it holds 2 transforms that are not one composite; give them one by one"):
        freeflow.Transform.read(tmp_path / "hmc.txt")
    (tmp_path / "chain.txt").write_text("#Insight Transform File V1.0\n#Transform 0\nTransform: CompositeTransform_double_3_3\n" + both)
    assert np.array_equal(freeflow.Transform.read(tmp_path / "chain.txt").points([0, 0, 0], frame="lps"), [3, 0, 0])


@pytest.mark.parametrize("order, expected", [("1", (14.3704, 25.8245, 35.3028)), ("0", None)])
def test_both_orders_of_an_euler_transforms_angles(tmp_path, order, expected):
    (tmp_path / "e.tfm").write_text(
        "#Insight Transform File V1.0\n#Transform 0\nTransform: Euler3DTransform_double_3_3\n"
        f"Parameters: 0.1 0.2 0.3 4 5 6\nFixedParameters: 1 2 3 {order}\n"
    )
    found = freeflow.Transform.read(tmp_path / "e.tfm").points([10, 20, 30], frame="lps")
    assert expected is None or np.abs(found - expected).max() < 1e-4
    itk = pytest.importorskip("SimpleITK").Euler3DTransform((1, 2, 3), 0.1, 0.2, 0.3, (4, 5, 6))
    itk.SetComputeZYX(order == "1")
    assert np.abs(found - itk.TransformPoint((10, 20, 30))).max() < 1e-9


@pytest.mark.parametrize("name", ["w.nii", "w.nii.gz"])
def test_field_files(tmp_path, name):
    chain().write(tmp_path / name)
    read = freeflow.Transform.read(tmp_path / name)
    assert np.abs(read.points(inner_points()) - expected_points(inner_points())).max() < 1e-3


def field_file(path, vectors, affine=AFFINE, kind=np.float32, name=""):
    """By nibabel, which scales integers. vectors: (i, j, k, 3)."""
    nibabel = pytest.importorskip("nibabel")
    image = nibabel.Nifti1Image(vectors[:, :, :, None, :], affine)
    image.header.set_data_dtype(kind)
    image.header.set_intent("vector", name=name)
    nibabel.save(image, path)
    return path


def test_field_files_of_scaled_integers(tmp_path):
    read = freeflow.Transform.read(field_file(tmp_path / "w.nii.gz", smooth_field() * [-1, -1, 1], kind=np.int16))
    assert np.abs(read.displacement() - smooth_field()).max() < 1e-3


@pytest.mark.parametrize(
    "name, words",
    [
        ("Mapping", "w.nii.gz': it is named \"Mapping\", which is SPM's; `regtool convert --from spm`"),
        ("NREG_TRANS", "it is a NiftyReg transform, whose vectors mean something else; `regtool convert --from niftyreg`"),
        ("", "its vectors are positions, as SPM writes them, not displacements"),
    ],
)
def test_vectors_that_are_no_displacements_are_refused(tmp_path, name, words):
    positions = world_of(grid_points()).astype(np.float32) + smooth_field()
    positions[0, 0, 0] = np.nan
    for at in (AFFINE, AFFINE @ np.array([[0, -1, 0, 9], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])):
        vectors = positions if at is AFFINE else world_of(grid_points(), at)
        with pytest.raises(OSError, match=words):
            freeflow.Transform.read(field_file(tmp_path / "w.nii.gz", vectors, at, name=name))


def test_a_field_whose_header_names_two_places_is_spoken_of(tmp_path):
    chain().write(tmp_path / "w.nii")
    raw = bytearray((tmp_path / "w.nii").read_bytes())
    struct.pack_into("<f", raw, 268, AFFINE[0, 3] + 4)  # qoffset_x
    (tmp_path / "w.nii").write_bytes(raw)
    with pytest.warns(UserWarning, match="qform and sform differ, and the sform counts here; .* voxels up to 4 mm elsewhere") as said:
        read = freeflow.Transform.read(tmp_path / "w.nii")
    assert [w.filename for w in said] == [__file__]
    assert np.abs(read.points(inner_points()) - expected_points(inner_points())).max() < 1e-3


def test_several_files_are_listed_as_for_ants(tmp_path):
    freeflow.Transform.field(smooth_field(), AFFINE).write(tmp_path / "1Warp.nii.gz")
    freeflow.Transform.affine(TURN).write(tmp_path / "0GenericAffine.mat")
    read = freeflow.Transform.read(tmp_path / "1Warp.nii.gz", tmp_path / "0GenericAffine.mat")
    assert np.abs(read.points(inner_points()) - expected_points(inner_points())).max() < 1e-5
    with pytest.raises(ValueError, match="'.*0GenericAffine.mat' before '.*1Warp.nii.gz' leads nowhere"):
        freeflow.Transform.read(tmp_path / "0GenericAffine.mat", tmp_path / "1Warp.nii.gz")
    with pytest.raises(ValueError, match=r"leads nowhere: .* and back Transform.read\('.*1InverseWarp.nii.gz'\) @ Transform.read\('.*mat'\).inverse"):
        freeflow.Transform.read(tmp_path / "0GenericAffine.mat", tmp_path / "1InverseWarp.nii.gz")


def test_registration_starts_from_a_transform():
    fixed, moving = freeflow.Image(brain(0), AFFINE), freeflow.Image(brain(1), AFFINE)
    first = freeflow.register(fixed, moving, levels=2, iterations=10)
    again = freeflow.register(fixed, moving, levels=1, iterations=0, init=first.transform)
    assert np.abs(again.transform.displacement() - first.transform.displacement()).max() < 0.05
    linear = freeflow.register(fixed, moving, "affine", init=freeflow.Transform.affine(TURN))
    assert linear.transform.is_affine


def test_a_field_that_holds_a_turn_is_inverted_and_started_from():
    """As FNIRT's between images that are stored along other axes: the way of a whole transform, in one field."""
    angle, centre = np.deg2rad(100), np.array([-5.0, -6, -10])
    turn = np.eye(4)
    turn[:3, :3] = [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
    turn[:3, 3] = centre - turn[:3, :3] @ centre
    fixed, moving = freeflow.Image(brain(0), AFFINE), freeflow.Image(brain(0), turn @ AFFINE)
    whole = freeflow.Transform.field(freeflow.Transform.affine(turn).displacement(fixed), AFFINE)
    points = inner_points()
    mapped = points @ turn[:3, :3].T + turn[:3, 3]
    assert np.abs(whole.points(points) - mapped).max() < 1e-3
    assert np.abs(whole.inverse().points(mapped) - points).max() < 1e-3
    back = trilinear(whole.inverse().displacement(moving), voxels_of(mapped, turn @ AFFINE))
    assert np.abs(mapped + back - points).max() < 1e-3
    with pytest.warns(UserWarning, match="no linear stage"):
        found = freeflow.register(fixed, moving, "ffd", init=whole, levels=1, iterations=2)
    assert not [said for said in found.report["warnings"] if "degrees" in said]
    assert np.abs(found.transform.affine_ras - turn).max() < 1e-3
    assert np.abs(found.transform.points(points) - mapped).max() < 0.3
