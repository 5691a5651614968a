"""Two breathing trunks whose motion is known: a liver that slides along the ribs, and a lung whose diaphragm falls 30 mm.

Motion is along z (cranial is positive). A place of the moving image is taken to the fixed one by z + reach(x, y, z), in closed form.
"""
import array
import bisect
import itertools
import math
import random
from dataclasses import replace

import nifti
import phantoms
from cases import Case, Figure

NEAR, ELSEWHERE = "within 5 mm of the sliding border", "elsewhere"
CHEST = (150.0, 105.0)  # half axes of the trunk in mm


def inside(x, y, axes):
    """Below 1 inside an ellipse about the z axis."""
    return math.hypot(x / axes[0], y / axes[1])


def trunk(x, y, z):
    """Below 1 inside the trunk, which is widest a little below the middle."""
    return inside(x, y, CHEST) / (1 - 0.14 * ((z + 20) / 120) ** 2)


def spine(z):
    """HU above muscle of the column behind, whose vertebrae are no two the same height."""
    return 420.0 if math.sin(z / 5 + 2 * math.sin(z / 45)) > -0.6 else 150.0


def rib(y, z):
    """Whether a rib runs here through the ring around the cavity: bands that run down to the front, no two the same distance apart, so that
    a shift by a rib matches nowhere else."""
    low = z - 0.25 * y
    return math.sin(low / 5.5 + 1.6 * math.sin(low / 29)) > 0.4


SPINE, RIB = (0.82 * CHEST[1], 13.0), 400.0  # behind the middle and radius in mm; HU above muscle


def bones(x, y, z, ring):
    """Ribs and spine, in HU above muscle."""
    column = spine(z) if math.hypot(x, y - SPINE[0]) < SPINE[1] else 0.0
    return max(column, RIB if 0.08 < ring < 0.6 and rib(y, z) else 0.0)


def half_width(square, axis):
    """Of an ellipse along x, where `square` is what is left of 1; negative outside."""
    return axis * math.sqrt(square) if square > 0 else -1.0


