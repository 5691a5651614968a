"""experiments/run: loaders on made-up files, volumes, phantoms whose maps are what they say, and the page of a made-up result."""
import array
import json
import math
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments/multiresolution"))
import atrophy  # noqa: E402
import breathing  # noqa: E402
import checks  # noqa: E402
import levels  # noqa: E402
import loaders  # noqa: E402
import nifti  # noqa: E402
import page  # noqa: E402
from papers import EXPERIMENTS  # noqa: E402

SIZE, SPACING = (4, 3, 2), (0.97, 0.97, 2.5)


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def file(self, name, content=""):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content)
        return path


class DirLab(Folder):
    def setUp(self):
        super().setUp()
        known = dict(loaders.DIRLAB)
        self.addCleanup(lambda: loaders.DIRLAB.update(known))
        loaders.DIRLAB["case8"] = loaders.DIRLAB["copd2"] = (SIZE, 0.97)

    def pack(self, moving="1 1 1\n4\t3\t2\n"):
        voxels = struct.pack("<24h", *range(24))
        for phase, points in (("00", "1 1 1\n2 3 2\n"), ("50", moving)):
            self.file(f"in/Case8Pack/Case8Deploy/Images/case8_T{phase}-ssm.img", voxels)
            self.file(f"in/Case8Pack/extremePhases/case8_dirLab300_T{phase}_xyz.txt", points)
            self.file(f"in/Case8Pack/Sampled4D/case8_4D-75_T{phase}.txt", "no landmarks of ours\n")

    def test_a_pack_becomes_headers_and_points_in_mm(self):
        self.pack()
        case, = loaders.dirlab(self.folder / "in", self.folder / "out")
        self.assertEqual(case.name, "case8")
        header = case.fixed.read_text()
        self.assertIn("DimSize = 4 3 2", header)
        self.assertIn("ElementSpacing = 0.97 0.97 2.5", header)
        raw = next(line.split(" = ")[1] for line in header.splitlines() if line.startswith("ElementDataFile"))
        self.assertTrue(raw.endswith("case8_T00-ssm.img") and Path(raw).is_file())
        figure, = case.figures
        self.assertEqual(figure.fixed.read_text().splitlines(), ["x,y,z", "0.0000,0.0000,0.0000", "0.9700,1.9400,2.5000"])
        self.assertEqual(figure.moving.read_text().splitlines()[2], "2.9100,1.9400,2.5000")

    def test_copd_in_a_folder_of_its_own(self):
        for state in ("iB", "eB"):
            self.file(f"in/copd2/copd2/copd2_{state}HCT.img", bytes(48))
            self.file(f"in/copd2/copd2/copd2_300_{state}H_xyz_r1.txt", "1 2 1\n")
        self.assertEqual([c.name for c in loaders.dirlab(self.folder / "in", self.folder / "out")], ["copd2"])

    def test_what_does_not_agree_is_refused_with_a_sentence(self):
        self.pack("1 1 1\n")
        with self.assertRaisesRegex(ValueError, "2 points.*1"):
            loaders.dirlab(self.folder / "in", self.folder / "out")
        self.pack("1 1 1\n5 1 1\n")
        with self.assertRaisesRegex(ValueError, "line 2: 5 1 1 is no voxel of 4x3x2"):
            loaders.dirlab(self.folder / "in", self.folder / "out")
        self.file("in/Case8Pack/Case8Deploy/Images/case8_T00-ssm.img", b"short")
        with self.assertRaisesRegex(ValueError, "5 bytes; 4x3x2 voxels of 16 bits are 48"):
            loaders.dirlab(self.folder / "in", self.folder / "out")


class Learn2Reg(Folder):
    def description(self, **content):
        pairs = [{"fixed": "./imagesTr/A_0001_0000.nii.gz", "moving": "./imagesTr/A_0002_0000.nii.gz"}]
        return self.file("A_dataset.json", json.dumps({"name": "A", "registration_val": pairs, **content}))

    def test_labels_masks_and_landmarks_lie_beside_the_images(self):
        for kind, ending in (("images", ".nii.gz"), ("labels", ".nii.gz"), ("masks", ".nii.gz"), ("keypoints", ".csv")):
            for n in (1, 2):
                self.file(f"{kind}Tr/A_000{n}_0000{ending}")
        case, = loaders.learn2reg(self.description())
        self.assertEqual(case.name, "A_0002_0000_to_A_0001_0000")
        self.assertEqual([(f.kind, f.frame) for f in case.figures], [("dice", "lps"), ("mm", "voxel")])
        self.assertEqual(case.masks[1], self.folder / "masksTr/A_0002_0000.nii.gz")

    def test_a_pair_without_truth_is_left_out(self):
        self.assertEqual(loaders.learn2reg(self.description()), [])

    def test_no_json_is_refused(self):
        with self.assertRaisesRegex(ValueError, "is no JSON"):
            loaders.learn2reg(self.file("b.json", '{"registration_val": ['))
        with self.assertRaisesRegex(ValueError, "has no registration_val"):
            loaders.learn2reg(self.file("c.json", "{}"))

    def test_folders_of_ones_own(self):
        for name in ("one/fixed.nii.gz", "one/moving.nii", "one/fixed_labels.nii.gz", "one/moving_labels.nii.gz", "two/fixed.nii.gz"):
            self.file(name)
        self.assertEqual([c.name for c in loaders.everything(self.folder, self.folder / "out", "brain")], ["one"])


