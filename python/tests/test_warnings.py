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