class Liver:
    """Inside an elliptic cavity everything goes up and down by 20 mm, outside nothing moves: the border slides, without a gap."""

    AXES, MOTION, PLATEAU, FADE, HEIGHT = (118.0, 78.0), 20.0, 50.0, 70.0, 246.0
    FULL = nifti.Grid.centred((512, 512, 296), (0.67, 0.67, 0.83))  # a CT of the abdomen

    def __init__(self, grid, look):
        self.grid, self.look, self.xs = grid, look, grid.axis(0)
        step = max(1, int(3 / grid.spacing[0]))
        self.coarse, self.fine = (phantoms.Rows(phantoms.Texture(seed, waves), self.xs, step) for seed, waves in (
            (3, (140, 110, 85, 66, 52, 42)), (4, (38, 34, 30, 27, 24, 21, 18, 16))))
        outline = [(2 * math.pi * k / 2000) for k in range(2000)]
        self.outline = [(self.AXES[0] * math.cos(a), self.AXES[1] * math.sin(a)) for a in outline]

    def reach(self, x, y, z):
        return self.rise(z) if inside(x, y, self.AXES) < 1 else 0.0

    def rise(self, z):
        """By how much what moves has to go up from the moving image to the fixed one."""
        return self.MOTION * phantoms.fade((abs(z) - self.PLATEAU) / self.FADE)

    def near_border(self, x, y, mm):
        # A point at least so far from the border by its place between the ellipses needs no look at the outline.
        return abs(inside(x, y, self.AXES) - 1) * min(self.AXES) <= mm and self.border_distance(x, y) <= mm

    def border_distance(self, x, y):
        return min(math.hypot(x - a, y - b) for a, b in self.outline)

    def between(self, low, high):
        """The voxels of a row whose x lies between: the first, and the one after the last."""
        return bisect.bisect_left(self.xs, low), bisect.bisect_left(self.xs, high)

    def row(self, y, z, within):
        """Intensities along x, in HU, or of a T1-like MR of the same tissues. `within`: the z of what the cavity shows here."""
        row = [-1000.0 if self.look == "ct" else 0.0] * len(self.xs)
        size = 1 - 0.14 * ((z + 20) / 120) ** 2
        trunk = half_width(size * size - (y / CHEST[1]) ** 2, CHEST[0])
        cavity = self.between(-(half := half_width(1 - (y / self.AXES[1]) ** 2, self.AXES[0])), half)
        whole = self.between(-trunk, trunk)
        sides = ((whole[0], cavity[0]), (cavity[1], whole[1])) if cavity[0] < cavity[1] else (whole,)
        for first, last in sides:
            row[first:last] = self.wall(first, last, y, z)
        row[cavity[0]:cavity[1]] = self.content(*cavity, y, within)
        return row

    def wall(self, first, last, y, z):
        """Muscle, ribs and spine."""
        fine = self.fine(first, last, y, z)
        if self.look == "ct":
            return [40 + 12 * f + b for f, b in zip(fine, self.wall_bones(first, last, y, z))]
        return [70 + 12 * f - 0.1 * b for f, b in zip(fine, self.wall_bones(first, last, y, z))]

    def wall_bones(self, first, last, y, z):
        column = spine(z) if abs(y - SPINE[0]) < SPINE[1] else None
        if column is None and not rib(y, z):
            return [0.0] * (last - first)
        return [bones(x, y, z, (inside(x, y, self.AXES) - 1) / 0.22) for x in self.xs[first:last]]

    def content(self, first, last, y, z):
        """What is inside the ribs: lung above a dome, a liver with vessels, and the rest."""
        ct, coarse, fine = self.look == "ct", self.coarse(first, last, y, z), self.fine(first, last, y, z)
        row = [10 + 45 * c + 15 * f if ct else 90 + 35 * c + 10 * f for c, f in zip(coarse, fine)]

        def replace_between(low, high, tissue):
            low, high = (min(max(i, first), last) - first for i in self.between(low, high))
            row[low:high] = [tissue(c, f) for c, f in zip(coarse[low:high], fine[low:high])]

        liver = half_width(1 - ((y + 4) / 70) ** 2 - ((z + 10) / 66) ** 2, 80)
        replace_between(-42 - liver, -42 + liver, (lambda c, f: 100 + 10 * c + 60 * (f > 1.1)) if ct else
                        (lambda c, f: 130 + 10 * c - 55 * (f > 1.1)))
        dome = (52 - z) / 0.004 - y * y
        edge = math.sqrt(dome) if dome > 0 else 0.0
        for low, high in ((-CHEST[0], -edge), (edge, CHEST[0])):
            replace_between(low, high, (lambda c, f: -820 + 70 * f) if ct else (lambda c, f: 15 + 8 * f))
        return row

    def rows(self, moving):
        """The fixed image's rows, or the moving one's."""
        for z in self.grid.axis(2):
            within = z + self.rise(z) if moving else z
            for y in self.grid.axis(1):
                yield self.row(y, z, within)

    def points(self):
        """3000 points within 5 mm of the sliding border, on both sides, and 3000 elsewhere in the trunk."""
        rng, near, far = random.Random(7), [], []
        while len(near) < 3000 or len(far) < 3000:
            x, y = rng.uniform(-CHEST[0], CHEST[0]), rng.uniform(-CHEST[1], CHEST[1])
            z = rng.uniform(-0.35, 0.35) * self.HEIGHT
            if trunk(x, y, z) < 0.97:
                group = near if self.near_border(x, y, 5) else far
                if len(group) < 3000:
                    group.append((x, y, z))
        return {NEAR: near, ELSEWHERE: far}

    def best_of_a_field(self):
        """Mean error in mm near the border of the displacement field that is the truth at every voxel, and linear between them."""
        errors = []
        for x, y, z in self.points()[NEAR]:
            lower, share = zip(*(divmod((p - o) / s, 1) for p, o, s in zip((x, y), self.grid.origin, self.grid.spacing)))
            moves = 0.0
            for i, j in itertools.product((0, 1), (0, 1)):
                corner = [o + s * (n + k) for o, s, n, k in zip(self.grid.origin, self.grid.spacing, lower, (i, j))]
                if inside(*corner, self.AXES) < 1:
                    moves += (share[0] if i else 1 - share[0]) * (share[1] if j else 1 - share[1])
            # Along z the motion varies so slowly that what lies between two voxels does not count.
            errors.append(abs(moves - (inside(x, y, self.AXES) < 1)) * self.rise(z))
        return sum(errors) / len(errors)

    def cavity(self):
        """What moves, as a mask, a slice at a time: the cavity is the same in both images and in all slices."""
        xs, voxels = self.xs, array.array("B")
        for y in self.grid.axis(1):
            voxels.extend([inside(x, y, self.AXES) < 1 for x in xs])
        return [voxels] * self.grid.size[2]


