"""What is warned of, where the programs warn or refuse, and at which line."""

import numpy as np
import pytest
from phantom import AFFINE, brain

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
