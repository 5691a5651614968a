"""examples/cohort: tables are cut into the parts that jobs take, and the two ways to start jobs call the program with them."""
import os
import shutil
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples/cohort"
PROGRAM = '#!/bin/sh\necho "$@" >> calls.txt\nwhile [ $# -gt 0 ]; do [ "$1" = --summary ] && echo state > "$2"; shift; done\n'


class CohortExample(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name) / "cohort"
        shutil.copytree(EXAMPLE, self.folder)
        program = self.folder / "program"
        program.write_text(PROGRAM)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def tearDown(self):
        self.temporary.cleanup()

    def run_in_folder(self, *command, **environment):
        return subprocess.run(command, cwd=self.folder, env={**os.environ, **environment}, capture_output=True, text=True)

    def calls(self):
        return sorted((self.folder / "calls.txt").read_text().splitlines())

    def test_parts_hold_all_rows_once(self):
        rows = (self.folder / "pairs.tsv").read_text().splitlines()
        self.assertEqual(self.run_in_folder("./part", "pairs.tsv", "2").stdout, "2\n")
        found = []
        for number in range(2):
            name = self.run_in_folder("./part", "pairs.tsv", "2", str(number)).stdout.strip()
            lines = (self.folder / name).read_text().splitlines()
            self.assertEqual(lines[0], rows[0])
            found += lines[1:]
        self.assertEqual(found, rows[1:])
        self.assertNotEqual(self.run_in_folder("./part", "pairs.tsv", "2", "2").returncode, 0)
        self.assertNotEqual(self.run_in_folder("./part", "pairs.tsv", "0").returncode, 0)

    def test_parts_keep_the_bytes_of_names(self):
        (self.folder / "b.tsv").write_bytes(b"\xef\xbb\xbffixed\tmoving\toutput\r\n# M\xe4use\r\n\t\t\r\nM\xc3\xa4use 1\tM\xe4use\x85\ta_\r\n")
        done = self.run_in_folder("./part", "b.tsv", "2", "0", LC_ALL="C")
        self.assertEqual(done.stdout, "b.part-0000.tsv\n", done.stderr)
        self.assertEqual((self.folder / "b.part-0000.tsv").read_bytes(), b"fixed\tmoving\toutput\nM\xc3\xa4use 1\tM\xe4use\x85\ta_\n")

    def test_a_table_that_cannot_be_read_is_a_sentence(self):
        (self.folder / "wide.tsv").write_text("fixed\n", encoding="utf-16")
        for name, words in {"none.tsv": "No such file or directory: 'none.tsv'", "wide.tsv": "UTF-16"}.items():
            done = self.run_in_folder("./part", name, "2")
            self.assertEqual(done.returncode, 1)
            self.assertTrue(done.stderr.startswith("part: ") and words in done.stderr, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_a_slurm_job_takes_its_part(self):
        done = self.run_in_folder("./slurm_array.sh", "pairs.tsv", "2", "-s", "nmi", SLURM_ARRAY_TASK_ID="1", SLURM_CPUS_PER_TASK="3",
                                  SLURM_SUBMIT_DIR=str(self.folder), FLUIDREG="./program")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.calls(), ["--pairs pairs.part-0001.tsv --summary pairs.part-0001.summary.tsv --threads 3 --verbose -s nmi"])

    @unittest.skipUnless(shutil.which("snakemake"), "Snakemake is not here")
    def test_snakemake_takes_all_parts(self):
        command = ["snakemake", "--cores", "2", "--config", "size=2", "program=./program", "options=-s nmi"]
        dry = self.run_in_folder(*command, "-n")
        self.assertEqual(dry.returncode, 0, dry.stderr)
        done = self.run_in_folder(*command)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.calls(), [f"--pairs pairs.part-{n}.tsv --summary pairs.part-{n}.summary.tsv --threads 2 -s nmi"
                                        for n in ("0000", "0001")])

    @unittest.skipUnless(shutil.which("snakemake"), "Snakemake is not here")
    def test_snakemake_takes_names_with_blanks(self):
        self.folder = self.folder.rename(self.folder.with_name("the cohort"))
        (self.folder / "pairs.tsv").rename(self.folder / "all pairs.tsv")
        done = self.run_in_folder("snakemake", "--cores", "1", "--config", "table=all pairs.tsv", "program=./program")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.calls(), ["--pairs all pairs.part-0000.tsv --summary all pairs.part-0000.summary.tsv --threads 1"])


if __name__ == "__main__":
    unittest.main()