class Lung:
    """The diaphragm falls 30 mm from expiration to inspiration; the motion ends at the apex, at the chest wall and in the abdomen.

    What a voxel of lung weighs is kept: it gets darker as it expands."""

    MOTION, APEX, BASE, END, HEIGHT = 30.0, 105.0, -60.0, -144.0, 288.0

    def __init__(self, voxel):
        self.grid = nifti.Grid.around((2 * CHEST[0] + 12, 2 * CHEST[1] + 12, self.HEIGHT), voxel)
        self.fine, self.coarse = phantoms.Texture(5, (40, 35, 31, 27, 24, 21, 18, 16)), phantoms.Texture(6, (120, 90, 70, 55, 44))

    def across(self, x, y):
        return phantoms.fade((inside(x, y, CHEST) - 0.68) / 0.28)

    def reach(self, x, y, z):
        end = self.APEX if z > self.BASE else self.END
        return self.MOTION * phantoms.fade((z - self.BASE) / (end - self.BASE)) * self.across(x, y)

    def stretch(self, x, y, z):
        """The Jacobian of the map into the fixed image: fixed volume per moving volume."""
        end = self.APEX if z > self.BASE else self.END
        slope = phantoms.fade_slope((z - self.BASE) / (end - self.BASE)) / (end - self.BASE)
        return 1 + self.MOTION * slope * self.across(x, y)

    def lung(self, x, y, z):
        """Whether this is lung in the fixed image: two halves above a dome each."""
        dome = -22 - 0.006 * ((abs(x) - 66) ** 2 + y * y)
        return z > dome and math.hypot((abs(x) - 66) / 52, y / 82, (z - dome) / (112 - dome) if z > 0 else 0.0) < 1

    def value(self, x, y, z):
        if trunk(x, y, z) > 1:
            return -1000.0
        fine = self.fine(x, y, z)
        if self.lung(x, y, z):
            return -780 + 50 * fine + (250 if fine > 1.3 else 0)
        ring = (inside(x, y, CHEST) - 0.86) / 0.12
        return 45 + 20 * self.coarse(x, y, z) + 10 * fine + bones(x, y, z, ring)

    def moving_value(self, x, y, z):
        there = z + self.reach(x, y, z)
        value = self.value(x, y, there)
        if trunk(x, y, there) < 1 and self.lung(x, y, there):
            return (value + 1000) * self.stretch(x, y, z) - 1000
        return value

    def points(self):
        """3000 points in the lungs, and 2000 within 10 mm of the diaphragm, where the motion is largest."""
        rng, lungs, floor = random.Random(8), [], []
        while len(lungs) < 3000 or len(floor) < 2000:
            x, y = rng.uniform(-CHEST[0], CHEST[0]), rng.uniform(-CHEST[1], CHEST[1])
            z = rng.uniform(-0.45, 0.45) * self.HEIGHT
            there = z + self.reach(x, y, z)
            if not self.lung(x, y, there):
                continue
            if len(lungs) < 3000:
                lungs.append((x, y, z))
            if len(floor) < 2000 and not self.lung(x, y, there - 10):
                floor.append((x, y, z))
        return {"in the lungs": lungs, "within 10 mm of the diaphragm": floor}


