"""What the phantoms share: texture, noise, points, and how a volume is filled.

A phantom is a function of material coordinates. The moving image is that function after a map in closed form from the moving space to the
fixed one, so that points y of the moving image and their places x(y) in the fixed one are exact, without inverting anything.
"""
import array
import math
import random

import nifti


def texture(seed, wavelengths):
    """A sum of waves in random directions, of standard deviation about 1: it has structure everywhere and repeats nowhere near."""
    rng, waves = random.Random(seed), []
    for length in wavelengths:
        direction = [rng.gauss(0, 1) for _ in range(3)]
        norm = math.sqrt(sum(d * d for d in direction))
        waves.append([2 * math.pi * d / (norm * length) for d in direction] + [rng.uniform(0, 2 * math.pi)])
    scale, sin = math.sqrt(2 / len(waves)), math.sin

    def at(x, y, z):
        total = 0.0
        for a, b, c, phase in waves:
            total += sin(a * x + b * y + c * z + phase)
        return scale * total
    return at


def ramp(value, width):
    """0 below -width/2, 1 above width/2, straight between them: an edge as a voxel sees it."""
    t = 0.5 + value / width
    return 0.0 if t <= 0 else 1.0 if t >= 1 else t


def fade(t):
    """1 up to 0, 0 from 1 on, half a cosine between them."""
    return 1.0 if t <= 0 else 0.0 if t >= 1 else 0.5 + 0.5 * math.cos(math.pi * t)


def fade_slope(t):
    return 0.0 if t <= 0 or t >= 1 else -0.5 * math.pi * math.sin(math.pi * t)


def fill(grid, value):
    """The volume of value(x, y, z), at the voxels' centres in mm."""
    xs, voxels = grid.axis(0), array.array("f")
    for z in grid.axis(2):
        for y in grid.axis(1):
            voxels.extend([value(x, y, z) for x in xs])
    return voxels


def noisy(voxels, sd, seed):
    gauss = random.Random(seed).gauss
    return array.array("f", [v + gauss(0.0, sd) for v in voxels])


def write_points(path, points):
    path.write_text("x,y,z\n" + "".join(f"{x:.5f},{y:.5f},{z:.5f}\n" for x, y, z in points))


def write_pair(folder, grid, fixed, moving):
    folder.mkdir(parents=True, exist_ok=True)
    nifti.write(folder / "fixed.nii", grid, fixed)
    nifti.write(folder / "moving.nii", grid, moving)
    return folder / "fixed.nii", folder / "moving.nii"
