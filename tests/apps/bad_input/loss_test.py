"""Outputs appear all or not at all, and what stood in their places survives a failure: full disks, names that are taken, signals,
kill -9, two runs at once.   loss_test.py FOLDER_OF_PROGRAMS [unittest's arguments]"""
import random
import resource
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
import volumes  # noqa: E402
from programs import QUICK, Folder  # noqa: E402

PROGRAMS = Path(sys.argv.pop(1)).resolve()
FFDREG = f"ffdreg -f f.nii -m m.nii -o out_ {QUICK}"
ENDLESS = ("ffdreg -f big.nii -m big2.nii -o out_ --linear none --start none --levels 1 --iterations 100000000 "
           "--total-variation 0 --log-jacobian 0 --spacing 1vox --optimizer gradient -v")
NONRIGID = ["0GenericAffine.mat", "1InverseWarp.nii.gz", "1Warp.nii.gz", "InverseWarped.nii.gz", "Warped.nii.gz", "report.json"]
# Every writer: what is written, and with which sizes it does not fit.
WRITERS = [
    ("regtool apply -i m.nii -r f.nii -t a.txt -o out_.nii.gz", (0, 100, 1000)),
    (FFDREG, (0, 1, 100, 3000, 8000, 15000)),
    (f"linreg -f f.nii -m m.nii -o out_ --levels 1 --iterations 1", (0, 150, 1000, 6000)),
    (f"fluidreg -f f.nii -m m.nii -o out_ {QUICK}", (0, 5000)),
    (f"ffdreg -f f.nii -m m.nii -o out-1 --bids T1w:MNI {QUICK}", (0, 9000, 30000)),
    (f"linreg -f f.nii -m m.nii -o out-1 --bids T1w:MNI --levels 1 --iterations 1", (0, 150)),
    ("nlmdenoise -i labels.nii -o out_", (0, 300, 1500)),
    *((f"regtool apply -i m.nii -r f.nii -t a.txt -o out_{extension}", (0, 100, 3000))
      for extension in (".nii", ".mha", ".nrrd")),
    *((f"regtool convert -t a.txt --to {to} --fixed f.nii --moving m.nii -o out_{extension}", (0, 40))
      for to, extension in (("itk", ".mat"), ("itk", ".tfm"), ("itk", ".h5"), ("fsl", ".mat"), ("niftyreg", ".txt"), ("afni", ".1D"),
                            ("freesurfer", ".lta"), ("mrtrix", ".txt"), ("elastix", ".txt"))),
    ("regtool convert -t u.nii -t a.txt --to itk -o out_.h5", (0, 2000, 20000)),
    ("regtool compose -r f.nii -t u.nii -o out_.nii.gz", (0, 100)),
    ("regtool jacobian -r f.nii -t u.nii -o out_.nrrd", (0, 3000)),
    ("regtool points -i points.csv -t a.txt --direction fixed-to-moving -o out_.csv", (0, 20)),
]


class Loss(unittest.TestCase):
    def setUp(self):
        self.folder = Folder(PROGRAMS)
        self.addCleanup(self.folder.made.cleanup)
        for name in ("big.nii", "big2.nii"):
            noise = random.Random(name)
            (self.folder.path / name).write_bytes(volumes.nifti(lambda x, y, z: noise.random(), (60, 60, 60)))

    def expect_one_line(self, ending, status, *words):
        self.assertEqual(ending[0], status, ending)
        lines = ending[2].splitlines()
        self.assertEqual(len(lines), 1, ending[2])
        for word in words:
            self.assertIn(word, lines[0])
        self.assertNotIn(".freeflow", lines[0])

    def old_set(self, names=NONRIGID):
        for name in names:
            (self.folder.path / ("out_" + name)).write_bytes(b"old " + name.encode())
        return self.folder.contents("out_")


class FullDisks(Loss):
    def test_the_limit_of_a_files_size(self):
        for words, sizes in WRITERS:
            self.old_set(["", ".nii", ".nii.gz", ".mha", ".nrrd", ".mat", ".h5", ".csv", *NONRIGID])
            before = self.folder.contents("out")
            for size in sizes:
                with self.subTest(words=words, size=size):
                    ending = self.folder.run(words + " -q", limits=[(resource.RLIMIT_FSIZE, size)])
                    self.expect_one_line(ending, 1, "cannot write 'out", "ulimit -f")
                    self.assertEqual(self.folder.contents("out"), before)
            with self.subTest(words=words):
                self.assertEqual(self.folder.run(words)[0], 0)

    def test_a_full_disk(self):
        for kilobytes in (4, 8, 16, 24, 32, 40, 48, 64, 80, 96):
            disk = self.folder.path / "disk"
            disk.mkdir(exist_ok=True)
            if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", disk], capture_output=True).returncode:
                self.skipTest("only root mounts a small disk")
            try:
                for words in (FFDREG.replace("-o out_", "-o disk/out_"), "regtool apply -i m.nii -r f.nii -t a.txt -o disk/out_.mha",
                              "regtool convert -t u.nii -t a.txt --to itk -o disk/out_.h5"):
                    with self.subTest(words=words, kilobytes=kilobytes):
                        before = sorted(disk.iterdir())
                        ending = self.folder.run(words)
                        if ending[0] == 0:
                            continue  # it fits
                        self.expect_one_line(ending, 1, "disk", "the disk is full")
                        self.assertEqual(sorted(disk.iterdir()), before)
            finally:
                subprocess.run(["umount", disk], check=True)


