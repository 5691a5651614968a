"""scripts/gpu_check on packages that are a few lines of shell: what it counts, records and says."""
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "gpu_check"
loader = importlib.machinery.SourceFileLoader("gpu_check", str(SCRIPT))
gpu_check = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
loader.exec_module(gpu_check)

MACHINE = {"device": "NVIDIA Test", "driver": "1", "date": "2026-01-02"}


def results(*tests):
    """As GoogleTest writes them: (name, "passed", "failed" or "skipped")."""
    return {"testsuites": [{"name": "Suite", "testsuite": [
        {"name": name, "status": "RUN", "result": "SKIPPED" if how == "skipped" else "COMPLETED"}
        | ({"failures": [{"failure": "no"}]} if how == "failed" else {}) for name, how in tests]}]}


class GpuCheck(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        (self.root / "bin").mkdir()
        self.record = self.root / "record.json"

    def program(self, name, tests, status=0, body=""):
        """A program that writes these results where it is told to, as GoogleTest's do."""
        path = self.root / "bin" / f"test_{name}"
        path.write_text(f"""#!/bin/sh
{body}
for word in "$@"; do case $word in --gtest_output=json:*) cat > "${{word#--gtest_output=json:}}" <<'END'
{json.dumps(results(*tests))}
END
esac; done
exit {status}
""")
        path.chmod(0o755)

    def run_check(self, *words, kernels={"a.cu": "1"}):
        arguments = ["gpu_check", str(self.root), "--record", str(self.record), "--commit", "abc", "--seconds", "5", *words]
        with mock.patch.object(sys, "argv", arguments), mock.patch.object(gpu_check, "describe_machine", lambda: dict(MACHINE)), \
                mock.patch.object(gpu_check, "kernel_files", lambda root: kernels), redirect_stdout(io.StringIO()) as said:
            return gpu_check.main(), said.getvalue()

    def test_counts_every_suite_and_says_what_the_kernels_passed(self):
        self.program("core", [("a", "passed"), ("b", "passed"), ("c", "skipped")])
        self.program("deform", [("d", "passed")])
        status, _ = self.run_check("--part", "suites")
        self.assertEqual(status, 0)
        record = json.loads(self.record.read_text())
        self.assertEqual({k: record["suites"]["core"][k] for k in ("passed", "failed", "skipped")}, {"passed": 2, "failed": 0, "skipped": 1})
        status, said = self.run_check("--status")
        self.assertEqual((status, said), (0, "GPU: these kernels passed on NVIDIA Test, 2026-01-02, commit abc: 3 tests\n"))

    def test_names_the_kernels_that_have_changed_since(self):
        self.program("core", [("a", "passed")])
        self.run_check("--part", "suites", kernels={"a.cu": "1", "b.cu": "1", "gone.cu": "1"})
        status, said = self.run_check("--status", kernels={"a.cu": "1", "b.cu": "2", "new.cu": "1"})
        self.assertEqual(status, 1)
        self.assertIn("3 kernel files are not those that passed", said)
        self.assertTrue(said.endswith("b.cu, gone.cu, new.cu\n"), said)

    def test_a_failed_test_a_crash_and_a_cut_are_failures(self):
        for tests, exit_status, body, named in [([("a", "failed")], 1, "", "Suite.a"), ([("a", "passed")], 139, "", "test_core: 139"),
                                                ([("a", "passed")], 0, "exec sleep 30", "test_core: not done after 1 s")]:
            with self.subTest(named):
                self.program("core", tests, exit_status, body)
                status, _ = self.run_check("--part", "suites", "--seconds", "1")
                self.assertEqual(status, 1)
                self.assertEqual(json.loads(self.record.read_text())["failures"]["suites"], [f"core: {named}"])
                self.assertIn("FAILED", self.run_check("--status")[1])

    def test_a_suite_run_again_takes_the_place_of_its_record(self):
        self.program("core", [("a", "failed")], 1)
        self.program("deform", [("b", "failed")], 1)
        self.run_check("--part", "suites")
        self.program("core", [("a", "passed")])
        self.assertEqual(self.run_check("--part", "suites", "--suite", "core")[0], 1)
        record = json.loads(self.record.read_text())
        self.assertEqual(record["failures"]["suites"], ["deform: Suite.b"])
        self.assertEqual((record["suites"]["core"]["failed"], record["suites"]["deform"]["failed"]), (0, 1))
        self.program("deform", [("b", "passed")])
        self.assertEqual(self.run_check("--part", "suites", "--suite", "deform")[0], 0)

    def test_a_part_completes_the_record_of_the_same_kernels_and_begins_that_of_others(self):
        self.program("core", [("a", "passed")])
        sanitizer = self.root / "compute-sanitizer"
        sanitizer.write_text('#!/bin/sh\nwhile [ "${1#--}" != "$1" ]; do shift 2; done\n"$@"\necho "========= ERROR SUMMARY: ${ERRORS:-0} errors"\n')
        sanitizer.chmod(0o755)
        with mock.patch.dict(os.environ, {"PATH": f"{self.root}:{os.environ['PATH']}"}):
            self.run_check("--part", "suites")
            self.assertEqual(self.run_check("--part", "memcheck")[0], 0)
            self.assertIn("1 tests, memcheck of 1", self.run_check("--status")[1])
            self.program("deform", [("b", "passed")])
            self.run_check("--part", "memcheck", "--suite", "deform")
            self.assertIn("1 tests, memcheck of 2", self.run_check("--status")[1])
            self.program("deform", [])
            self.assertEqual(self.run_check("--part", "memcheck", "--suite", "deform")[0], 1)
            self.assertIn("deform: memcheck: * ran no test", self.run_check("--status")[1])
            self.program("deform", [("b", "passed")])
            with mock.patch.dict(os.environ, {"ERRORS": "3"}):
                self.assertEqual(self.run_check("--part", "memcheck")[0], 1)
            self.assertIn("core: memcheck: 3 errors", self.run_check("--status")[1])
            self.run_check("--part", "memcheck", kernels={"a.cu": "2"})
        self.assertEqual(json.loads(self.record.read_text())["suites"], {})


if __name__ == "__main__":
    unittest.main()
