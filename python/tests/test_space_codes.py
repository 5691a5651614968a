"""Headers say which world an image lies in, as the programs' do."""

import gzip
import pickle
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from phantom import AFFINE, brain, rotated

import freeflow


def space_codes(path):
    """(of the qform, of the sform)"""
    raw = path.read_bytes()
    return struct.unpack_from("<2h", gzip.decompress(raw) if path.suffix == ".gz" else raw, 252)


def in_space(image, code, path):
    """A file of it whose header has this code alone, as sform's."""
    image.write(path)
    raw = bytearray(path.read_bytes())
    struct.pack_into("<2h", raw, 252, 0, code)
    path.write_bytes(raw)
    return path


def test_what_is_made_on_an_images_grid_has_its_space_code(tmp_path, program):
    fixed, moving = (in_space(freeflow.Image(brain(s), AFFINE), code, tmp_path / f"{s}.nii") for s, code in ((0, 4), (1, 3)))
    few = {"levels": 1, "iterations": 2, "device": "cpu"}
    result = freeflow.register(fixed, moving, "ffd", **few)
    flags = [f"--{name}={value}" for name, value in few.items()]
    subprocess.run([program("ffdreg"), "-f", fixed, "-m", moving, "-o", tmp_path / "p_", "-q", *flags], check=True)
    paths = [Path(path) for path in result.save(tmp_path / "x_") if path.endswith(".nii.gz")]
    assert [space_codes(path) for path in paths] == [(4, 4), (4, 4), (4, 4), (3, 3)]
    assert [space_codes(path) for path in paths] == [space_codes(tmp_path / path.name.replace("x_", "p_")) for path in paths]
    back = pickle.loads(pickle.dumps(result.transform)).inverse()
    made = [(result.transform.apply(moving), 4), (result.jacobian(), 4), (back.apply(fixed), 3), (back.apply(fixed, fixed), 4)]
    made += [(pickle.loads(pickle.dumps(result.fixed)), 4), (freeflow.Transform.identity().apply(moving), 3)]
    made += [(freeflow.Transform.read(paths[0]), 4), (back, 3)]
    for thing, code in made:
        thing.write(tmp_path / "y.nii")
        assert space_codes(tmp_path / "y.nii") == (code, code)


def test_nibabels_space_codes_are_kept(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    for qform, sform, code in ((0, 4, 4), (3, 0, 3), (1, 4, 4), (0, 0, 1)):
        image = nibabel.Nifti1Image(brain(0), AFFINE)
        image.set_qform(AFFINE, qform)
        image.set_sform(AFFINE, sform)
        freeflow.Image.of(image).write(tmp_path / "a.nii.gz")
        assert space_codes(tmp_path / "a.nii.gz") == (code, code)
    freeflow.Image.of(nibabel.MGHImage(brain(0), AFFINE)).write(tmp_path / "a.nii")
    assert space_codes(tmp_path / "a.nii") == (1, 1)


def test_nibabel_gets_both_forms_and_the_space_code(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    read = freeflow.Image.read(in_space(freeflow.Image(brain(0), AFFINE), 4, tmp_path / "a.nii"))
    for image, code in ((read, 4), (freeflow.Image(brain(0), rotated()), 1)):
        given = image.to_nibabel()
        nibabel.save(given, tmp_path / "b.nii")
        assert space_codes(tmp_path / "b.nii") == (code, code)
        assert given.header.get_xyzt_units()[0] == nibabel.load(tmp_path / "b.nii").header.get_xyzt_units()[0] == "mm"
        assert np.allclose(given.get_qform(), image.affine_ras, atol=1e-5) and np.allclose(given.get_sform(), image.affine_ras, atol=1e-5)
        again = freeflow.Image.of(given)
        assert np.array_equal(given.affine, image.affine_ras) and np.allclose(again.affine_ras, image.affine_ras, rtol=1e-12)
        again.write(tmp_path / "c.nii")
        assert space_codes(tmp_path / "c.nii") == (code, code)
