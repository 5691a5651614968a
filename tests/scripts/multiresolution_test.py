"""experiments/run: loaders on made-up files, volumes, phantoms whose maps are what they say, and the page of a made-up result."""
import array
import json
import math
import statistics
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
import phantoms  # noqa: E402
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

    def test_one_mask_counts_without_the_other(self):
        for name in ("fixed.nii.gz", "moving.nii.gz", "fixed_labels.nii.gz", "moving_labels.nii.gz", "moving_mask.nii.gz"):
            self.file(f"one/{name}")
        case, = loaders.subjects(self.folder)
        self.assertEqual(levels.masks(case), ["--moving-mask", self.folder / "one/moving_mask.nii.gz"])
        mask = self.file("one/fixed_mask.nii.gz")
        case, = loaders.subjects(self.folder)
        self.assertEqual(levels.masks(case), ["--fixed-mask", mask, "--moving-mask", self.folder / "one/moving_mask.nii.gz"])


class Volumes(Folder):
    def test_what_is_written_is_read(self):
        voxels = array.array("f", [0.5 * i for i in range(24)])
        nifti.write(self.folder / "a.nii", nifti.Grid(SIZE, (2.0, 2.0, 3.0), (-3.0, 4.0, 5.0)), voxels)
        self.assertEqual(nifti.read(self.folder / "a.nii"), voxels)
        self.assertEqual(struct.unpack_from("<4f", (self.folder / "a.nii").read_bytes(), 280), (-2.0, 0.0, 0.0, 3.0))
        self.assertEqual(struct.unpack_from("<4f", (self.folder / "a.nii").read_bytes(), 312), (0.0, 0.0, 3.0, 5.0))
        nifti.write_slabs(self.folder / "b.nii", nifti.Grid(SIZE, (2.0, 2.0, 3.0), (-3.0, 4.0, 5.0)), "f", [voxels[:12], voxels[12:]])
        self.assertEqual((self.folder / "a.nii").read_bytes(), (self.folder / "b.nii").read_bytes())

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
        liver = breathing.Liver(nifti.Grid.centred((105, 71, 5), (3.0, 3.0, 20.0)), "ct")
        self.assertEqual(liver.reach(liver.AXES[0] + 0.1, 0, 0), 0)
        self.assertEqual(liver.reach(liver.AXES[0] - 0.1, 0, 0), 20)
        self.assertLess(max(abs(liver.reach(0, 0, z + 1) - liver.reach(0, 0, z)) for z in range(-122, 122)), 1)
        self.assertTrue(math.isclose(liver.border_distance(liver.AXES[0] + 4, 0), 4, abs_tol=0.01))
        for x, y in ((liver.AXES[0] + 4, 0), (liver.AXES[0] - 6, 0), (0, liver.AXES[1] - 4.9), (0, liver.AXES[1] + 5.1), (0, 0)):
            self.assertEqual(liver.near_border(x, y, 5), liver.border_distance(x, y) <= 5)

    def test_what_a_field_leaves_at_the_border_shrinks_with_its_voxels(self):
        """What is left lies in the voxels that the border cuts, so it goes with their size."""
        left = [breathing.Liver(nifti.Grid.centred((int(312 / s), int(222 / s), 9), (s, s, 20.0)), "ct").best_of_a_field() for s in (3, 1)]
        self.assertAlmostEqual(left[0] / left[1], 3, delta=0.4)
        self.assertLess(left[0], 20 / 4)

    def test_the_liver_moves_as_its_points_do(self):
        """What a row of the moving image shows in the cavity is what the fixed one has where the points say; outside both are the same."""
        liver = breathing.Liver(nifti.Grid.centred((105, 71, 5), (3.0, 3.0, 20.0)), "mr")
        for y in (-60.0, 0.0, 42.0, 81.0):
            fixed, moving = liver.row(y, 3.0, 3.0), liver.row(y, 3.0, 3.0 + liver.rise(3.0))
            there = liver.row(y, 23.0, 23.0)
            for x, f, m, t in zip(liver.xs, fixed, moving, there):
                self.assertEqual(m, t if liver.reach(x, y, 3.0) == 20 else f)

    def test_a_fine_grid_shows_what_a_coarse_one_does(self):
        """At places that both have; between them the texture is straight along x, so it is the same function of the material."""
        coarse = breathing.Liver(nifti.Grid((105, 1, 1), (3.0, 3.0, 3.0), (-156.0, 0.0, 0.0)), "ct")
        fine = breathing.Liver(nifti.Grid((417, 1, 1), (0.75, 0.75, 0.75), (-156.0, 0.0, 0.0)), "ct")
        self.assertEqual((coarse.fine.step, fine.fine.step), (1, 4))
        self.assertEqual(coarse.row(10.0, 5.0, 12.0), fine.row(10.0, 5.0, 12.0)[::4])
        whole = fine.fine(0, 417, 3.0, 4.0)
        self.assertEqual(len(whole), 417)
        self.assertEqual([fine.fine(i, j, 3.0, 4.0) for i, j in ((5, 6), (3, 12), (412, 417), (7, 7))],
                         [whole[5:6], whole[3:12], whole[412:417], []])
        self.assertAlmostEqual(whole[6], 0.5 * (whole[4] + whole[8]))
        self.assertLess(max(abs(w - fine.fine.texture(x, 3.0, 4.0)) for w, x in zip(whole, fine.xs)), 0.3)

    def test_noise_of_rows_has_its_size(self):
        rows = list(phantoms.noisy_rows([[100.0] * 500 for _ in range(200)], 12.0, 1))
        self.assertEqual(rows[0].typecode, "h")
        values = [v for row in rows for v in row]
        self.assertAlmostEqual(statistics.mean(values), 100, delta=0.3)
        self.assertAlmostEqual(statistics.stdev(values), 12, delta=0.2)


class Results(unittest.TestCase):
    def test_levels_below_get_no_iterations(self):
        report = {"options": {"levels": 4}, "levels": [{"iterations_at_most": 40}, {"iterations_at_most": 20}]}
        self.assertEqual([levels.iterations(report, n) for n in range(3)], ["0x0x0x0", "0x0x40x0", "0x0x40x20"])

    def test_a_level_has_the_voxels_of_its_axes(self):
        file = {"size": [160, 192, 224], "spacing_mm": [1, 1.5, 1], "direction_lps": [[-1, 0, 0], [0, 0.1, -1], [0, 1, 0.1]]}
        self.assertEqual(levels.grid({"grid": [80, 112, 96]}, file), ([80, 112, 96], [2, 2, 3]))

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
                                (("--data", self.folder, "--only", "data"), "has nothing for liver"),
                                (("--only", "phantom", "--pairs", "a,b"), "is called a; there are phantom_liver_ct, phantom_liver_ct_mask"),
                                (("--only", "phantom", "--pairs", "phantom_liver_ct,b"), "is called b; there are phantom_liver_ct, phantom_liver_ct_mask"),
                                (("--only", "phantom", "--full", "--pairs", "a"), "phantom_liver_ct_full, phantom_liver_ct_full_mask"),
                                (("--methods", "as Lee"), "no registration is called as Lee; there are ffdreg, fluidreg")):
            done = self.run_it("liver", "--programs", self.folder, "--out", self.folder / "out", *words)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(sentence, done.stderr)


if __name__ == "__main__":
    unittest.main()