class Volumes(Folder):
    def test_what_is_written_is_read(self):
        voxels = array.array("f", [0.5 * i for i in range(24)])
        nifti.write(self.folder / "a.nii", nifti.Grid(SIZE, 2.0, (-3.0, 4.0, 5.0)), voxels)
        self.assertEqual(nifti.read(self.folder / "a.nii"), voxels)
        self.assertEqual(struct.unpack_from("<4f", (self.folder / "a.nii").read_bytes(), 280), (-2.0, 0.0, 0.0, 3.0))

    def test_a_broken_file_is_refused(self):
        with self.assertRaisesRegex(ValueError, "is no NIfTI file"):
            nifti.read(self.file("b.nii", b"x" * 400))


class Phantoms(unittest.TestCase):
    def test_the_brain_loses_what_is_said(self):
        def volume(r):
            return r**3
        now = volume(atrophy.BRAIN_LATER) - volume(atrophy.VENTRICLE_LATER)
        self.assertAlmostEqual(now / (1 - volume(atrophy.VENTRICLE)), 1 - atrophy.LOSS, places=12)
        borders = (atrophy.VENTRICLE_LATER, atrophy.BRAIN_LATER, atrophy.SKULL, 1.3), (atrophy.VENTRICLE, 1, atrophy.SKULL, 1.3)
        for later, base in zip(*borders):
            self.assertAlmostEqual(atrophy.baseline_radius(later), base, places=12)
        self.assertEqual([round(t, 4) for t in checks.truths()], [-3.0, 3.0928])

    def test_the_lung_keeps_its_weight(self):
        lung, step = breathing.Lung(3.0), 1e-4
        for z in range(-143, 144, 11):
            slope = (lung.reach(10, 5, z + step) - lung.reach(10, 5, z - step)) / (2 * step)
            self.assertAlmostEqual(1 + slope, lung.stretch(10, 5, z), places=6)
            self.assertGreater(lung.stretch(0, 0, z), 0.2)
        self.assertAlmostEqual(lung.reach(0, 0, lung.BASE), 30)

    def test_the_liver_slides_at_the_border_only(self):
        liver = breathing.Liver(3.0, "ct")
        self.assertEqual(liver.reach(liver.AXES[0] + 0.1, 0, 0), 0)
        self.assertEqual(liver.reach(liver.AXES[0] - 0.1, 0, 0), 20)
        self.assertLess(max(abs(liver.reach(0, 0, z + 1) - liver.reach(0, 0, z)) for z in range(-122, 122)), 1)
        self.assertTrue(math.isclose(liver.border_distance(liver.AXES[0] + 4, 0), 4, abs_tol=0.01))


class Results(unittest.TestCase):
    def test_levels_below_get_no_iterations(self):
        report = {"options": {"levels": 4}, "levels": [{"iterations_at_most": 40}, {"iterations_at_most": 20}]}
        self.assertEqual([levels.iterations(report, n) for n in range(3)], ["0x0x0x0", "0x0x40x0", "0x0x40x20"])

    def test_a_page_stands_alone(self):
        name = f"error {breathing.NEAR}, mm"
        stages = [{"stage": "before", "figures": {name: 9.0, "error elsewhere, mm": 9.0}},
                  {"stage": "level 1", "figures": {name: 3.0, "error elsewhere, mm": 1.5}, "grid": [4, 3, 2], "seconds": 1.0,
                   "corner_folds": 0}]
        cases = [{"name": "a<b", "note": "", "kinds": {name: "mm", "error elsewhere, mm": "mm"},
                  "runs": [{"method": "ffdreg", "stages": stages, "command": "ffdreg"}, {"method": "fluidreg", "failed": "no room"}]}]
        for experiment in EXPERIMENTS.values():
            drawn = page.draw({"experiment": experiment.name, "about": experiment.about, "commit": "", "changed": False, "date": "",
                               "machine": "", "seconds": 1, "methods": [{"name": m.name} for m in experiment.methods], "cases": cases,
                               "papers": [vars(p) for p in experiment.papers], "checks": checks.sliding(cases)}, [])
            self.assertIn("a&lt;b", drawn)
            self.assertIn("missed", drawn)
            for outside in ("http", "src=", "<script"):
                self.assertNotIn(outside, drawn)


class Calls(Folder):
    def run_it(self, *words):
        return subprocess.run([sys.executable, "-B", ROOT / "experiments/run", *map(str, words)], capture_output=True, text=True)

    def test_what_cannot_be_used_is_said_in_a_sentence(self):
        done = self.run_it("liver", "--programs", self.folder)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("has no ffdreg", done.stderr)
        for name in ("ffdreg", "fluidreg", "linreg", "regtool"):
            self.file(name)
        for words, sentence in ((("--data", self.folder / "gone"), "there is no folder"),
                                (("--data", self.folder), "has nothing for liver"),
                                (("--data", self.folder, "--only", "data"), "has nothing for liver")):
            done = self.run_it("liver", "--programs", self.folder, "--out", self.folder / "out", *words)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(sentence, done.stderr)


if __name__ == "__main__":
    unittest.main()
