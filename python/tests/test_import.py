"""`import freeflow` is quick: numpy and what few calls need are loaded when they are asked for."""

import subprocess
import sys

import pytest

import freeflow


def loaded_by(code):
    say = "import sys; before = set(sys.modules); exec(sys.argv[1]); print(*set(sys.modules) - before)"
    run = subprocess.run([sys.executable, "-c", say, code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in run.stdout.split()}


def test_an_import_loads_little():
    assert "numpy" not in loaded_by("import freeflow; freeflow.available_devices()")
    with_numpy = loaded_by("import numpy")
    assert "numpy" in loaded_by("import freeflow; freeflow.Context('cpu')")
    whole = "import freeflow\nfor name in freeflow.__all__: getattr(freeflow, name)"
    late = {"matplotlib", "tqdm", "nibabel", "SimpleITK", "torch", "concurrent", "json", "tempfile", "gzip", "resource"}
    assert not (loaded_by(whole) - with_numpy) & late


def test_every_name_is_there():
    assert set(dir(freeflow)) == set(freeflow.__all__)
    for name in freeflow.__all__:
        assert getattr(freeflow, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'regster'"):
        freeflow.regster
    code = "from freeflow import *; print(register.__name__, Transform.__name__, register_many.__name__)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() == [
        "register",
        "Transform",
        "register_many",
    ]
