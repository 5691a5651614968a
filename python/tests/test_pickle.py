"""Images, transforms and registrations go to other processes and to caches, bit for bit."""

import copy
import os
import pickle
import subprocess
import sys
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


IN_A_FORK = """
import multiprocessing, numpy, freeflow
image = freeflow.Image(numpy.random.default_rng(0).random((64, 64, 64), numpy.float32))
context = freeflow.Context("cpu", threads=4)
move = freeflow.Transform.affine(numpy.eye(4) + numpy.eye(4, k=3), context=context)
few = {"levels": 1, "iterations": 1, "linear": "none", "start": "none", "threads": 4}
def work(_):
    return move.apply(image).numpy().sum(), freeflow.register(image, image, "ffd", **few).transform.numpy().sum()
here = work(0)
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(work, range(3)) == [here] * 3
assert work(0) == here
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_of_fork_works_after_its_parent_has():
    """It waited forever for OpenMP's threads, which only the parent has."""
    subprocess.run([sys.executable, "-c", IN_A_FORK], check=True, timeout=120, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})


def test_a_transform_keeps_its_number_of_threads():
    move = freeflow.Transform.affine(np.eye(4), context=freeflow.Context("cpu", threads=3))
    assert pickle.loads(pickle.dumps(move))._context.threads == 3
    assert pickle.loads(pickle.dumps(freeflow.Transform.identity()))._context.threads == freeflow.Context("cpu").threads
