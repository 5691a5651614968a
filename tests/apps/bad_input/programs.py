"""Runs a program as a user does and sees how it ended. Used by the tests beside this file."""
import os
import resource
import subprocess
import tempfile
from pathlib import Path

import volumes

SECONDS = 10  # no program waits longer over bad input; sanitizers need some of it
QUICK = "--linear none --start none --levels 1 --iterations 1"

# Names are as short as they are used often.
FILES = {
    "f.nii": lambda: volumes.nifti(),
    "m.nii": lambda: volumes.nifti(volumes.blob(0.5)),
    "a.txt": lambda: volumes.affine(),
    "u.nii": lambda: volumes.field(),
    "labels.nii": lambda: volumes.nifti(lambda x, y, z: float(3 < x < 9 and 2 < y < 8 and 3 < z < 8)),
    "points.csv": lambda: b"x,y,z\n0,0,0\n1,2,3\n",
}


class Folder:
    """A folder of its own with the files that every case may use."""

    def __init__(self, programs, parent=None):
        self.programs = programs
        self.made = tempfile.TemporaryDirectory(prefix="freeflow_", dir=parent)
        self.path = Path(self.made.name)
        os.chmod(self.path, 0o755)
        for name, content in FILES.items():
            (self.path / name).write_bytes(content())

    def command(self, words):
        program, *rest = words.split() if isinstance(words, str) else words
        return [str(self.programs / program), *rest]

    def start(self, words, limits=(), **more):
        def set_limits():
            for limit, value in limits:
                resource.setrlimit(limit, (value, value))
        environment = {**os.environ, "OMP_WAIT_POLICY": "passive", **more.pop("environment", {})}
        return subprocess.Popen(self.command(words), cwd=self.path, env=environment, preexec_fn=set_limits, stdin=subprocess.DEVNULL,
                                stdout=more.pop("stdout", subprocess.PIPE), stderr=more.pop("stderr", subprocess.PIPE), **more)

    def run(self, words, seconds=SECONDS, **more):
        """(status, stdout, stderr); the status is None where it had to be killed."""
        process = self.start(words, **more)
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None, "", ""
        return process.returncode, (out or b"").decode(errors="replace"), (err or b"").decode(errors="replace")

    def least_to_start(self, program):
        """Bytes of address space, to 2 MiB: the libraries that a program comes with take most of them."""
        low, high = 0, 4 << 30
        while high - low > 2 << 20:
            middle = (low + high) // 2
            started = self.run(f"{program} --version", limits=[(resource.RLIMIT_AS, middle)])[0] == 0
            low, high = (low, middle) if started else (middle, high)
        return high

    def names(self, *starts):
        """What lies there and begins so; hidden folders of unfinished work always."""
        return sorted(p.name for p in self.path.iterdir() if p.name.startswith((".freeflow", *starts)))

    def contents(self, *starts):
        return {name: (self.path / name).read_bytes() for name in self.names(*starts) if (self.path / name).is_file()}
