"""Programs whose memory ends, at any size between what they need to start and what they need: exit status 1, one sentence, nothing
written, what stood there whole.   memory_test.py FOLDER_OF_PROGRAMS [unittest's arguments]"""
import resource
import sys
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
import volumes  # noqa: E402
from programs import QUICK, Folder  # noqa: E402

PROGRAMS = Path(sys.argv.pop(1)).resolve()
SIZES = 8
CALLS = [
    f"ffdreg -f big.nii -m big2.nii -o out_ -q {QUICK}",
    f"fluidreg -f big.nii -m big2.nii -o out_ -q {QUICK}",
    "linreg -f big.nii -m big2.nii -o out_ -q --levels 1 --iterations 1",
    "nlmdenoise -i labels.nii -o out_ -q",
    "regtool apply -i big.nii -r big2.nii -t a.txt -o out_.nii.gz",
]


class Memory(unittest.TestCase):
    def setUp(self):
        if b"__asan_init" in (PROGRAMS / "ffdreg").read_bytes():
            self.skipTest("sanitizers reserve more addresses than any limit leaves")
        self.folder = Folder(PROGRAMS)
        self.addCleanup(self.folder.made.cleanup)
        for name, shift in (("big.nii", 0), ("big2.nii", 2)):
            (self.folder.path / name).write_bytes(
                volumes.nifti(lambda x, y, z: float((x - 20 - shift) ** 2 + (y - 21) ** 2 + (z - 19) ** 2 < 150), (40, 40, 40)))

    def ending(self, words, size):
        # One thread: libgomp ends the program by itself where the thread that writes files finds no memory for a second.
        return self.folder.run(f"{words} --threads 1", limits=[(resource.RLIMIT_AS, size)], seconds=60)

    def least_to_end_well(self, words, start):
        low, high = start, start + (256 << 20)
        while high - low > 2 << 20:
            middle = (low + high) // 2
            low, high = (low, middle) if self.ending(words, middle)[0] == 0 else (middle, high)
        return high

    def test_the_stack_is_taken_at_the_start(self):
        # One that grows later ends the program by SIGSEGV where a limit leaves it nothing: within some 60 kB of sizes, which few tries meet.
        # All programs start by the same function; what they use of the stack ends below 400 kB.
        process = self.folder.start("linreg -f big.nii -m big2.nii -o out_ -q --threads 1")
        largest = 0
        while process.poll() is None:
            status = (Path("/proc") / str(process.pid) / "status").read_text()
            largest = max([largest, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmStk:"))])
            time.sleep(0.001)
        self.assertEqual(process.communicate()[1], b"")
        self.assertGreaterEqual(largest, 1024)

    def test_any_size(self):
        seen = []
        for words in CALLS:
            program = words.split()[0]
            start = self.folder.least_to_start(program)
            self.assertEqual(self.folder.run(f"{words} --threads 1")[0], 0)
            names = self.folder.names("out_")
            self.assertGreater(len(names), 0)
            for name in names:
                (self.folder.path / name).write_bytes(b"old")
            enough = self.least_to_end_well(words, start)
            for name in names:
                (self.folder.path / name).write_bytes(b"old")
            failures = 0
            for i in range(SIZES):
                size = start + (enough - start) * i // SIZES
                with self.subTest(words=words, mebibytes=size >> 20):
                    status, out, err = self.ending(words, size)
                    if status == 0:  # what it needs differs a little from run to run
                        for name in names:
                            (self.folder.path / name).write_bytes(b"old")
                        continue
                    failures += 1
                    self.assertEqual((status, out), (1, ""), err)
                    self.assertEqual(err.count("\n"), 1, err)
                    self.assertRegex(err, f"^{program}[a-z ]*: .*(memory|threads)")
                    self.assertEqual(self.folder.names("out_"), names)
                    self.assertEqual(set(self.folder.contents("out_").values()), {b"old"})
            self.assertGreater(failures, SIZES // 2)
            seen.append(f"{program} {start >> 20} to {enough >> 20} MiB")
        print("; ".join(seen))


if __name__ == "__main__":
    unittest.main()
