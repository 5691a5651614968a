"""experiments/accuracy: the tables on canned scores, the scenes on a phantom, a quick run on real images. accuracy_test.py BUILD

BUILD holds the programs. FREEFLOW_DATA, else ../shared/data beside the project, holds the real images; without them that test is skipped.
"""
import array
import gzip
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "experiments/accuracy"
DATA = pathlib.Path(os.environ.get("FREEFLOW_DATA", ROOT.parent / "shared/data"))
BUILD = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None
sys.path.insert(0, str(HERE))
import pairs  # noqa: E402
import table  # noqa: E402
from runner import Failed, Interrupted, NotKept, Runner, call  # noqa: E402


def canned(program, scores, options=()):
    """A result of one program: name -> (family, kind, before, value)."""
    entries = {}
    for name, (family, kind, before, value) in scores.items():
        run = {"figures": {"it": value}, "corner_folds": None if value is None else 2, "seconds": 3.4}
        if value is None:
            run["failed"] = "no overlap"
        entries[name] = {"family": family, "kinds": {"it": kind}, "before": {"it": before}, "runs": {program: run}}
    return {"programs": [program], "options": list(options), "pairs": entries}


BASE = canned("ffdreg", {"a": ("brain", "dice", 0.5, 0.8), "b": ("harmed", "dice", 0.5, 0.7), "c": ("liver", "tre", 15.0, 2.0),
                         "d": ("liver", "tre", 10.0, 4.0), "e": ("storage", "apart_max", None, 0.1)})
OTHER = canned("ffdreg", {"a": ("brain", "dice", 0.5, 0.9), "b": ("harmed", "dice", 0.5, 0.7), "c": ("liver", "tre", 15.0, 3.0),
                          "d": ("liver", "tre", 10.0, None), "e": ("storage", "apart_max", None, 5.0)})


class Tables(unittest.TestCase):
    def test_a_result_is_one_beside_itself(self):
        self.assertEqual(set(table.family_numbers(BASE, "ffdreg", BASE).values()), {1.0})

    def test_relative_errors(self):
        numbers = table.pair_numbers(OTHER, "ffdreg", BASE)
        self.assertAlmostEqual(numbers["a"], 0.5)  # (1 - 0.9) / (1 - 0.8)
        self.assertAlmostEqual(numbers["c"], 1.5)
        self.assertAlmostEqual(numbers["d"], 2.5)  # failed: as if nothing had been registered
        self.assertAlmostEqual(numbers["e"], 10.0)  # the reference counts as its floor, 0.5 mm
        self.assertEqual(table.relative("apart", None, None, 0.3), table.FAILED)
        self.assertIsNone(table.relative("tre", 2.0, 3.0, None))

    def test_families_count_alike_and_are_left_out_with_their_anatomy(self):
        families = table.family_numbers(OTHER, "ffdreg", BASE)
        self.assertAlmostEqual(families["liver"], 2.0)
        text = table.numbers(OTHER, BASE)
        line = lambda start: next(l for l in text.splitlines() if l.startswith(f"| {start}"))
        self.assertIn(f"{(0.5 + 1 + 2 + 10) / 4:.3f}", line("all families"))
        self.assertIn("2.000", line("all but brain"))  # harmed and stored brains are left out with it
        self.assertIn(f"{(0.5 + 1 + 10) / 3:.3f}", line("all but liver"))
        self.assertIn("8 in 4 pairs", line("corner folds"))

    def test_the_table_shows_every_figure(self):
        text = table.draw(OTHER)
        self.assertEqual(len(text.splitlines()), 2 + 5)
        self.assertEqual(len({len(line) for line in text.splitlines()}), 1)  # columns line up
        self.assertIn("0.9000", text)
        self.assertIn("failed", text)

    def test_compare(self):
        text = table.compare(OTHER, BASE)
        row = next(l for l in text.splitlines() if l.startswith("| a"))
        self.assertIn("0.500", row)
        self.assertIn("no pair in common", table.compare(OTHER, {**BASE, "pairs": {}}))

    def test_what_the_others_would_have_chosen(self):
        better_on_liver = canned("ffdreg", {"a": ("brain", "dice", 0.5, 0.76), "c": ("liver", "tre", 15.0, 1.0), "f": ("mouse", "dice", 0.1, 0.8)})
        base = canned("ffdreg", {"a": ("brain", "dice", 0.5, 0.8), "c": ("liver", "tre", 15.0, 2.0), "f": ("mouse", "dice", 0.1, 0.8)})
        text = table.choose([("base", base), ("other", better_on_liver)], base)
        row = lambda start: [w.strip() for w in next(l for l in text.splitlines() if l.startswith(f"| {start}")).split("|")][1:-1]
        self.assertEqual(row("brain"), ["brain", "B", "1.200", "A", "1.000", "20.0 %"])
        self.assertEqual(row("liver"), ["liver", "A", "1.000", "B", "0.500", "100.0 %"])
        self.assertEqual(row("mouse"), ["mouse", "B", "1.000", "A", "1.000", "0.0 %"])
        flow = canned("fluidreg --model fluid", {"a": ("brain", "dice", 0.5, 0.7)})
        text = table.choose([("flow", flow)], canned("fluidreg", {"a": ("brain", "dice", 0.5, 0.8)}))
        self.assertIn("A  1.500  flow: fluidreg --model fluid", text)  # against the baseline's fluidreg

    def test_every_pair_is_whole(self):
        names = [p.name for p in pairs.PAIRS]
        self.assertEqual(len(names), len(set(names)))
        for pair in pairs.PAIRS:
            for file in (pair.fixed, pair.moving, *pair.masks, *(f for figure in pair.figures for f in (figure.fixed, figure.moving) if f)):
                self.assertTrue(not file.startswith("made:") or file.removeprefix("made:").split("/")[0] in pairs.SCENES, file)
            for figure in pair.figures:
                self.assertIn(figure.kind, table.FLOOR)
                self.assertTrue(not figure.kind.startswith("apart") or figure.truth in names)

    def test_readme_draws_the_baseline(self):
        baseline, readme = HERE / "baseline.json", (HERE / "README.md").read_text()
        result = json.loads(baseline.read_text())
        self.assertIn(table.page(result), readme)  # run --readme draws it anew
        self.assertLessEqual(max(map(len, readme.splitlines())), 120)