class TakenNames(Loss):
    def test_a_folder_in_the_way_keeps_the_old_set(self):
        before = self.old_set([n for n in NONRIGID if n != "report.json"])
        (self.folder.path / "out_report.json").mkdir()
        self.expect_one_line(self.folder.run(FFDREG), 2, "cannot write 'out_report.json'", "folder")
        self.assertEqual(self.folder.contents("out"), before)
        self.assertEqual(self.folder.names(), [])

    def test_of_several_images_none_replaces_the_old_ones(self):
        before = self.old_set(["1.nii"])
        (self.folder.path / "out_2.nii").mkdir()
        words = "regtool apply -i f.nii m.nii -r f.nii -t a.txt -o out_1.nii out_2.nii"
        self.expect_one_line(self.folder.run(words), 2, "cannot write 'out_2.nii'")
        self.assertEqual(self.folder.contents("out"), before)
        self.assertEqual(self.folder.names(), [])


class Signals(Loss):
    def start_endless(self):
        process = self.folder.start(ENDLESS, stdout=subprocess.DEVNULL)
        process.stderr.readline()  # it is at work
        while not self.folder.names():
            time.sleep(0.01)
        time.sleep(0.05)
        return process

    def test_every_signal_cleans_up(self):
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGXCPU"):
            with self.subTest(name):
                before = self.old_set()
                process = self.start_endless()
                process.send_signal(getattr(signal, name))
                last = process.communicate(timeout=10)[1].decode().splitlines()[-1]
                self.assertEqual(process.returncode, 128 + getattr(signal, name))
                self.assertIn("interrupted", last)
                self.assertTrue(name == "SIGINT" or name in last, last)
                self.assertEqual(self.folder.contents("out"), before)
                self.assertEqual(self.folder.names(), [])

    def test_the_limit_of_cpu_time(self):
        before = self.old_set()
        ending = self.folder.run(ENDLESS.replace(" -v", ""), limits=[(resource.RLIMIT_CPU, 1)], seconds=30)
        # Where soft and hard limit are one, the system kills at once, or a moment later.
        if ending[0] != -signal.SIGKILL:
            self.expect_one_line(ending, 128 + signal.SIGXCPU, "interrupted by SIGXCPU")
            self.assertEqual(self.folder.names(), [])
        self.assertEqual(self.folder.contents("out"), before)

    def test_nohup_is_respected(self):
        ending = subprocess.run(["nohup", *self.folder.command(FFDREG)], cwd=self.folder.path, capture_output=True)
        self.assertEqual(ending.returncode, 0)

    def test_a_reader_of_the_progress_that_leaves_ends_nothing(self):
        process = self.folder.start(FFDREG + " -v")
        process.stderr.close()
        self.assertEqual(process.wait(timeout=10), 0)
        process.stdout.close()
        self.assertEqual(self.folder.names("out_"), ["out_" + n for n in NONRIGID])

    def test_closed_streams(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed):
                command = " ".join(self.folder.command(FFDREG)) + " " + closed
                self.assertEqual(subprocess.run(command, shell=True, cwd=self.folder.path).returncode, 0)
                self.assertTrue((self.folder.path / "out_Warped.nii.gz").read_bytes().startswith(b"\x1f\x8b"))


class Kill(Loss):
    def test_what_a_killed_run_left_the_next_one_removes(self):
        for how in ("kill", "kill while another runs"):
            with self.subTest(how):
                process = Signals.start_endless(self)
                process.kill()
                process.communicate()
                self.assertEqual(len(self.folder.names()), 1)
                other = Signals.start_endless(self) if "another" in how else None
                self.assertEqual(self.folder.run(FFDREG)[0], 0)
                if other:
                    self.assertEqual(len(self.folder.names()), 1, "of the one that runs")
                    other.terminate()
                    other.communicate()
                self.assertEqual(self.folder.names(), [])

    def test_another_prefix_is_left_alone(self):
        process = Signals.start_endless(self)
        process.kill()
        process.communicate()
        self.assertEqual(self.folder.run(FFDREG.replace("out_", "other_"))[0], 0)
        self.assertEqual(len(self.folder.names()), 1)

    def test_at_random_moments(self):
        random.seed(17)
        started = time.monotonic()
        self.assertEqual(self.folder.run(FFDREG)[0], 0)
        whole = time.monotonic() - started
        for i in range(60):
            with self.subTest(i):
                process = self.folder.start(FFDREG, stderr=subprocess.DEVNULL)
                # Half of them near the end, where files are moved.
                time.sleep(whole * random.uniform(0 if i % 2 else 0.7, 1.1))
                process.kill()
                process.communicate()
                # No moment is without a complete file of every name.
                self.assertEqual(self.folder.names("out_")[-6:], ["out_" + n for n in NONRIGID])
                for name, content in self.folder.contents("out_").items():
                    self.assertTrue(content.startswith(b"\x1f\x8b") or not name.endswith(".gz"), name)
                    self.assertTrue(content.endswith(b"}\n") or not name.endswith(".json"), name)
        self.assertEqual(self.folder.run(FFDREG)[0], 0)
        self.assertEqual(self.folder.names(), [])


class TwoAtOnce(Loss):
    def test_one_prefix_gives_one_of_the_two_sets(self):
        plain, cubic = FFDREG, FFDREG + " --interpolation cubic"
        sets = []
        for words in (plain, cubic):
            self.assertEqual(self.folder.run(words)[0], 0)
            sets.append(self.images())
        self.assertNotEqual(*sets)
        for _ in range(12):
            both = [self.folder.start(words, stderr=subprocess.DEVNULL) for words in (plain, cubic)]
            for process in both:
                process.communicate(timeout=20)
                self.assertEqual(process.returncode, 0)
            self.assertIn(self.images(), sets)
            self.assertEqual(self.folder.names(), [])

    def images(self):
        return {name: content for name, content in self.folder.contents("out_").items() if not name.endswith(".json")}


if __name__ == "__main__":
    unittest.main()
