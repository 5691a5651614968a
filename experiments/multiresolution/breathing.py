"""Two breathing trunks whose motion is known: a liver that slides along the ribs, and a lung whose diaphragm falls 30 mm.

Motion is along z (cranial is positive). A place of the moving image is taken to the fixed one by z + reach(x, y, z), in closed form.
"""
import array
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


def bones(x, y, z, ring):
    """Ribs and spine, in HU above muscle: bands that run down to the front in the ring around the cavity, and a column behind.

    No two are the same distance apart, so that a shift by a rib matches nowhere else."""
    spine = (420.0 if math.sin(z / 5 + 2 * math.sin(z / 45)) > -0.6 else 150.0) if math.hypot(x, y - 0.82 * CHEST[1]) < 13 else 0.0
    low = z - 0.25 * y
    rib = 400.0 if 0.08 < ring < 0.6 and math.sin(low / 5.5 + 1.6 * math.sin(low / 29)) > 0.4 else 0.0
    return max(spine, rib)


class Liver:
    """Inside an elliptic cavity everything goes up and down by 20 mm, outside nothing moves: the border slides, without a gap."""

    AXES, MOTION, PLATEAU, FADE, HEIGHT = (118.0, 78.0), 20.0, 50.0, 70.0, 246.0

    def __init__(self, voxel, look):
        self.grid = nifti.Grid.around((2 * CHEST[0] + 12, 2 * CHEST[1] + 12, self.HEIGHT), voxel)
        self.look, self.voxel = look, voxel
        self.coarse, self.fine = phantoms.texture(3, (140, 110, 85, 66, 52, 42)), phantoms.texture(4, (38, 34, 30, 27, 24, 21, 18, 16))
        outline = [(2 * math.pi * k / 2000) for k in range(2000)]
        self.outline = [(self.AXES[0] * math.cos(a), self.AXES[1] * math.sin(a)) for a in outline]

    def reach(self, x, y, z):
        if inside(x, y, self.AXES) >= 1:
            return 0.0
        return self.MOTION * phantoms.fade((abs(z) - self.PLATEAU) / self.FADE)

    def border_distance(self, x, y):
        return min(math.hypot(x - a, y - b) for a, b in self.outline)

    def value(self, x, y, z):
        """Intensity of what lies here in the fixed image: CT in HU, or a T1-like MR of the same tissues."""
        if trunk(x, y, z) > 1:
            return -1000.0 if self.look == "ct" else 0.0
        cavity = inside(x, y, self.AXES)
        coarse, fine = self.coarse(x, y, z), self.fine(x, y, z)
        if cavity >= 1:
            bone = bones(x, y, z, (cavity - 1) / 0.22)
            return 40 + 12 * fine + bone if self.look == "ct" else 70 + 12 * fine - 0.1 * bone
        if z > 52 - 0.004 * (x * x + y * y):
            return -820 + 70 * fine if self.look == "ct" else 15 + 8 * fine
        if math.hypot((x + 42) / 80, (y + 4) / 70, (z + 10) / 66) < 1:
            vessel = fine > 1.1
            return 100 + 10 * coarse + 60 * vessel if self.look == "ct" else 130 + 10 * coarse - 55 * vessel
        return 10 + 45 * coarse + 15 * fine if self.look == "ct" else 90 + 35 * coarse + 10 * fine

    def moving_value(self, x, y, z):
        return self.value(x, y, z + self.reach(x, y, z))

    def points(self):
        """3000 points within 5 mm of the sliding border, on both sides, and 3000 elsewhere in the trunk."""
        rng, near, far = random.Random(7), [], []
        while len(near) < 3000 or len(far) < 3000:
            x, y = rng.uniform(-CHEST[0], CHEST[0]), rng.uniform(-CHEST[1], CHEST[1])
            z = rng.uniform(-0.35, 0.35) * self.HEIGHT
            if trunk(x, y, z) < 0.97:
                group = near if self.border_distance(x, y) <= 5 else far
                if len(group) < 3000:
                    group.append((x, y, z))
        return {NEAR: near, ELSEWHERE: far}

    def cavity(self):
        """What moves, as a mask: the cavity is the same in both images."""
        xs, voxels = self.grid.axis(0), array.array("B")
        for _ in self.grid.axis(2):
            for y in self.grid.axis(1):
                voxels.extend([inside(x, y, self.AXES) < 1 for x in xs])
        return voxels


class Lung:
    """The diaphragm falls 30 mm from expiration to inspiration; the motion ends at the apex, at the chest wall and in the abdomen.

    What a voxel of lung weighs is kept: it gets darker as it expands."""

    MOTION, APEX, BASE, END, HEIGHT = 30.0, 105.0, -60.0, -144.0, 288.0

    def __init__(self, voxel):
        self.grid = nifti.Grid.around((2 * CHEST[0] + 12, 2 * CHEST[1] + 12, self.HEIGHT), voxel)
        self.fine, self.coarse = phantoms.texture(5, (40, 35, 31, 27, 24, 21, 18, 16)), phantoms.texture(6, (120, 90, 70, 55, 44))

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


def case(phantom, name, folder, noise, note):
    """Writes the phantom's images and points."""
    clean = [phantoms.fill(phantom.grid, phantom.value), phantoms.fill(phantom.grid, phantom.moving_value)]
    fixed, moving = phantoms.write_pair(folder, phantom.grid, *(phantoms.noisy(c, noise, i) for i, c in enumerate(clean)))
    figures = [points_figure(folder, phantom, group, points) for group, points in phantom.points().items()]
    return Case(name, fixed, moving, tuple(figures), note=note)


def masked(phantom, plain, folder):
    """The same pair with a mask of what moves, judged inside it: what is done where such a mask is at hand."""
    mask = folder / "cavity.nii"
    nifti.write(mask, phantom.grid, phantom.cavity())
    groups = {name: [p for p in points if inside(p[0], p[1], phantom.AXES) < 1] for name, points in phantom.points().items()}
    figures = [points_figure(folder, phantom, f"{name}, inside", points) for name, points in groups.items()]
    return replace(plain, name=f"{plain.name}_mask", figures=tuple(figures), masks=(mask, mask),
                   note="The same with masks of what moves, judged inside them.")


def livers(folder, voxel=3.0):
    found = []
    for look, noise, kind in (("ct", 15.0, "CT-like"), ("mr", 4.0, "MR-like")):
        phantom, place = Liver(voxel, look), folder / f"phantom_{look}"
        found.append(case(phantom, f"phantom_liver_{look}", place, noise,
                          f"Phantom, {kind}: everything inside the ribs moves by 20 mm along them, nothing outside."))
        found.append(masked(phantom, found[-1], place))
    return found


def lungs(folder, voxel=3.0):
    return [case(Lung(voxel), "phantom_lung", folder / "phantom", 15.0,
                 "Phantom, CT-like: the diaphragm falls by 30 mm from expiration (fixed) to inspiration, smoothly to the chest wall.")]
