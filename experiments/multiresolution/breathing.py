"""Two breathing trunks whose motion is known: a liver that slides along the ribs, and a lung whose diaphragm falls 30 mm.

Motion is along z (cranial is positive). A place of the moving image is taken to the fixed one by z + reach(x, y, z), in closed form.
"""
import math
import random

import nifti
import phantoms
from cases import Case, Figure

CHEST = (150.0, 105.0)  # half axes of the trunk in mm


def inside(x, y, axes):
    """Below 1 inside an ellipse about the z axis."""
    return math.hypot(x / axes[0], y / axes[1])


def bones(x, y, z, ring):
    """Ribs and spine, in HU above muscle: bands that run down to the front in the ring around the cavity, and a column behind."""
    spine = 350.0 if math.hypot(x, y - 0.86 * CHEST[1]) < 14 else 0.0
    rib = 400.0 if 0.25 < ring < 0.75 and math.sin(2 * math.pi * (z - 0.25 * y) / 32) > 0.35 else 0.0
    return max(spine, rib)


class Liver:
    """Inside an elliptic cavity everything goes up and down by 20 mm, outside nothing moves: the border slides, without a gap."""

    AXES, MOTION, PLATEAU, FADE, HEIGHT = (118.0, 78.0), 20.0, 46.0, 50.0, 198.0

    def __init__(self, voxel, look):
        self.grid = nifti.Grid.around((2 * CHEST[0] + 12, 2 * CHEST[1] + 12, self.HEIGHT), voxel)
        self.look, self.voxel = look, voxel
        self.coarse, self.fine = phantoms.texture(3, (60, 44, 35)), phantoms.texture(4, (27, 22, 17))
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
        if inside(x, y, CHEST) > 1:
            return -1000.0 if self.look == "ct" else 0.0
        cavity = inside(x, y, self.AXES)
        coarse, fine = self.coarse(x, y, z), self.fine(x, y, z)
        if cavity >= 1:
            bone = bones(x, y, z, (cavity - 1) / 0.27)
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
            z = rng.uniform(-0.4, 0.4) * self.HEIGHT
            if inside(x, y, CHEST) < 0.97:
                group = near if self.border_distance(x, y) <= 5 else far
                if len(group) < 3000:
                    group.append((x, y, z))
        return {"within 5 mm of the sliding border": near, "elsewhere": far}


class Lung:
    """The diaphragm falls 30 mm from expiration to inspiration; the motion ends at the apex, at the chest wall and in the abdomen.

    What a voxel of lung weighs is kept: it gets darker as it expands."""

    MOTION, APEX, BASE, END, HEIGHT = 30.0, 105.0, -60.0, -144.0, 288.0

    def __init__(self, voxel):
        self.grid = nifti.Grid.around((2 * CHEST[0] + 12, 2 * CHEST[1] + 12, self.HEIGHT), voxel)
        self.fine, self.coarse = phantoms.texture(5, (26, 20, 16)), phantoms.texture(6, (60, 45, 34))

    def across(self, x, y):
        return phantoms.fade((inside(x, y, CHEST) - 0.68) / 0.28)

    def reach(self, x, y, z):
        along = phantoms.fade((z - self.BASE) / (self.APEX - self.BASE)) if z > self.BASE else phantoms.fade((self.BASE - z) / (self.BASE - self.END))
        return self.MOTION * along * self.across(x, y)

    def stretch(self, x, y, z):
        """The Jacobian of the map into the fixed image: fixed volume per moving volume."""
        if z <= self.BASE:
            slope = -phantoms.fade_slope((self.BASE - z) / (self.BASE - self.END)) / (self.BASE - self.END)
        else:
            slope = phantoms.fade_slope((z - self.BASE) / (self.APEX - self.BASE)) / (self.APEX - self.BASE)
        return 1 + self.MOTION * slope * self.across(x, y)

    def lung(self, x, y, z):
        """Whether this is lung in the fixed image: two halves above a dome each."""
        dome = -22 - 0.006 * ((abs(x) - 66) ** 2 + y * y)
        return z > dome and math.hypot((abs(x) - 66) / 52, y / 82, (z - dome) / (112 - dome) if z > 0 else 0.0) < 1

    def value(self, x, y, z):
        if inside(x, y, CHEST) > 1:
            return -1000.0
        fine = self.fine(x, y, z)
        if self.lung(x, y, z):
            return -780 + 50 * fine + (250 if fine > 1.3 else 0)
        ring = (inside(x, y, CHEST) - 0.86) / 0.12
        return 45 + 20 * self.coarse(x, y, z) + 10 * fine + bones(x, y, z, ring)

    def moving_value(self, x, y, z):
        there = z + self.reach(x, y, z)
        value = self.value(x, y, there)
        if inside(x, y, CHEST) < 1 and self.lung(x, y, there):
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


def case(phantom, name, folder, noise, note):
    """Writes the phantom's images and points; moving points are drawn, fixed ones computed."""
    clean = [phantoms.fill(phantom.grid, phantom.value), phantoms.fill(phantom.grid, phantom.moving_value)]
    fixed, moving = phantoms.write_pair(folder, phantom.grid, *(phantoms.noisy(c, noise, i) for i, c in enumerate(clean)))
    figures = []
    for number, (group, points) in enumerate(phantom.points().items()):
        files = folder / f"fixed_points{number}.csv", folder / f"moving_points{number}.csv"
        phantoms.write_points(files[0], [(x, y, z + phantom.reach(x, y, z)) for x, y, z in points])
        phantoms.write_points(files[1], points)
        figures.append(Figure(f"error {group}, mm", "mm", *files))
    return Case(name, fixed, moving, tuple(figures), note=note)


def livers(folder, voxel=3.0):
    return [case(Liver(voxel, look), f"phantom_liver_{look}", folder / f"phantom_{look}", noise,
                 f"Phantom, {kind}: everything inside the ribs moves by 20 mm along them, nothing outside.")
            for look, noise, kind in (("ct", 15.0, "CT-like"), ("mr", 4.0, "MR-like"))]


def lungs(folder, voxel=3.0):
    return [case(Lung(voxel), "phantom_lung", folder / "phantom", 15.0,
                 "Phantom, CT-like: the diaphragm falls by 30 mm from expiration (fixed) to inspiration, smoothly to the chest wall.")]
