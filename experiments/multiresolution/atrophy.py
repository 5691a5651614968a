"""A head that loses 3 % of its brain in a year, and what a registration measures of it.

Radii are in units of an ellipsoid's half axes: ventricles up to VENTRICLE, brain up to 1, fluid up to SKULL, then bone and skin, which
stay.
Every part changes its volume uniformly, so the truth is one number: the mean Jacobian over the brain is 1 - LOSS from baseline to
follow-up, and 1 / (1 - LOSS) back.
"""
import math
import random

import nifti
import phantoms
from cases import Case, Figure

LOSS = 0.03
AXES = (64.0, 78.0, 60.0)
VENTRICLE, VENTRICLE_LATER, SKULL, SKIN = 0.26, 0.27, 1.12, 1.26
BRAIN_LATER = (VENTRICLE_LATER**3 + (1 - LOSS) * (1 - VENTRICLE**3)) ** (1 / 3)
NOISE = 3.0  # standard deviation, of a white matter of 110


def baseline_radius(r):
    """Where in the baseline the follow-up's radius r lies."""
    if r >= SKULL:
        return r
    if r <= VENTRICLE_LATER:
        return r * VENTRICLE / VENTRICLE_LATER
    if r <= BRAIN_LATER:
        return (VENTRICLE**3 + (r**3 - VENTRICLE_LATER**3) / (1 - LOSS)) ** (1 / 3)
    return (1 + (r**3 - BRAIN_LATER**3) * (SKULL**3 - 1) / (SKULL**3 - BRAIN_LATER**3)) ** (1 / 3)


def head(voxel):
    """Intensity as a function of the place in the baseline, in half axes, and its radius; edges as wide as a voxel."""
    wide, narrow = phantoms.Texture(1, (70, 52, 41, 33)), phantoms.Texture(2, (24, 19, 16))
    width, ramp = 1.4 * voxel / 66, phantoms.ramp
    ax, ay, az = AXES

    def at(u, v, w, r):
        if r > SKIN + width:
            return 0.0
        if r > 1 + width:
            return 25 - 20 * ramp(r - SKULL, width) + 75 * ramp(r - SKULL - 0.06, width) - 80 * ramp(r - SKIN, width)
        x, y, z = u * ax, v * ay, w * az
        folds = narrow(x, y, z)
        white = 110 + 5 * wide(x, y, z) - 30 * ramp(r - 0.83 - 0.05 * folds, 2 * width) + 2 * folds
        return 25 + (white - 25) * ramp(r - VENTRICLE, width) * (1 - ramp(r - 1, width))
    return at


class Phantom:
    """Baseline and follow-up without noise, and which voxels of each are brain."""

    def __init__(self, folder, voxel):
        self.folder = folder
        self.grid = nifti.Grid.around([2 * SKIN * a + 10 for a in AXES], voxel)
        value = head(voxel)

        def seen(radius_of):
            def at(x, y, z):
                u, v, w = x / AXES[0], y / AXES[1], z / AXES[2]
                r = math.sqrt(u * u + v * v + w * w)
                s = radius_of(r) / r if r > 1e-6 else 1.0
                return value(u * s, v * s, w * s, r * s)
            return at

        self.clean = [phantoms.fill(self.grid, seen(lambda r: r)), phantoms.fill(self.grid, seen(baseline_radius))]
        self.brain = [self._inside(VENTRICLE, 1), self._inside(VENTRICLE_LATER, BRAIN_LATER)]

    def _inside(self, low, high):
        """Places in the volume of the voxels whose centres are brain."""
        low, high, found, index = low * low, high * high, [], 0
        squares = [[(c / a) ** 2 for c in self.grid.axis(i)] for i, a in enumerate(AXES)]
        for w in squares[2]:
            for v in squares[1]:
                found += [index + i for i, u in enumerate(squares[0]) if low <= u + v + w <= high]
                index += len(squares[0])
        return found

    def pair(self, seed):
        """Baseline and follow-up with noise of their own."""
        noisy = [phantoms.noisy(clean, NOISE, 2 * seed + i) for i, clean in enumerate(self.clean)]
        return phantoms.write_pair(self.folder, self.grid, *noisy)

    def case(self):
        """The first pair, with points of its own for the levels."""
        fixed, moving = self.pair(0)
        rng, points = random.Random(9), []
        while len(points) < 3000:
            p = [rng.uniform(-a, a) for a in AXES]
            r = math.sqrt(sum((c / a) ** 2 for c, a in zip(p, AXES)))
            if 0.5 < r <= BRAIN_LATER:
                points.append((p, baseline_radius(r) / r))
        files = self.folder / "fixed_points.csv", self.folder / "moving_points.csv"
        phantoms.write_points(files[0], [[c * s for c in p] for p, s in points])
        phantoms.write_points(files[1], [p for p, _ in points])
        return Case("phantom_brain", fixed, moving, (Figure("error in the brain, mm", "mm", *files),),
                    note="Phantom: a head whose brain loses 3 % of its volume, baseline (fixed) to follow-up.")


def brains(folder, wanted):
    return [Phantom(folder / "phantom", 2.0).case()] if wanted("phantom_brain") else []


def change(programs, phantom, image, which, prefix):
    """Volume change of the brain in percent: the mean Jacobian over the brain of the fixed image, which is the baseline (0) or not (1)."""
    out = phantom.folder / "jacobian.nii"
    programs.call("regtool", "jacobian", "-r", image, "-t", f"{prefix}1Warp.nii.gz", "-t", f"{prefix}0GenericAffine.mat", "-o", out)
    values, places = nifti.read(out), phantom.brain[which]
    return 100 * (sum(values[i] for i in places) / len(places) - 1)