class Cache(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.made = []

    def make(self, folder):
        self.made.append(folder)
        (folder / "it").write_text("done")

    def test_what_is_kept_follows_the_bytes_of_the_inputs(self):
        image = self.folder / "image"
        for content, makes in (("a", 1), ("a", 1), ("b", 2), ("a", 2)):
            image.write_text(content)
            runner = Runner(self.folder, self.folder, self.folder / "cache")  # hashes are of a session
            self.assertEqual((runner.kept("runs", [image, "--x"], self.make) / "it").read_text(), "done")
            self.assertEqual(len(self.made), makes)
        self.assertNotEqual(runner.key([image, "--x"]), runner.key([image, "--y"]))
        self.assertRaises(NotKept, Runner(self.folder, self.folder, self.folder / "none", kept_only=True).kept, "runs", ["x"], self.make)

    def test_what_was_interrupted_is_not_kept(self):
        runner = Runner(self.folder, self.folder, self.folder / "cache")
        self.assertRaises(Interrupted, runner.kept, "runs", ["x"], lambda folder: call(["sh", "-c", "kill -9 $$"]))
        self.assertEqual(list((self.folder / "cache/runs").iterdir()), [])
        self.assertRaisesRegex(Failed, "sh: no such luck", call, ["sh", "-c", "echo no such luck >&2; exit 1"])


def volume(path):
    """Sizes and floats of a NIfTI-1 file of float32, little-endian."""
    data = gzip.decompress(path.read_bytes())
    sizes, start = struct.unpack_from("<8h", data, 40)[1:4], int(struct.unpack_from("<f", data, 108)[0])
    voxels = array.array("f")
    voxels.frombytes(data[start:])
    return sizes, voxels


class WithPrograms(unittest.TestCase):
    def setUp(self):
        if BUILD is None:
            self.skipTest("no build folder was named")
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.program = str(Runner(DATA, BUILD, self.folder).program("accuracy_scenes"))

    def scenes(self, *words, status=0):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout) if done.stdout.startswith("{") else done.stderr

    def phantom(self):
        self.scenes("phantom", "--out", self.folder / "p")
        return self.folder / "p/image.nii.gz", self.folder / "p/labels.nii.gz"


