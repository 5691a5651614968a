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
INSTANCE = "#include <freeflow/core/for_each_voxel.h>\n#include <freeflow/{0}>\nnamespace freeflow {{ {1} }}\n"
COLUMNS = "template void sum_along_z<{0}>(backend::Cpu, Extent, int, const {0}&);"
# What is compiled, and the body in the names of whose functions the loops are.
LOOPS = [
    ("#include <freeflow/registration/flow/stepwise_flow.cpp>", "FlowComposeBody"),
    ("#include <freeflow/deform/warp.cpp>", "WarpValuesBody"),
    ("#include <freeflow/deform/warp.cpp>", "WarpWithGradientBody"),
    ("#include <freeflow/deform/field_operations.cpp>", "ComposeBody"),
    ("#include <freeflow/similarity/mutual_information.cpp>", "ParzenForceBody"),
    (INSTANCE.format("similarity/lncc_body.h", COLUMNS.format("LnccForceAlongZ")), "LnccForceAlongZ"),
]


@unittest.skipUnless(platform.machine() == "x86_64" and shutil.which("g++") and EIGEN.is_dir(), "needs g++ on x86-64, and Eigen")
class VectorisedTest(unittest.TestCase):
    def instructions(self, source, body):
        """Of the body's functions, first those for AVX2, then those for AVX-512: how many instructions multiply and add as many floats as a
        register of theirs holds, and how many load by a mask."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "freeflow").symlink_to(TREE)
            done = subprocess.run(["g++", *FLAGS, f"-I{folder}", "-x", "c++", "-", "-S", "-o", "-"], input=source + "\n", capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        function, at_once, masked = "", [0, 0], [0, 0]
        for line in done.stdout.splitlines():
            if line.startswith("_Z"):
                function = line
            elif body in function:
                wide = "run_with_avx512" in function
                at_once[wide] += "fmadd" in line and ("zmm" if wide else "ymm") in line.split(",")[-1]
                masked[wide] += "vmaskmov" in line
        return at_once, masked

    def test_hot_loops(self):
        for source, body in LOOPS:
            with self.subTest(body):
                at_once, masked = self.instructions(source, body)
                self.assertGreater(min(at_once), 0)
                self.assertEqual(max(masked), 0, "masked loads of a null pointer are slow")


if __name__ == "__main__":
    unittest.main()
