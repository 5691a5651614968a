"""examples/atlas: both workflows call the programs for groups and subjects of any name."""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples/atlas"
# Notes each call, a word a line and an empty one, and makes the file that -o names, or what is to be in the folder.
PROGRAM = """#!/bin/sh
printf '%s\\n' "$@" '' >> calls.txt
while [ $# -gt 0 ]; do
  [ "$1" = -o ] && out=$2
  shift
done
case "$out" in
  */) mkdir -p "$out"; touch "$out/template.nii.gz" "$out/report.html" ;;
  *) touch "$out" ;;
esac
"""


@unittest.skipUnless(shutil.which("snakemake"), "Snakemake is not here")
class AtlasExample(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        for name in ("atlas", "regtool"):
            program = self.folder / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(PROGRAM)
            program.chmod(0o755)

    def snakemake(self, name):
        shutil.copy(EXAMPLE / name, self.folder)
        done = subprocess.run(["snakemake", "-s", name, "--cores", "1"], cwd=self.folder, capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return [call.splitlines() for call in (self.folder / "calls.txt").read_text().strip().split("\n\n")]

    def test_groups_of_any_name(self):
        (self.folder / "groups").mkdir()
        (self.folder / "groups/old & young.tsv").write_text("image\na.nii\nb.nii\n")
        call, = self.snakemake("Snakefile")
        self.assertEqual(call[:4], ["-i", "groups/old & young.tsv", "-o", "templates/old & young/"])

    def test_subjects_and_time_points_of_any_name(self):
        (self.folder / "subjects").mkdir()
        for subject in ("A", "B+1 (late)"):
            (self.folder / f"subjects/{subject}.tsv").write_text("# of 2026\nimage\tname\nan image.nii\tt.0\nb.nii\tt 1\n\n")
        for image in ("an image.nii", "b.nii"):
            (self.folder / "subjects" / image).touch()
        calls = self.snakemake("two_levels.smk")
        self.assertEqual(len(calls), 3 + 3 * 4)
        self.assertIn(["-i", "subjects/B+1 (late).tsv", "-o", "subjects/B+1 (late)/"], [call[:4] for call in calls])
        point = "subjects/B+1 (late)/t 1"
        self.assertIn(["compose", "-r", "group/template.nii.gz", "-t", "group/B+1 (late)_1Warp.nii.gz", "-t",
                       "group/B+1 (late)_0GenericAffine.mat", "-t", f"{point}_1Warp.nii.gz", "-t", f"{point}_0GenericAffine.mat", "-o",
                       "group/B+1 (late)/t 1_whole.nii.gz"], calls)
        self.assertIn(["apply", "-i", "subjects/an image.nii", "-r", "group/template.nii.gz", "-t", "group/A/t.0_whole.nii.gz", "-o",
                       "group/A/t.0.nii.gz"], calls)


if __name__ == "__main__":
    unittest.main()
