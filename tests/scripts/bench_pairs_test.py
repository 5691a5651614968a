"""scripts/bench_pairs with programs that are a few lines of shell: which rows it replaces and what it keeps of them."""
import importlib.machinery
import importlib.util
import json
import sys
import tempfile
import unittest
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from unittest import mock

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "bench_pairs"
loader = importlib.machinery.SourceFileLoader("bench_pairs", str(SCRIPT))
bench_pairs = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_pairs", loader))
loader.exec_module(bench_pairs)

PAIR = "mouse brains, 0.15 mm, wt1 <- wt2"
OLD = {"pair": PAIR, "program": "ffdreg", "options": "", "what": "wall with files", "goal": "<= 9", "value": 99, "unit": "s",
       "machine": "a desk", "commit": "old", "remark": "quoted", "tables": ["ffd"]}
LAST = {"pair": "another", "program": "ffdreg", "options": "", "what": "folded voxels", "goal": None, "value": 0, "unit": "", "machine": "a desk",
        "commit": "old", "tables": ["ffd"]}
SECONDS = {"reading": 9, "linear": 0.25, "start": 0.125, "nonrigid": 1.5, "writing": 9}


class BenchPairs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "bin").mkdir()
        self.results = self.root / "pairs.json"
        bench_pairs.write(self.results, {"note": "ä", "rows": [OLD, OLD | {"machine": "another"}, LAST]})

    def program(self, name, report):
        """Writes a report where -o says and its arguments beside itself."""
        path = self.root / "bin" / name
        path.write_text(f"""#!/bin/sh
echo "$@" >> {path}.calls
while [ "$1" != -o ]; do shift; done
echo '{json.dumps(report)}' > "$2report.json"
""")
        path.chmod(0o755)
        return path.with_suffix(".calls")

    def run_script(self, *words):
        argv = ["bench_pairs", str(self.root), "data", "--machine", "a desk", "--commit", "new", "--out", str(self.results), *words]
        with mock.patch.object(sys, "argv", argv), redirect_stderr(StringIO()):
            bench_pairs.main()
        return json.loads(self.results.read_text())

    def test_replaces_the_rows_of_its_machine_and_keeps_goals_and_tables(self):
        calls = self.program("ffdreg", {"seconds": SECONDS})
        self.program("fluidreg", {"seconds": SECONDS})
        results = self.run_script("--only", "mouse", "--runs", "2", "--device", "cpu")
        self.assertEqual(results["note"], "ä")
        rows = results["rows"]
        wall = rows[0]
        self.assertEqual((wall["goal"], wall["tables"], wall["commit"], wall["remark"]), ("<= 9", ["ffd"], "new", "2 runs"))
        self.assertLess(wall["value"], 99)
        self.assertGreaterEqual(wall["most"], wall["value"])
        self.assertEqual(rows[1], OLD | {"machine": "another"})
        self.assertEqual(rows[-1], LAST)
        registration = [row for row in rows if row["what"] == "registration" and row["program"] == "ffdreg"]
        self.assertEqual([(row["value"], row["tables"]) for row in registration], [(1.88, [])])
        self.assertEqual(registration[0]["remark"], "2 runs; of the least 0.25 linear + 0.125 start + 1.5 nonrigid")
        self.assertEqual(len(rows), 6)
        first = calls.read_text().splitlines()
        self.assertEqual(len(first), 2)
        self.assertIn("-f data/mouse_fvb/wt1_t2.nii.gz -m data/mouse_fvb/wt2_t2.nii.gz", first[0])
        self.assertTrue(first[0].endswith("--device cpu"))

    def test_a_program_that_fails_changes_nothing(self):
        for name in ("ffdreg", "fluidreg"):
            path = self.root / "bin" / name
            path.write_text("#!/bin/sh\necho no memory >&2\nexit 1\n")
            path.chmod(0o755)
        before = self.results.read_text()
        with self.assertRaises(SystemExit) as ended:
            self.run_script("--only", "mouse")
        self.assertIn("no memory", str(ended.exception))
        self.assertEqual(self.results.read_text(), before)


if __name__ == "__main__":
    unittest.main()
