"""Every case of table.py through the programs: its exit status, one sentence on stderr with its words and no other line, no output, no
hidden folder, no signal, within seconds.   table_test.py FOLDER_OF_PROGRAMS [unittest's arguments]"""
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
import volumes  # noqa: E402
from programs import FILES, QUICK, SECONDS, Folder  # noqa: E402
from table import TABLE  # noqa: E402

PROGRAMS = Path(sys.argv.pop(1)).resolve()
WORKERS = os.cpu_count() or 1


def make(path, content):
    if callable(content):
        content(path)
    else:
        path.write_bytes(content)


def remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def ending_of(folder, call, settings):
    more = {key: value for key, value in settings.items() if key not in ("status", "sanitized")}
    if more.pop("memory", None):
        more["limits"] = [(resource.RLIMIT_AS, folder.least_to_start(call.split()[0]))]
    if "stdout" not in more:
        return folder.run(call, **more)
    with open(more.pop("stdout"), "wb") as stdout:
        return folder.run(call, stdout=stdout, **more)


def faults(case, folder):
    """What is wrong with how a case ends, in words."""
    files, call, words, *rest = case
    settings = rest[0] if rest and isinstance(rest[0], dict) else {"status": rest[0] if rest else 2}
    for name, content in files.items():
        make(folder.path / name, content)
    call = call.replace("{}", next(iter(files), ""))
    before = {p.name for p in folder.path.iterdir()}
    status, out, err = ending_of(folder, call, settings)
    after = {p.name for p in folder.path.iterdir()}
    for name in files.keys() | (after - before):
        remove(folder.path / name)
    found = []
    if status != settings["status"]:
        found.append(f"status {status}, not {settings['status']}")
    if err.count("\n") != 1 or not err.endswith("\n"):
        found.append("not one line")
    if not err.startswith(call.split()[0] + ": "):
        found.append("the line does not begin with the program's name")
    found += [f"no word of {words!r}"] if not any(word in err for word in words.split("|")[1:] or [words]) else []
    if "|" in words and words.split("|")[0] not in err and "nowhere" not in err:  # a header's data file is named instead
        found.append(f"{words.split('|')[0]!r} is not named")
    if any(trace in err for trace in (".freeflow", "Options::", "std::")):
        found.append("it speaks of our insides")
    if after != before:
        found.append(f"left behind: {sorted(after ^ before)}")
    return [f"{call}\n    {fault}\n    {err.strip()}" for fault in found]


def nobody_can_run_it(folder):
    """As root we can try what only others are kept from; where they can read the programs."""
    if os.getuid() != 0:
        return False
    os.chown(folder.path, 65534, 65534)
    try:
        return subprocess.run(folder.command("regtool --version"), user=65534, cwd=folder.path, capture_output=True).returncode == 0
    except OSError:
        return False


class Table(unittest.TestCase):
    def test_every_case(self):
        self.assertGreaterEqual(len(TABLE), 300)

        def work(worker):
            folder = Folder(PROGRAMS)
            sanitized = b"__asan_init" in (PROGRAMS / "ffdreg").read_bytes()
            found = []
            try:
                for case in TABLE[worker::WORKERS]:
                    settings = case[3] if len(case) > 3 and isinstance(case[3], dict) else {}
                    if sanitized and not settings.get("sanitized", True) or "user" in settings and not nobody_can_run_it(folder):
                        print("skipped:", case[1], settings)
                        continue
                    found += faults(case, folder)
            finally:
                folder.made.cleanup()
            return found
        with ThreadPoolExecutor(WORKERS) as pool:
            found = [fault for part in pool.map(work, range(WORKERS)) for fault in part]
        print(len(TABLE), "cases")
        if found:
            self.fail(f"{len(found)} faults\n" + "\n".join(found))


class GoodInput(unittest.TestCase):
    """What the table spoils is good as it stands: it is the fault that is refused."""

    def test_the_files_and_calls_are_good_unspoilt(self):
        folder = Folder(PROGRAMS)
        self.addCleanup(folder.made.cleanup)
        for name, data in (("g.nii.gz", volumes.nifti(gz=True)), ("g.mha", volumes.metaimage()), ("g.nrrd", volumes.nrrd()), ("u.nii", FILES["u.nii"]())):
            (folder.path / name).write_bytes(data)
        for call in (*(f"ffdreg -f {name} -m m.nii -o out_ {QUICK}" for name in ("f.nii", "g.nii.gz", "g.mha", "g.nrrd")),
                     f"ffdreg -f f.nii -m m.nii -o out_ {QUICK} --init a.txt", f"ffdreg -f f.nii -m m.nii -o out_ {QUICK} --init u.nii",
                     f"fluidreg -f f.nii -m m.nii -o out_ {QUICK}", "linreg -f f.nii -m m.nii -o other_", "nlmdenoise -i labels.nii -o out_",
                     "regtool apply -i m.nii -r f.nii -o out.nii -t a.txt -t u.nii", "regtool info f.nii",
                     "regtool points -i points.csv -t a.txt -o out.csv --direction fixed-to-moving"):
            with self.subTest(call):
                status, _, err = folder.run(call)
                self.assertEqual(status, 0, err)


