"""How OpenMP's threads wait for each other."""

import os
from contextlib import contextmanager


@contextmanager
def threads_sleep():
    """Within, libgomp is loaded so that its threads sleep after some 0.1 ms of waiting and leave the cores to others, as
    the programs have it (apps/waiting.cpp). Nothing changes where OMP_WAIT_POLICY or GOMP_SPINCOUNT says otherwise, or
    where another package has loaded libgomp before."""
    if "OMP_WAIT_POLICY" in os.environ or "GOMP_SPINCOUNT" in os.environ:
        yield
        return
    os.environ["GOMP_SPINCOUNT"] = "10000"
    try:
        yield
    finally:
        del os.environ["GOMP_SPINCOUNT"]
