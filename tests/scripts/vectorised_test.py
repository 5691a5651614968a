"""The loops that a registration on a CPU spends its time in are vectorised. (They were not for a while, when an index had lost its sign,
and nothing but the clock showed it.)"""
import platform
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
EIGEN = Path("/usr/include/eigen3")
# As cmake/FreeFlowRoom.cmake has them.
FLAGS = ["-std=c++20", "-O3", "-DNDEBUG", "-DFREEFLOW_CUDA=0", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
         "-march=x86-64-v3", "-fopenmp", "--param=max-unswitch-insns=1000", f"-isystem{EIGEN}"]
VOXELS = "template void for_each_voxel<{0}>(backend::Cpu, Extent, const {0}&);"
COLUMNS = "template void sum_along_z<{0}>(backend::Cpu, Extent, int, const {0}&);"
LOOPS = [
    ("registration/flow/stepwise_flow_body.h", VOXELS, "FlowComposeBody"),
    ("deform/warp_body.h", VOXELS, "WarpValuesBody"),
    ("similarity/lncc_body.h", COLUMNS, "LnccForceAlongZ"),
]


@unittest.skipUnless(platform.machine() == "x86_64" and shutil.which("g++") and EIGEN.is_dir(), "needs g++ on x86-64, and Eigen")
class VectorisedTest(unittest.TestCase):
    def arithmetic(self, header, instance, body):
        """How many instructions of the machine code multiply and add eight floats at once, and how many load by a mask."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "freeflow").symlink_to(TREE)
            source = f"#include <freeflow/core/for_each_voxel.h>\n#include <freeflow/{header}>\nnamespace freeflow {{ {instance.format(body)} }}\n"
            done = subprocess.run(["g++", *FLAGS, f"-I{folder}", "-x", "c++", "-", "-S", "-o", "-"], input=source, capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.split() for line in done.stdout.splitlines() if "fmadd" in line]
        return sum("ymm" in line[-1] for line in lines), done.stdout.count("vmaskmov")

    def test_hot_loops(self):
        for loop in LOOPS:
            with self.subTest(loop[2]):
                at_once, masked = self.arithmetic(*loop)
                self.assertGreater(at_once, 0)
                self.assertEqual(masked, 0, "masked loads of a null pointer are slow")


if __name__ == "__main__":
    unittest.main()
