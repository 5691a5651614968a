"""Images, transforms and registrations go to other processes and to caches, bit for bit."""

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from phantom import AFFINE, brain

import freeflow

FEW = {"levels": 2, "iterations": 3, "device": "cpu"}
WAYS = [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))]


def found(model="flow", order="F"):
    fixed, moving = (freeflow.Image(np.array(brain(s), order=order), AFFINE) for s in (0, 1))
    return freeflow.register(fixed, moving, model, **(FEW if model == "flow" else {"device": "cpu"}))


@pytest.mark.parametrize("way", WAYS)
def test_images(way):
    image = freeflow.Image(brain(0).astype("i2"), AFFINE)
    again = way(image)
    assert np.array_equal(again.numpy(), image.numpy()) and np.array_equal(again.affine_ras, image.affine_ras)
    assert again.array.dtype == image.array.dtype and again.array.strides == image.array.strides


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", ["F", "C"])
def test_transforms_and_their_own_inverse(way, order):
    turn = freeflow.Transform.affine([[0.9, 0.1, 0, 3], [-0.1, 0.9, 0, 1], [0, 0, 1.1, 2], [0, 0, 0, 1]])
    for transform in (turn, found(order=order).transform, turn @ found(order=order).transform @ turn, found("rigid").transform):
        again = way(transform)
        for one, other in ((transform, again), (transform.inverse(), again.inverse()), (transform, again.inverse().inverse())):
            assert np.array_equal(one.points([[5, -6, 7]]), other.points([[5, -6, 7]]))
            like = freeflow.Image(np.array(brain(1), order=order), AFFINE)
            assert np.array_equal(one.apply(like, like).numpy(), other.apply(like, like).numpy())
        assert again.is_affine == transform.is_affine and repr(again) == repr(transform)


@pytest.mark.parametrize("way", WAYS)
def test_registrations(way, tmp_path):
    result = found()
    again = way(result)
    assert np.array_equal(again.warped.numpy(), result.warped.numpy())
    assert np.array_equal(again.inverse_warped.numpy(), result.inverse_warped.numpy())
    result.transform.inverse()
    for kept in (result, again):
        kept.report["seconds"] = kept.report["memory_bytes"] = None
    assert again.report == result.report
    for path, other in zip(found().save(tmp_path / "a_"), way(found()).save(tmp_path / "b_")):
        with open(path, "rb") as one, open(other, "rb") as two:
            assert path.endswith("json") or one.read() == two.read()


def register_in_another_process(seed):
    return freeflow.register(freeflow.Image(brain(0), AFFINE), freeflow.Image(brain(seed), AFFINE), **FEW)


def test_results_come_back_from_another_process():
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        there = pool.submit(register_in_another_process, 1).result()
    assert np.array_equal(there.transform.numpy(), found().transform.numpy())
