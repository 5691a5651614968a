"""What is warned of, where the programs warn or refuse, and at which line."""

import numpy as np
import pytest
from phantom import AFFINE, brain, labels

import freeflow

FEW = {"levels": 1, "iterations": 1, "linear": "none", "start": "none", "device": "cpu"}


def test_warnings_point_at_the_users_line(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    small = nibabel.Nifti1Image(brain(0), np.diag([1000, 1000, 1000, 1]) @ AFFINE)
    small.header.set_xyzt_units("micron")
    nibabel.save(small, tmp_path / "small.nii")
    for call in (
        lambda: freeflow.Image.read(tmp_path / "small.nii"),
        lambda: freeflow.Image.of(small),
        lambda: freeflow.Transform.identity().apply(tmp_path / "small.nii"),
        lambda: freeflow.register(small, freeflow.Image(brain(1), AFFINE), **FEW),
        lambda: freeflow.Image(brain(0), AFFINE + np.eye(4, k=1) * [0, 0.01, 0, 0]),
        lambda: freeflow.register(brain(0), freeflow.Image(brain(1), AFFINE), **FEW),
    ):
        with pytest.warns(UserWarning) as said:
            call()
        assert {w.filename for w in said} == {__file__}, [str(w.message) for w in said]


def bent(affine=AFFINE):
    """A field of some millimetres on the grid of brain()."""
    field = np.zeros((*brain(0).shape, 3), np.float32)
    field[..., 0] = 3 * np.sin(np.arange(brain(0).shape[0]) / 6)[:, None, None]
    return freeflow.Transform.field(field, affine)


def far(millimetres=1000.0):
    affine = np.array(AFFINE)
    affine[:3, 3] += millimetres
    return affine


def of_grid(transform, tmp_path):
    """What takes a grid alone."""
    return transform.jacobian, transform.displacement, lambda like: transform.write(tmp_path / "w.nii.gz", like=like)


def test_a_grid_of_another_space_is_spoken_of(recwarn, tmp_path):
    transform, image = bent(), freeflow.Image(brain(1), AFFINE)
    patch, around = np.array(AFFINE), np.array(AFFINE)
    patch[:3, 3], around[:3, :3], around[:3, 3] = 0, 12 * np.eye(3), -200
    for like in (image, freeflow.Image(brain(0)[:9, :8, :7], patch), freeflow.Image(brain(0), around)):
        for call in (*of_grid(transform, tmp_path), lambda like: transform.apply(image, like)):
            call(like)
    shift = freeflow.Transform.affine(far() - AFFINE + np.eye(4))
    (transform @ shift.inverse()).apply(image, freeflow.Image(brain(0), far()))
    shift.jacobian(freeflow.Image(brain(0), far(5000)))  # an affine is everywhere
    assert not recwarn.list
    elsewhere = freeflow.Image(brain(0), far())
    for call in (*of_grid(transform, tmp_path), lambda like: transform.apply(image, like)):
        with pytest.warns(UserWarning, match="the transform's field covers 0 % of like, so it is of another space: name the image") as said:
            call(elsewhere)
        assert said[0].filename == __file__


def test_a_grid_without_a_place_is_spoken_of(recwarn, tmp_path):
    for call in of_grid(bent(), tmp_path):
        with pytest.warns(UserWarning, match="like is an array without a place and the transform has one"):
            call(brain(0))
    for call in of_grid(bent(np.eye(4)), tmp_path):
        call(brain(0))
    assert not recwarn.list


def test_an_image_of_which_nothing_arrives_is_spoken_of(recwarn):
    image, elsewhere = freeflow.Image(brain(1), AFFINE), freeflow.Image(brain(1), far())
    for fill in (0, -5, np.nan):
        bent().apply(image, fill=fill)
        bent().apply(freeflow.Image(np.zeros((4, 4, 4)), far()), fill=0)
    bent().apply(freeflow.Image(np.full((4, 4, 4), np.nan, np.float32), AFFINE))
    assert not recwarn.list
    for fill, told in ((0, "0"), (-5.1, "-5.1"), (np.nan, "nan")):
        with pytest.warns(UserWarning, match=f"nothing of image but the fill, {told}, comes to lie on the grid") as said:
            bent().apply(elsewhere, fill=fill)
        assert [w.filename for w in said] == [__file__]
    with pytest.warns(UserWarning, match="nothing of image but the fill, 7, comes to lie"):
        bent().apply(freeflow.Image(labels(1), far()), fill=7)


def test_points_beyond_the_field_are_spoken_of(recwarn):
    transform, inner = bent(), [[0, 0, 0], [5, 6, 7.0]]
    assert transform.inverse().points(transform.points(inner)).shape == (2, 3)
    freeflow.Transform.affine(far()).points([[5000, 0, 0]])
    assert not recwarn.list
    for way in (transform, transform.inverse()):
        with pytest.warns(UserWarning, match="1 of the 3 points lie beyond the field's grid, where nothing is displaced") as said:
            assert np.array_equal(way.points([*inner, [5000, 0, 0]])[2], [5000, 0, 0])
        assert [w.filename for w in said] == [__file__]


def test_a_product_in_the_other_order_is_spoken_of(recwarn):
    one, two, three = (freeflow.Image(brain(s)[s:], AFFINE) for s in (0, 1, 2))
    first, second = (freeflow.register(*pair, "rigid", levels=1, iterations=1, device="cpu").transform for pair in ((one, two), (two, three)))
    recwarn.clear()
    for product in (second @ first, first.inverse() @ second.inverse(), first @ first.inverse(), first.inverse() @ first, bent() @ first):
        assert product.points([[0, 0, 0]]).shape == (1, 3)
    assert not recwarn.list
    with pytest.warns(UserWarning, match="applies b first, but here b begins on the grid where a ends: is `b @ a` meant"):
        first @ second


@pytest.mark.parametrize("code, others", [(1, "the qform places"), (4, "the qform, as ITK and the programs mostly do, places")])
def test_of_two_places_in_a_header_itk_takes_the_scanners_sform(tmp_path, code, others):
    nibabel = pytest.importorskip("nibabel")
    both = nibabel.Nifti1Image(brain(0), AFFINE)
    both.set_sform(AFFINE, code)
    both.header.set_qform(far(4), 1)
    nibabel.save(both, tmp_path / "two.nii")
    with pytest.warns(UserWarning, match=f"the sform counts here; what takes {others} voxels up to 6.93 mm elsewhere"):
        read = freeflow.Image.read(tmp_path / "two.nii")
    assert np.allclose(read.affine_ras, AFFINE)
    theirs = freeflow.Image.of(pytest.importorskip("SimpleITK").ReadImage(str(tmp_path / "two.nii")))
    assert np.allclose(theirs.affine_ras, AFFINE if code == 1 else far(4), atol=1e-4)


def test_bids_names_that_contradict_the_list_are_spoken_of(recwarn, tmp_path):
    names = ("sub-01_from-T1w_to-MNI_mode-image_xfm.txt", "sub-01_from-bold_to-T1w_mode-image_desc-a_xfm.txt", "sub-01_from-T1w_to-bold_mode-points_xfm.txt")
    to_t1, of_bold, points = (str(tmp_path / name) for name in names)
    for path in (to_t1, of_bold, points, str(tmp_path / "other.txt")):
        freeflow.Transform.identity().write(path)
    for chain in ((to_t1, of_bold), (to_t1, points), (of_bold, str(tmp_path / "other.txt"), to_t1), (of_bold,)):
        freeflow.Transform.read(*chain)
    assert not recwarn.list
    with pytest.warns(UserWarning, match="by their names '.*' ends at points of bold and '.*' begins at points of MNI; check the order"):
        freeflow.Transform.read(of_bold, to_t1)
