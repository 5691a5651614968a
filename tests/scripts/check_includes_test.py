"""Plants offences in a tiny tree and sees scripts/check_includes find each. python3 -m unittest discover -s tests/scripts -p '*_test.py'"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).resolve().parents[2] / "scripts" / "check_includes"

TREE = {
    "core/CMakeLists.txt": "freeflow_room(core\n  HEADERS views.h  # (plain)\n          for_each_voxel.cuh\n  SOURCES views.cpp)\n",
    "core/views.h": "#pragma once\n#include <vector>\n",
    "core/views.cpp": "#include <freeflow/core/views.h>\n",
    "core/scratch.h": "// Private\n#pragma once\n",
    "core/for_each_voxel.cuh": "#pragma once\n#include <cuda_runtime_api.h>\n#include <freeflow/core/views.h>\n",
    "deform/CMakeLists.txt": "freeflow_room(deform HEADERS field.h warp.h SOURCES warp.cpp CUDA warp.cu LINK FreeFlow::core)\n",
    "deform/warp.h": "#pragma once\n#include <freeflow/core/views.h>\n",
    "deform/warp_body.h": "#pragma once\n#include <freeflow/deform/warp.h>\n",
    "deform/warp.cpp": "#include <freeflow/deform/warp.h>\n#include <freeflow/deform/warp_body.h>\n",
    "deform/warp.cu": "#include <freeflow/deform/warp_body.h>\n#include <freeflow/core/for_each_voxel.cuh>\n",
    "deform/field.h": "#pragma once\n",
    "transform/transform.h": "#pragma once\n#include <freeflow/deform/field.h>\n",
    "evaluation/landmark_error.h": "#pragma once\n#include <freeflow/transform/transform.h>\n",
    "similarity/count/count.h": "#pragma once\n#include <freeflow/deform/warp.h>\n",
    "similarity/count/schemes.h": "#pragma once\n#include <freeflow/similarity/count/count.h>\n",
    "similarity/count/count.cpp": "#include <freeflow/similarity/count/schemes.h>\n",
    "registration/CMakeLists.txt": "freeflow_room(registration HEADERS masks.h register_images.h linear/linear.h SOURCES a.cpp)\n",
    "registration/masks.h": "#pragma once\n",
    "registration/registration_result.h": "#pragma once\n#include <freeflow/registration/linear/linear_result.h>\n",
    "registration/register_images.h": "#pragma once\n#include <freeflow/registration/linear/linear.h>\n",
    "registration/levels/level_loop.h": "#pragma once\n#include <freeflow/registration/registration_result.h>\n",
    "registration/linear/linear.h": "#pragma once\n#include <freeflow/registration/masks.h>\n",
    "registration/linear/linear_result.h": "#pragma once\n",
    "registration/linear/linear.cpp": "#include <freeflow/registration/linear/linear.h>\n#include <freeflow/registration/levels/level_loop.h>\n",
    "registration/flow/flow.h": "#pragma once\n",
    "io/image_file.cpp": "#include <itkImage.h>\n#include <zlib.h>\n",
    "apps/options.h": "#pragma once\n#include <boost/program_options.hpp>\n",
    "apps/ffdreg.cpp": "#include <apps/options.h>\n#include <freeflow/registration/register_images.h>\n",
}


class CheckIncludes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for path, text in TREE.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)

    def run_check(self):
        run = subprocess.run([sys.executable, CHECK, self.root], capture_output=True, text=True)
        self.assertEqual(run.stderr, "")
        return run.returncode, run.stdout.splitlines()

    def add(self, path, include):
        with open(self.root / path, "a") as file:
            file.write(f"#include {include}\n")
        return len((self.root / path).read_text().splitlines())

    def expect(self, path, line, *words):
        """Exactly one offence, there, with these words."""
        code, found = self.run_check()
        self.assertEqual((code, len(found)), (1, 1), found)
        self.assertTrue(found[0].startswith(f"{path}:{line}: "), found[0])
        for word in words:
            self.assertIn(word, found[0])

    def plant(self, path, include, *words):
        self.expect(path, self.add(path, include), *words)

    def test_a_good_tree_passes(self):
        self.assertEqual(self.run_check(), (0, []))

    def test_an_upward_include(self):
        self.plant("core/views.cpp", "<freeflow/deform/warp.h>", "core/ includes deform/warp.h")

    def test_rooms_side_by_side(self):
        (self.root / "denoise").mkdir()
        (self.root / "denoise/mesh.cpp").touch()
        self.plant("denoise/mesh.cpp", "<freeflow/deform/warp.h>", "may know core")

    def test_scores_do_not_know_the_programs(self):
        self.plant("evaluation/landmark_error.h", "<freeflow/registration/masks.h>", "may know core, deform, transform")

    def test_a_circle(self):
        self.add("deform/warp.h", "<freeflow/deform/field.h>")
        line = self.add("deform/field.h", "<freeflow/deform/warp.h>")
        code, found = self.run_check()
        self.assertEqual((code, len(found)), (1, 1), found)
        self.assertIn("deform/field -> deform/warp", found[0])
        self.assertIn(f"deform/field.h:{line}", found[0])

    def test_a_circle_that_only_the_sources_close(self):
        self.add("deform/field.h", "<freeflow/deform/warp.h>")
        self.add("deform/warp.cpp", "<freeflow/deform/field.h>")
        self.assertEqual(len(self.run_check()[1]), 1)

    def test_a_circle_over_what_sources_share(self):
        """count.cpp may include schemes.h, which is built on count.h; count.h may not."""
        self.add("similarity/count/count.h", "<freeflow/similarity/count/schemes.h>")
        code, found = self.run_check()
        self.assertEqual((code, len(found)), (1, 1), found)
        self.assertIn("closes a circle", found[0])

    def test_itk_in_deform(self):
        self.plant("deform/warp.cpp", "<itkImage.h>", "is ITK, which only io/")

    def test_boost_in_io(self):
        self.plant("io/image_file.cpp", "<boost/optional.hpp>", "is Boost, which only apps/")

    def test_quotes(self):
        self.plant("deform/warp.cpp", '"warp_body.h"', "in quotes")

    def test_a_second_spelling(self):
        self.plant("deform/warp.cpp", "<core/views.h>", "lacks freeflow/")

    def test_what_does_not_exist(self):
        self.plant("deform/warp.cpp", "<freeflow/surface/mesh.h>", "does not exist")

    def test_a_private_header_in_an_installed_one(self):
        self.plant("deform/warp.h", "<freeflow/core/scratch.h>", "is not installed")

    def test_cuda_in_an_installed_header(self):
        self.plant("core/views.h", "<cuda_runtime_api.h>", "only *.cuh may")

    def test_a_cuh_in_an_installed_header(self):
        self.plant("deform/warp.h", "<freeflow/core/for_each_voxel.cuh>", "only *.cuh may")

    def test_siblings(self):
        self.plant("registration/flow/flow.h", "<freeflow/registration/linear/linear.h>", "sibling")

    def test_levels_do_not_know_what_stands_on_them(self):
        self.plant("registration/levels/level_loop.h", "<freeflow/registration/flow/flow.h>", "floor above")

    def test_nothing_stands_on_register_images(self):
        self.plant("registration/flow/flow.h", "<freeflow/registration/register_images.h>", "floor above")

    def test_a_comment_is_no_include(self):
        for text in ("// #include <itkImage.h>\n", "/*\n#include <itkImage.h>\n*/\n"):
            with open(self.root / "deform/warp.cpp", "a") as file:
                file.write(text)
        self.assertEqual(self.run_check(), (0, []))


if __name__ == "__main__":
    unittest.main()
