"""Denoising of surfaces."""

import subprocess

import numpy as np
import pytest
from phantom import AFFINE

import freeflow


def ball(noise=0.0):
    i, j, k = np.meshgrid(*[np.arange(n) for n in (28, 30, 26)], indexing="ij")
    distance = np.sqrt((i - 13.5) ** 2 + (j - 14.5) ** 2 + (k - 12.5) ** 2) - 8
    return np.asfortranarray((distance + noise * np.random.default_rng(0).normal(size=distance.shape)).astype(np.float32))


def test_noise_goes_and_volume_stays():
    exact, noisy = ball(), ball(0.4)
    surface = freeflow.denoise_surface(freeflow.Image(noisy), kind="sdf")
    near = np.abs(exact) < 1.5
    assert np.abs(surface.distance.numpy() - exact)[near].mean() < 0.5 * np.abs(noisy - exact)[near].mean()
    assert abs(surface.mask.numpy().sum() / (exact <= 0).sum() - 1) < 0.03
    assert surface.report["noise_mm"] > 0.1


def test_labels_and_grey_images():
    mask = (ball() <= 0).astype(np.uint8) * 3
    by_label = freeflow.denoise_surface(mask, label=3, iterations=3).distance.numpy()
    by_bool = freeflow.denoise_surface(mask > 0, iterations=3).distance.numpy()
    assert np.array_equal(by_label, by_bool) and by_label[13, 14, 12] < -6
    grey = freeflow.denoise_surface(-ball(), iso=0.0, iterations=3).distance.numpy()
    assert np.abs(grey - ball())[np.abs(ball()) < 2].max() < 0.5


def test_bits_are_the_programs(program, tmp_path):
    mask = freeflow.Image(np.asfortranarray((ball(0.3) <= 0).astype(np.uint8)), AFFINE)
    mask.write(tmp_path / "mask.nii.gz")
    subprocess.run(
        [program("nlmdenoise"), "-i", str(tmp_path / "mask.nii.gz"), "-o", str(tmp_path / "p_"), "-q", "--device", "cpu"], check=True
    )
    ours = freeflow.denoise_surface(mask)
    assert np.array_equal(freeflow.Image.read(tmp_path / "p_sdf.nii.gz").array, ours.distance.numpy())
    assert np.array_equal(freeflow.Image.read(tmp_path / "p_mask.nii.gz").array, ours.mask.numpy())


@pytest.mark.parametrize("given, options", [(ball(0.3) <= 0, {}), (ball(0.4), {}), (-ball(0.4), {"iso": 0.0})])
def test_memory_order_changes_no_bit(given, options):
    permuted = np.ascontiguousarray(given.transpose(1, 0, 2)).transpose(1, 0, 2)
    found = [freeflow.denoise_surface(a, iterations=3, **options) for a in (np.asfortranarray(given), np.ascontiguousarray(given), permuted)]
    for surface in found[1:]:
        assert np.array_equal(surface.distance.numpy(), found[0].distance.numpy())
        assert np.array_equal(surface.level_set.numpy(), found[0].level_set.numpy())


@pytest.mark.parametrize("factor, made_new", [(0.4, True), (2.2, False), (9, True)])
def test_a_level_set_that_is_no_distance_is_made_one(program, tmp_path, factor, made_new, recwarn):
    given = freeflow.Image(np.float32(factor) * ball(), AFFINE)  # of voxels in place of millimetres
    given.write(tmp_path / "l.nii.gz")
    flags = ["-i", str(tmp_path / "l.nii.gz"), "-o", str(tmp_path / "p_"), "--iterations", "2", "--device", "cpu"]
    said = subprocess.run([program("nlmdenoise"), *flags], check=True, capture_output=True, text=True).stderr
    surface = freeflow.denoise_surface(given, iterations=2)
    assert np.array_equal(freeflow.Image.read(tmp_path / "p_sdf.nii.gz").array, surface.distance.numpy())
    sentences = [str(w.message).removeprefix("surface ") for w in recwarn]
    assert len(sentences) == made_new and all("was computed again from its zero" in one and one in said for one in sentences)


def test_progress_and_stop():
    told = []
    freeflow.denoise_surface(ball(), progress=lambda *what: told.append(what[0]), iterations=2)
    assert set(told) >= {"search"}

    def stop(*_):
        raise LookupError("enough")

    with pytest.raises(LookupError):
        freeflow.denoise_surface(ball(), progress=stop)
