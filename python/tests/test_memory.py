"""Memory does not grow. FREEFLOW_REGISTRATIONS=1000 runs as many in place of 60."""

import gc
import os

import numpy as np
import pytest
from phantom import brain

import freeflow

SMALL = (24, 28, 20)
WARM_UP = 40
LEAST = {"levels": 1, "iterations": 1, "linear": "none", "start": "none", "device": "cpu", "threads": 1}


def resident_kib():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def once(n, fixed, moving):
    result = freeflow.register(fixed.copy(), moving.copy(), **LEAST)
    result.warped, result.inverse_warped, result.transform.displacement(), result.transform.points([[0, 0, 0]])
    assert result.report["similarity"]["after"] > 1
    if n % 20 == 0:
        with pytest.raises(ValueError):
            freeflow.register(fixed, moving, bending=1)
        for other in freeflow.register_many([(fixed, moving), (fixed, moving.copy())], **LEAST):
            other.transform.inverse()


def test_memory_does_not_grow():
    count = int(os.environ.get("FREEFLOW_REGISTRATIONS", 60))
    fixed, moving = brain(0, SMALL), brain(1, SMALL)
    for n in range(WARM_UP):
        once(n, fixed, moving)
    before = resident_kib()
    for n in range(count):
        once(n, fixed, moving)
    grown = resident_kib() - before
    volume_kib = fixed.nbytes / 1024
    print(f"{count} registrations of {volume_kib:.0f} KiB a volume: {grown} KiB more")
    assert grown < min(count * volume_kib / 2, 4096)  # a volume that leaked in each would be twice as much


def test_what_a_result_holds_goes_with_it():
    """The inverse that nobody asked for, the images that were prepared, the arrays used in place."""
    import weakref

    class Kept(np.ndarray):
        pass

    arrays = [brain(s, SMALL).view(Kept) for s in (0, 1)]
    alive = [weakref.ref(a) for a in arrays]
    result = freeflow.register(*arrays, **LEAST)
    del arrays
    gc.collect()
    assert all(a() is not None for a in alive)
    del result
    gc.collect()
    assert all(a() is None for a in alive)