class Scenes(WithPrograms):
    def test_a_known_warp_is_as_long_as_promised_and_folds_nowhere(self):
        image, labels = self.phantom()
        for mm in (4, 12):
            made = self.scenes("warp", image, "--labels", labels, "--largest", mm, "--seed", 5, "--out", self.folder / "w")
            self.assertAlmostEqual(made["largest_mm"], mm, delta=1e-4)
            self.assertEqual(made["corner_folds"], 0)
            self.assertGreaterEqual(made["corner_jacobian_min"], 0.1)
            truth = self.folder / "w/truth.nii.gz"
            self.assertEqual(self.scenes("compare", labels, "-t", truth, "--truth", truth)["max_mm"], 0)
            moved = self.scenes("compare", labels, "--truth", truth)
            self.assertTrue(0.1 * mm < moved["mean_mm"] < moved["max_mm"] <= mm + 1e-4, moved)
        self.assertIn("without a fold", self.scenes("warp", image, "--largest", 500, "--out", self.folder / "w", status=1))

    def test_the_same_seed_makes_the_same_bytes_on_any_number_of_threads(self):
        image, _ = self.phantom()
        for threads in ("1", "3"):
            os.environ["OMP_NUM_THREADS"] = threads
            self.scenes("warp", image, "--largest", 6, "--out", self.folder / f"w{threads}")
            self.scenes("harm", image, "--bias", 0.4, "--noise", 0.1, "--lesion", 20, "--out", self.folder / f"h{threads}")
        del os.environ["OMP_NUM_THREADS"]
        for kind, file in (("w", "truth"), ("w", "image"), ("h", "image")):
            one, three = (gzip.decompress((self.folder / f"{kind}{n}/{file}.nii.gz").read_bytes()) for n in "13")
            self.assertEqual(one, three)

    def test_flips_and_turns_come_back(self):
        image, _ = self.phantom()
        for there, back in (("-x+y+z", "-x+y+z"), ("-x-y-z", "-x-y-z"), ("+y+z+x", "+z+x+y"), ("+y-x+z", "-y+x+z"), ("-z+x-y", "+y-z-x")):
            self.scenes("store", image, "--axes", there, "--out", self.folder / "s")
            self.scenes("store", self.folder / "s/image.nii.gz", "--axes", back, "--out", self.folder / "b")
            self.assertNotEqual(volume(self.folder / "s/image.nii.gz")[1], volume(image)[1])
            self.assertEqual(volume(self.folder / "b/image.nii.gz"), volume(image))
        for wrong in ("xyz", "+x+x+z", "+a+y+z"):
            self.assertIn("--axes", self.scenes("store", image, "--axes", wrong, "--out", self.folder / "s", status=1))

    def test_harm(self):
        image, labels = self.phantom()
        sizes, clean = volume(image)
        self.scenes("harm", image, "--bias", 0.4, "--out", self.folder / "h")
        _, biased = volume(self.folder / "h/image.nii.gz")
        ratios = [b / a for a, b in zip(clean, biased) if a > 0]
        self.assertTrue(0.6 <= min(ratios) + 1e-4 and min(ratios) < 0.7 and 1.3 < max(ratios) <= 1.4001, (min(ratios), max(ratios)))
        self.scenes("harm", image, "--labels", labels, "--lesion", 20, "--out", self.folder / "h")
        _, lesioned = volume(self.folder / "h/image.nii.gz")
        changed = sum(a != b for a, b in zip(clean, lesioned)) * 2 * 2 * 2.5
        self.assertTrue(0.8 < changed / (4 / 3 * 3.14159 * 10**3) < 1.6, changed)
        self.scenes("harm", image, "--crop", 0.2, "--labels", labels, "--out", self.folder / "h")
        cut, _ = volume(self.folder / "h/image.nii.gz")
        self.assertTrue(cut[2] < 0.85 * sizes[2] and cut[0] < sizes[0] and cut[1] == sizes[1], cut)
        self.scenes("harm", image, "--shrink", 2, "--out", self.folder / "h")
        self.assertEqual(volume(self.folder / "h/image.nii.gz")[0], (24, 28, 20))

    def test_slices_are_those_of_the_middle_in_their_place(self):
        image, labels = self.phantom()
        (nx, ny, nz), clean = volume(image)
        self.scenes("harm", image, "--labels", labels, "--slices", 6, "--out", self.folder / "h")
        first = nz // 2 - 3
        sizes, kept = volume(self.folder / "h/image.nii.gz")
        self.assertEqual((sizes, kept), ((nx, ny, 6), clean[first * nx * ny:(first + 6) * nx * ny]))
        place = lambda path: struct.unpack_from("<12f", gzip.decompress(path.read_bytes()), 280)
        before, spacing = place(image), 2.5
        for file in ("image", "labels"):
            after = place(self.folder / f"h/{file}.nii.gz")
            self.assertEqual(after[:11], before[:11])
            self.assertAlmostEqual(after[11] - before[11], first * spacing, places=4)
        self.assertIn("--slices", self.scenes("harm", image, "--slices", nz + 1, "--out", self.folder / "h", status=1))


class RealImages(WithPrograms):
    def test_quick(self):
        if not DATA.is_dir():
            self.skipTest("no real images: put them in ../shared/data or name their folder in FREEFLOW_DATA")
        words = [sys.executable, HERE / "run", "--data", DATA, "--build", BUILD, "--quick", "--programs", "ffdreg", "--cache",
                 self.folder / "cache", "--out", self.folder]
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        again = subprocess.run(list(map(str, words)), capture_output=True, text=True)
        self.assertEqual((again.stdout, again.stderr), (done.stdout, ""))  # all of it was kept
        result = json.loads((self.folder / "result.json").read_text())
        self.assertEqual(set(result["pairs"]), {p.name for p in pairs.PAIRS if p.quick})


if __name__ == "__main__":
    unittest.main()