class Said(unittest.TestCase):
    """What is taken, with a warning."""

    def expect(self, before, call, *words, environment=None):
        folder = Folder(PROGRAMS)
        self.addCleanup(folder.made.cleanup)
        for step in before:
            if callable(step):
                step(folder.path)
            else:
                self.assertEqual(folder.run(step)[0], 0)
        status, _, err = folder.run(call, environment=environment or {})
        self.assertEqual(status, 0, err)
        for word in words:
            self.assertIn(word, err)

    def test_warnings(self):
        ffdreg = f"ffdreg -f f.nii -m m.nii -o out_ {QUICK}"
        self.expect([ffdreg], "linreg -f f.nii -m m.nii -o out_ --levels 1", "of an earlier run", "'out_1Warp.nii.gz', 'out_1InverseWarp.nii.gz'")
        self.expect([lambda path: (path / "outdir").mkdir()], ffdreg.replace("out_", "outdir"), "'outdir' is a folder", "-o outdir/")
        self.expect([lambda path: (path / "outdir").mkdir()], "nlmdenoise -i labels.nii -o outdir", "'outdir' is a folder")

    def test_images_in_micrometres(self):
        def write(path):
            origin = [-1000 * (n - 1) for n in volumes.SIZE]
            sides = {f"at_{place}": ("f", 2000) for place in (80, 84, 88, 280, 300, 320)}  # pixdim, the sform's diagonal
            (path / "um.nii").write_bytes(volumes.nifti(origin=origin, at_123=("B", 3), **sides))
        self.expect([write], "linreg -f f.nii -m um.nii -o out_", "its lengths are in micrometres and were converted to millimetres")

    def test_a_type_of_voxels_that_nobody_knows_is_described(self):
        folder = Folder(PROGRAMS)
        self.addCleanup(folder.made.cleanup)
        (folder.path / "odd.nii").write_bytes(volumes.nifti(at_70=("h", 77)))
        status, out, err = folder.run("regtool info odd.nii")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("data type 77 is not supported", out)

    def test_mirrored_data(self):
        def mirror(path):
            value = lambda x, y, z: 100.0 * (2 < x < 9) * (1 < y < 11) * (3 < z < 8) + 80 * (x > 6) * (y > 5) * (z > 6)  # noqa: E731
            (path / "a.nii").write_bytes(volumes.nifti(value))
            (path / "b.nii").write_bytes(volumes.nifti(lambda x, y, z: value(11 - x, 11 - y, z)))
        self.expect([mirror], "linreg -f a.nii -m b.nii -o out_ --dof 6", "turned by 1", "mirrored")

    def test_threads_that_no_machine_has(self):
        for number in ("99999999999", "99999", "1000000"):
            self.expect([], f"ffdreg -f f.nii -m m.nii -o out_ {QUICK}", environment={"OMP_NUM_THREADS": number})

    def test_surroundings_that_change_no_bit(self):
        locales = Path(tempfile.mkdtemp(prefix="freeflow_"))
        self.addCleanup(shutil.rmtree, locales)
        made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", locales / "de_DE.UTF-8"], capture_output=True).returncode
        commas = {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8", **({"LOCPATH": str(locales)} if made == 0 else {})}
        folder = Folder(PROGRAMS)
        self.addCleanup(folder.made.cleanup)
        calls = [f"ffdreg -f f.nii -m m.nii -o out_ --spacing 2.5mm {QUICK}", f"fluidreg -f f.nii -m m.nii -o out_ --step 0.25 {QUICK}",
                 "linreg -f f.nii -m m.nii -o out_ --levels 1 --iterations 2", "nlmdenoise -i labels.nii -o out_ --band 2.5",
                 "regtool points -i points.csv -t a.txt --direction fixed-to-moving -o out_.csv",
                 "regtool convert -t a.txt --to niftyreg --fixed f.nii --moving m.nii -o out_.txt",
                 "regtool apply -i m.nii -r f.nii -t a.txt -o out_.nrrd"]
        for call in calls:
            expected = None
            for environment in ({"OMP_NUM_THREADS": "1"}, {"OMP_NUM_THREADS": "0"}, {"OMP_NUM_THREADS": "64"}, commas):
                with self.subTest(call=call, environment=environment):
                    status, _, err = folder.run(call, environment=environment, seconds=60)
                    self.assertEqual(status, 0, err)
                    found = folder.contents("out_")
                    for name in [n for n in found if n.endswith("report.json")]:  # holds times
                        report = json.loads(found[name])
                        found[name] = [report["levels"][-1].get("final_cost"), report["options"]] if "levels" in report else report["options"]
                        for key in ("threads",):
                            (found[name][1] if isinstance(found[name], list) else found[name]).pop(key, None)
                    expected = expected or found
                    self.assertEqual(found, expected)
                    for name in found:
                        (folder.path / name).unlink()


class DamagedTransforms(unittest.TestCase):
    """libhdf5 crashes on some of these, and follows others for ever. FREEFLOW_MUTANTS: how many."""

    def test_mutants_of_h5(self):
        count = int(os.environ.get("FREEFLOW_MUTANTS", "120"))
        folder = Folder(PROGRAMS)
        self.addCleanup(folder.made.cleanup)
        self.assertEqual(folder.run("regtool convert -t u.nii -t a.txt --to itk -o whole.h5")[0], 0)
        whole = (folder.path / "whole.h5").read_bytes()

        def end(seed):
            random_ = random.Random(seed)
            data = bytearray(whole)
            for _ in range(random_.choice((1, 1, 2, 4, 16))):
                data[random_.randrange(min(len(data), random_.choice((200, 2000, len(data)))))] = random_.randrange(256)
            name = f"{seed}.h5"
            (folder.path / name).write_bytes(data)
            return seed, folder.run(f"regtool info {name}", seconds=3 * SECONDS)
        with ThreadPoolExecutor(WORKERS) as pool:
            for seed, (status, _, err) in pool.map(end, range(count)):
                with self.subTest(seed):
                    self.assertIn(status, (0, 2), err)
                    if status:
                        self.assertEqual(err.count("\n"), 1, err)
                        self.assertIn(f"'{seed}.h5'", err)

    def damaged(self, offset, value):
        """In libhdf5's heap of strings, where it crashes (H5HG_read) and loops."""
        folder = Folder(PROGRAMS)
        self.addCleanup(folder.made.cleanup)
        self.assertEqual(folder.run("regtool convert -t u.nii -t a.txt --to itk -o whole.h5")[0], 0)
        data = bytearray((folder.path / "whole.h5").read_bytes())
        data[data.index(b"GCOL") + offset] = value
        (folder.path / "damaged.h5").write_bytes(data)
        return folder

    def test_a_crash_and_a_loop_in_libhdf5(self):
        for offset, value in ((49, 127), (50, 1), (55, 255), (25, 1)):
            for call in (f"ffdreg -f f.nii -m m.nii -o out_ {QUICK} --init damaged.h5", "regtool apply -i m.nii -r f.nii -o out_.nii -t damaged.h5"):
                with self.subTest((offset, call)):
                    folder = self.damaged(offset, value)
                    status, _, err = folder.run(call, seconds=3 * SECONDS)
                    self.assertEqual((status, err.count("\n")), (2, 1), err)
                    self.assertIn("'damaged.h5': it is damaged", err)
                    self.assertEqual(folder.names("out"), [])

    def test_a_name_that_is_another(self):
        folder = self.damaged(0, ord("G"))  # as it was
        data = (folder.path / "whole.h5").read_bytes()
        (folder.path / "damaged.h5").write_bytes(data.replace(b"TransformFixedParameters", b"TransformFixedParametPrs"))
        status, _, err = folder.run("regtool info damaged.h5")
        self.assertEqual((status, err.count("\n")), (2, 1), err)

    def test_ctrl_c_ends_a_loop_in_libhdf5(self):
        folder = self.damaged(25, 1)
        process = folder.start(f"ffdreg -f f.nii -m m.nii -o out_ {QUICK} --init damaged.h5", start_new_session=True)
        time.sleep(1)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, err = process.communicate(timeout=3)
        self.assertEqual(process.returncode, 130, err)
        self.assertEqual(folder.names("out"), [])


if __name__ == "__main__":
    unittest.main()
