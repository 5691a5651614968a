import os
import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def program():
    """program("ffdreg") is its path: FREEFLOW_PROGRAMS, the build folders, or the PATH. The test skips where it is not built."""
    root = Path(__file__).resolve().parents[2]

    def find(name):
        for folder in (os.environ.get("FREEFLOW_PROGRAMS"), root / "build/release/apps", root / "build/apps", root / "build/cpu/apps"):
            if folder and (Path(folder) / name).is_file():
                return str(Path(folder) / name)
        found = shutil.which(name)
        return found or pytest.skip(f"{name} is not built")

    return find
