"""Manual pages, bash completion and the lists of docs/programs are of the programs' options. Usage: manual_pages_test.py PROGRAMS"""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
PROGRAMS = Path(sys.argv.pop(1))


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.out = Path(cls.folder.name)
        subprocess.run([TREE / "scripts/manual_pages", PROGRAMS, cls.out], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_every_option_has_its_entry(self):
        for program in ("ffdreg", "fluidreg", "linreg", "nlmdenoise", "atlas"):
            text = subprocess.run([PROGRAMS / program, "--help", "all"], capture_output=True, text=True, check=True).stdout
            options = re.findall(r"^  (?:-\w \[ )?--([\w-]+)", text, flags=re.M)
            entries = re.findall(r"^\.TP\n.*?\\-\\-([\w\\-]+?)\\fR", (self.out / f"man1/{program}.1").read_text(), flags=re.M)
            self.assertGreater(len(options), 10)
            self.assertEqual([e.replace("\\", "") for e in entries], options, program)

    def test_regtools_commands_have_pages(self):
        listed = subprocess.run([PROGRAMS / "regtool", "--help"], capture_output=True, text=True, check=True).stdout
        for command in ("apply", "convert", "measure"):
            self.assertIn(f"  {command} ", listed)
            self.assertIn(f"regtool\\-{command} \\- ", (self.out / f"man1/regtool-{command}.1").read_text())

    def test_groff_reads_them_without_a_warning(self):
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        for page in sorted((self.out / "man1").iterdir()):
            done = subprocess.run(["groff", "-man", "-Tascii", "-ww", page], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)
            self.assertIn("SYNOPSIS", re.sub(r".\x08|\x1b\[[0-9;]*m", "", done.stdout))

    def complete(self, program, *words):
        script = f'source "{self.out}/completions/{program}"; COMP_WORDS=({" ".join(map(repr, (program, *words)))})\n' \
                 f'COMP_CWORD={len(words)}; _freeflow_{program}; echo "${{COMPREPLY[@]}}"'
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()

    def test_bash_completes_options_and_their_words(self):
        self.assertEqual(self.complete("ffdreg", "--lncc"), ["--lncc-radius"])
        self.assertEqual(self.complete("fluidreg", "--model", "f"), ["fluid", "flow"])
        self.assertIn("convert", self.complete("regtool", ""))
        self.assertEqual(self.complete("regtool", "apply", "--interpolation", "lab"), ["labels"])
        self.assertEqual(self.complete("regtool", "convert", "--to", "f"), ["fsl", "freesurfer"])
        self.assertEqual(self.complete("regtool", "apply", "--type", "uint1"), ["uint16"])
        self.assertEqual(self.complete("ffdreg", "--outputs", "wa"), ["warp", "warped"])
        self.assertEqual(self.complete("ffdreg", "--outputs", "all,inverse,war"), ["all,inverse,warp", "all,inverse,warped"])
        self.assertEqual(self.complete("ffdreg", "-f", ""), [])  # files are the shell's

    def test_the_documents_list_what_the_programs_print(self):
        done = subprocess.run([TREE / "scripts/option_lists", "--check", PROGRAMS], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_no_word_of_a_list_is_cut(self):
        calls = [("regtool", command, "--help") for command in ("apply", "convert", "info")]
        calls += [(program, "--help", "all") for program in ("ffdreg", "fluidreg", "linreg")]
        for program, *words in calls:
            text = subprocess.run([PROGRAMS / program, *words], capture_output=True, text=True, check=True).stdout
            self.assertEqual(re.findall(r"\w\|\w+\n +\w+\||_mode-\w*\n.*", text), [], (program, *words))


if __name__ == "__main__":
    unittest.main()
