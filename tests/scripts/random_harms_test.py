"""experiments/accuracy/harms.py: whatever befalls an image, what is known of it stays where the image shows it; a case is the same each time."""
import importlib.util
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments/accuracy"))


@unittest.skipUnless(importlib.util.find_spec("numpy"), "no numpy")
class Harms(unittest.TestCase):
    def sides(self):
        """A bright ball about each image's point, in an object, on an oblique grid of uneven voxels."""
        import harms
        import numpy as np

        turn = harms.about(np.zeros(3), harms.rotation(np.random.default_rng(3), 20))
        affine = turn @ np.diag([1.5, 1.5, 2.0, 1.0])
        grid = np.indices((48, 44, 40)).astype(float)
        made = []
        for middle in ((25, 20, 19), (22, 23, 21)):
            away = np.sqrt(sum(((g - m) * s) ** 2 for g, m, s in zip(grid, middle, (1.5, 1.5, 2.0))))
            voxels = np.where(away < 27, 40.0, 0.0) + 100 * np.exp(-((away / 5) ** 2))
            point = (harms.LPS @ affine @ np.r_[middle, 1])[:3]
            made.append(harms.Side((voxels, affine), point[None]))
        return made

    def brightest(self, side):
        """LPS, the middle of what is brightest."""
        import harms
        import numpy as np

        v = np.nan_to_num(side.voxels, nan=-np.inf)
        weight = np.where(v > v.max() - 30, v - v.max() + 30, 0)
        at = [np.sum(weight * g) / weight.sum() for g in np.indices(v.shape)]
        return (harms.LPS @ side.affine @ np.r_[at, 1])[:3]

    def test_points_stay_where_the_images_show_them(self):
        import harms
        import numpy as np

        for harm in (harms.rotate30, harms.rotate90, harms.shift, harms.zoom, harms.stretch, harms.blocks_moving, harms.blocks_fixed, harms.pad,
                     harms.pad_low, harms.axes, harms.swap, harms.masked):
            for seed in range(4):
                fixed, moving = self.sides()
                name = harm(np.random.default_rng(seed), fixed, moving)
                for side in (fixed, moving):
                    self.assertLess(np.linalg.norm(self.brightest(side) - side.points[0]), 1.8, f"{name}, seed {seed}")
        for harm, side in ((harms.crop_moving, 1), (harms.crop_fixed, 0)):
            for seed in range(6):
                sides = self.sides()
                name = harm(np.random.default_rng(seed), *sides)
                self.assertLess(sides[side].voxels.size, 48 * 44 * 40, name)
                if sides[side].contains(sides[side].points)[0]:
                    self.assertLess(np.linalg.norm(self.brightest(sides[side]) - sides[side].points[0]), 3.5, name)

    def test_every_harm_changes_an_image_and_the_same_seed_does_the_same(self):
        import harms
        import numpy as np

        for harm in harms.ALL:
            names, grids = set(), []
            for _ in range(2):
                fixed, moving = self.sides()
                before = [(s.voxels.copy(), s.affine.copy()) for s in (fixed, moving)]
                names.add(harm(np.random.default_rng(5), fixed, moving))
                grids.append((fixed.voxels, moving.voxels))
                changed = any(s.voxels.shape != v.shape or not np.array_equal(s.voxels, v) or not np.array_equal(s.affine, a)
                              for s, (v, a) in zip((fixed, moving), before))
                self.assertTrue(changed, harm.__name__)
            self.assertEqual(len(names), 1)
            for one, other in zip(*grids):
                np.testing.assert_array_equal(one, other)

    def test_harms_bear_each_other(self):
        """NaN before a cut, metal before a mask: any three in their order leave an object."""
        import harms
        import numpy as np

        for seed in range(60):
            random = np.random.default_rng(seed)
            fixed, moving = self.sides()
            for k in sorted(random.choice(len(harms.ALL), 3, replace=False)):
                harms.ALL[k](random, fixed, moving)
            for side in (fixed, moving):
                self.assertTrue(side.object().any())
                self.assertGreater(np.ptp(side.voxels[np.isfinite(side.voxels)]), 0)


if __name__ == "__main__":
    unittest.main()
