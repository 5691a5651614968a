#!/usr/bin/env python3
"""The pages agree with benchmarks/results, a changed number is noticed, and the kernels' hash follows the kernels."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def run(script, *arguments):
    return subprocess.run([sys.executable, os.path.join(TREE, "scripts", script), *arguments], capture_output=True, text=True)


def change(path, old, new):
    with open(path) as file:
        text = file.read()
    assert old in text, f"{path} has no {old}"
    with open(path, "w") as file:
        file.write(text.replace(old, new, 1))


class Copy(unittest.TestCase):
    """A test on a copy of what the scripts read."""

    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        shutil.copytree(os.path.join(TREE, "docs"), os.path.join(self.root, "docs"))
        shutil.copytree(os.path.join(TREE, "benchmarks", "results"), os.path.join(self.root, "benchmarks", "results"))
        shutil.copytree(os.path.join(TREE, "experiments", "atlas", "results"), os.path.join(self.root, "experiments", "atlas", "results"))
        for page in ("README.md", "experiments/README.md"):
            shutil.copy(os.path.join(TREE, page), os.path.join(self.root, page))

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def check(self):
        return run("performance_page", "--check", "--root", self.root)


class PerformancePage(Copy):
    def test_agrees_with_the_data(self):
        done = run("performance_page", "--check")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_number_changed_in_a_page_is_noticed(self):
        with open(self.path("docs", "performance.md")) as file:
            row = next(line for line in file if line.startswith("| warp with gradient"))
        change(self.path("docs", "performance.md"), row, row.replace(" us ", "1 us ", 1))
        done = self.check()
        self.assertEqual(done.returncode, 1)
        self.assertIn("performance.md", done.stdout)

    def test_a_number_changed_in_the_data_is_noticed_and_drawn(self):
        path = self.path("benchmarks", "results", "pairs.json")
        with open(path) as file:
            data = json.load(file)
        row = next(r for r in data["rows"] if "performance" in r["tables"] and isinstance(r["value"], float))
        row["value"] += 0.5
        with open(path, "w") as file:
            json.dump(data, file)
        self.assertEqual(self.check().returncode, 1)
        self.assertEqual(run("performance_page", "--root", self.root).returncode, 0)
        self.assertEqual(self.check().returncode, 0)

    def test_a_figure_that_a_file_lacks_is_named(self):
        change(self.path("docs", "atlas.md"), " : recovery/", " : discovery/")
        done = self.check()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("discovery", done.stderr)

    def test_a_changed_plot_is_noticed(self):
        change(self.path("docs", "img", "peers.svg"), "fluidreg", "fluidrag")
        done = self.check()
        self.assertEqual(done.returncode, 1)
        self.assertIn("peers.svg", done.stdout)

    def test_a_row_that_the_results_lack_is_named(self):
        change(self.path("docs", "performance.md"), "\nwarp_with_gradient/", "\nwarp_of_nothing/")
        done = self.check()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("warp_of_nothing", done.stderr)

    def test_is_a_page_that_a_reader_finishes(self):
        with open(os.path.join(TREE, "docs", "performance.md")) as file:
            lines = file.read().split("\n")
        self.assertLessEqual(len(lines), 151)
        self.assertEqual([line for line in lines if len(line) > 120 and not line.startswith("|")], [])


class KernelHash(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        for name in ("deform/warp.cu", "deform/warp_body.h", "deform/warp.h", "core/reduce.cuh", "build/made.cu"):
            os.makedirs(os.path.dirname(os.path.join(self.root, name)), exist_ok=True)
            with open(os.path.join(self.root, name), "w") as file:
                file.write(name)

    def hash(self):
        done = run("kernel_hash", self.root)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_changes_with_a_kernel_and_with_nothing_else(self):
        before = self.hash()
        for name in ("deform/warp.h", "build/made.cu"):
            change(os.path.join(self.root, name), name, "other")
        self.assertEqual(self.hash(), before)
        seen = {before}
        for name in ("deform/warp.cu", "deform/warp_body.h", "core/reduce.cuh"):
            change(os.path.join(self.root, name), name, "other")
            seen.add(self.hash())
        os.rename(os.path.join(self.root, "deform/warp.cu"), os.path.join(self.root, "deform/moved.cu"))
        seen.add(self.hash())
        self.assertEqual(len(seen), 5)


if __name__ == "__main__":
    unittest.main()
