"""Cohorts: the bits of separate registrations, what is shared, what is read meanwhile."""

import threading

import numpy as np
import pytest
from phantom import AFFINE, brain

import freeflow
from freeflow import inputs

SMALL = (16, 18, 14)
QUICK = {"levels": 2, "iterations": 4, "device": "cpu"}


def small(seed):
    return brain(seed, SMALL)


@pytest.fixture
def prepared(monkeypatch):
    """The sides of which a pyramid was begun, in order."""
    sides, original = [], inputs.Side.prepared

    def spy(side, context, part=None):
        sides.append(side.name)
        return original(side, context, part)

    monkeypatch.setattr(inputs.Side, "prepared", spy)
    return sides


def assert_same_bits(one, other):
    assert np.array_equal(one.transform.numpy(), other.transform.numpy())
    assert np.array_equal(one.transform.inverse().numpy(), other.transform.inverse().numpy())
    assert np.array_equal(one.warped.numpy(), other.warped.numpy())
    assert np.array_equal(one.inverse_warped.numpy(), other.inverse_warped.numpy())
    assert one.report["linear"]["cost"] == other.report["linear"]["cost"]


@pytest.mark.parametrize("model", ["flow", "ffd"])
@pytest.mark.parametrize("shared", ["fixed", "moving"])
def test_a_shared_image_is_prepared_once_and_changes_no_bit(prepared, shared, model):
    template = freeflow.Image(small(0), AFFINE)
    other = "moving" if shared == "fixed" else "fixed"
    mask = (small(0) > 20).astype(np.uint8)
    pairs = [{shared: template, shared + "_mask": mask, other: freeflow.Image(small(s), AFFINE)} for s in (1, 2, 3)]
    results = list(freeflow.register_many(pairs, model, clip=(2, 90), **QUICK))
    assert prepared.count(shared) == 1 and prepared.count(other) == 3
    for pair, result in zip(pairs, results, strict=True):
        assert_same_bits(result, freeflow.register(model=model, clip=(2, 90), **pair, **QUICK))


def test_linear_models_and_channels_share_too(prepared):
    t1, t2 = small(0), small(0) ** 2
    pairs = [([t1, t2], [small(s), small(s) ** 2]) for s in (1, 2)]
    results = list(freeflow.register_many(pairs, "affine", device="cpu", channel_weights=[1, 2]))
    assert prepared == ["fixed", "moving", "moving"]
    for pair, result in zip(pairs, results, strict=True):
        alone = freeflow.register(*pair, "affine", device="cpu", channel_weights=[1, 2])
        assert np.array_equal(result.transform.affine_ras, alone.transform.affine_ras)


def test_other_masks_and_other_objects_share_nothing(prepared):
    template, masks = small(0), [(small(0) > at).astype(np.uint8) for at in (5, 40)]
    pairs = [{"fixed": template, "moving": small(1), "fixed_mask": m} for m in masks]
    pairs += [{"fixed": template.copy(), "moving": small(1), "fixed_mask": masks[1]}]
    results = list(freeflow.register_many(pairs, **QUICK))
    assert prepared.count("fixed") == 3
    alone = [freeflow.register(**pair, **QUICK) for pair in pairs]
    assert not np.array_equal(results[0].transform.numpy(), results[1].transform.numpy())
    for one, other in zip(results, alone, strict=True):
        assert_same_bits(one, other)


def test_a_file_that_is_shared_is_read_once(tmp_path):
    for seed in range(4):
        freeflow.Image(small(seed), AFFINE).write(tmp_path / f"{seed}.nii.gz")
    pairs = [(tmp_path / "0.nii.gz", str(tmp_path / f"{seed}.nii.gz")) for seed in (1, 2, 3)]
    alone = [freeflow.register(*pair, **QUICK) for pair in pairs]
    results = []
    for result in freeflow.register_many(pairs, **QUICK):
        (tmp_path / "0.nii.gz").unlink(missing_ok=True)
        results.append(result)
    for one, other in zip(results, alone, strict=True):
        assert_same_bits(one, other)


class Told:
    """An image that says when and where it is read."""

    def __init__(self, seed):
        self._seed, self.read, self.thread = seed, threading.Event(), None

    def __array__(self, dtype=None, copy=None):
        self.thread = threading.get_ident()
        self.read.set()
        return small(self._seed)


def test_the_next_pair_is_read_on_a_thread():
    images = [Told(seed) for seed in (1, 2, 3)]
    results = freeflow.register_many(((small(0), image) for image in images), **QUICK)
    assert not images[0].read.is_set()
    next(results)
    assert images[1].read.wait(20) and not images[2].read.is_set()
    assert images[1].thread != threading.get_ident()
    results.close()
    assert not any(t.name.startswith("freeflow-reading") for t in threading.enumerate())


def test_a_pair_that_fails_does_not_end_the_others():
    def pairs():
        yield {"fixed": small(0), "moving": np.zeros(SMALL, np.float32)}
        yield {"fixed": small(0)}
        yield small(0), small(1), small(2)
        yield small(0), "nowhere.nii.gz"
        yield {"fixed": small(0), "moving": small(1), "context": freeflow.Context("cpu")}
        yield small(0), small(1)

    told = []
    results = list(freeflow.register_many(pairs(), keep_going=True, progress=lambda n, r: told.append((n, r)), **QUICK))
    assert [n for n, _ in told] == [1, 2, 3, 4, 5, 6] and [r for _, r in told] == results
    kinds = [freeflow.RegistrationError, TypeError, ValueError, OSError, ValueError]
    for result, kind in zip(results, kinds):
        assert isinstance(result, kind), result
    assert all(result.__traceback__ is None for result in results[:5])  # its frames hold images
    assert "no moving image" in str(results[1]) and "context" in str(results[4])
    assert_same_bits(results[5], freeflow.register(small(0), small(1), **QUICK))
    with pytest.raises(freeflow.RegistrationError):
        list(freeflow.register_many(pairs(), **QUICK))


def test_what_the_pairs_raise_comes_after_the_results_before_it():
    def pairs():
        yield small(0), small(1)
        raise LookupError("the list ends badly")

    results = freeflow.register_many(pairs(), **QUICK)
    assert isinstance(next(results), freeflow.Registration)
    with pytest.raises(LookupError):
        next(results)
    assert list(freeflow.register_many([], **QUICK)) == []
