"""What the phantoms share: texture, noise, points, and how a volume is filled.

A phantom is a function of material coordinates. The moving image is that function after a map in closed form from the moving space to the
fixed one, so that points y of the moving image and their places x(y) in the fixed one are exact, without inverting anything.
"""
import array
import math
import random

import nifti


class Texture:
    """A sum of waves in random directions, of standard deviation about 1: it has structure everywhere and repeats nowhere near."""

    def __init__(self, seed, wavelengths):
        rng, self.waves = random.Random(seed), []
        for length in wavelengths:
            direction = [rng.gauss(0, 1) for _ in range(3)]
            norm = math.sqrt(sum(d * d for d in direction))
            self.waves.append([2 * math.pi * d / (norm * length) for d in direction] + [rng.uniform(0, 2 * math.pi)])
        self.scale = math.sqrt(2 / len(self.waves))

    def __call__(self, x, y, z):
        total, sin = 0.0, math.sin
        for a, b, c, phase in self.waves:
            total += sin(a * x + b * y + c * z + phase)
        return self.scale * total


class Rows:
    """A texture along rows of a grid. Where voxels are small against its waves, it is that of places `step` voxels apart along x, and
    straight between them: what moves along z only keeps its x, so that it stays a function of the material."""

    def __init__(self, texture, xs, step):
        self.texture, self.step = texture, step
        knots = xs[::step]
        self.knots = [*knots, knots[-1] + step * (xs[1] - xs[0])]

    def __call__(self, first, last, y, z):
        """Of the voxels from first up to last."""
        if first >= last:
            return []
        step, texture = self.step, self.texture
        if step == 1:
            return [texture(x, y, z) for x in self.knots[first:last]]
        low = first // step
        known = [texture(x, y, z) for x in self.knots[low:(last - 1) // step + 2]]
        shares = [(1 - i / step, i / step) for i in range(step)]
        all_of_them = [p * t + q * u for p, q in zip(known, known[1:]) for t, u in shares]
        return all_of_them[first - step * low:last - step * low]


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


def noisy_rows(rows, sd, seed):
    """Rows with noise, as whole numbers: for volumes too large to draw a number for every voxel, from a tape entered anywhere for each."""
    rng = random.Random(seed)
    tape = [rng.gauss(0.5, sd) for _ in range(1 << 20)]  # 0.5: rounded, as floor() would
    for row in rows:
        start = rng.randrange(len(tape) - len(row))
        yield array.array("h", [math.floor(v + n) for v, n in zip(row, tape[start:start + len(row)])])


def write_points(path, points):
    path.write_text("x,y,z\n" + "".join(f"{x:.5f},{y:.5f},{z:.5f}\n" for x, y, z in points))


def write_pair(folder, grid, fixed, moving):
    folder.mkdir(parents=True, exist_ok=True)
    nifti.write(folder / "fixed.nii", grid, fixed)
    nifti.write(folder / "moving.nii", grid, moving)
    return folder / "fixed.nii", folder / "moving.nii"