def points_figure(folder, phantom, name, points):
    """Moving points are drawn, fixed ones computed."""
    stem = name.replace(" ", "_")
    files = folder / f"{stem}_fixed.csv", folder / f"{stem}_moving.csv"
    phantoms.write_points(files[0], [(x, y, z + phantom.reach(x, y, z)) for x, y, z in points])
    phantoms.write_points(files[1], points)
    return Figure(f"error {name}, mm", "mm", *files)


def case(phantom, name, files, folder, note):
    figures = [points_figure(folder, phantom, group, points) for group, points in phantom.points().items()]
    return Case(name, *files, tuple(figures), note=note)


def masked(phantom, plain, folder):
    """The same pair with a mask of what moves, judged inside it: what is done where such a mask is at hand."""
    mask = folder / "cavity.nii"
    nifti.write_slabs(mask, phantom.grid, "B", phantom.cavity())
    groups = {name: [p for p in points if inside(p[0], p[1], phantom.AXES) < 1] for name, points in phantom.points().items()}
    figures = [points_figure(folder, phantom, f"{name}, inside", points) for name, points in groups.items()]
    return replace(plain, name=f"{plain.name}_mask", figures=tuple(figures), masks=(mask, mask),
                   note="The same with masks of what moves, judged inside them.")


def written(phantom, folder, noise, full):
    """The pair's files: floats with noise of every voxel's own, or, of the large grid, whole numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    files = folder / "fixed.nii", folder / "moving.nii"
    for seed, file in enumerate(files):
        rows = phantom.rows(moving=seed == 1)
        if full:
            nifti.write_slabs(file, phantom.grid, "h", phantoms.noisy_rows(rows, noise, seed))
        else:
            nifti.write(file, phantom.grid, phantoms.noisy(itertools.chain.from_iterable(rows), noise, seed))
    return files


def livers(folder, wanted, full=False):
    """The pairs whose names are wanted; the large ones have names of their own."""
    grid = Liver.FULL if full else nifti.Grid.around((2 * CHEST[0] + 12, 2 * CHEST[1] + 12, Liver.HEIGHT), 3.0)
    found, end = [], "_full" if full else ""
    for look, noise, kind in (("ct", 15.0, "CT-like"), ("mr", 4.0, "MR-like")):
        name, place = f"phantom_liver_{look}{end}", folder / f"phantom_{look}{end}"
        if not wanted(name) and not wanted(f"{name}_mask"):
            continue
        phantom = Liver(grid, look)
        pair = case(phantom, name, written(phantom, place, noise, full), place,
                    f"Phantom, {kind}: everything inside the ribs moves by 20 mm along them, nothing outside. A displacement field that is "
                    f"the truth at every voxel leaves {phantom.best_of_a_field():.2f} mm within 5 mm of the border.")
        found += [pair] if wanted(name) else []
        found += [masked(phantom, pair, place)] if wanted(f"{name}_mask") else []
    return found


def lungs(folder, wanted):
    name, place = "phantom_lung", folder / "phantom"
    if not wanted(name):
        return []
    phantom = Lung(3.0)
    clean = [phantoms.fill(phantom.grid, phantom.value), phantoms.fill(phantom.grid, phantom.moving_value)]
    files = phantoms.write_pair(place, phantom.grid, *(phantoms.noisy(c, 15.0, i) for i, c in enumerate(clean)))
    return [case(phantom, name, files, place,
                 "Phantom, CT-like: the diaphragm falls by 30 mm from expiration (fixed) to inspiration, smoothly to the chest wall.")]
