"""What befalls images before they are registered: turned, cut, in coarse blocks, inverted, noisy, padded, masked by NaN, stored otherwise.

A harm takes a generator of random numbers, the fixed and the moving Side, changes them and returns its name with what was drawn. Worlds are
RAS, as nibabel has them; landmarks are LPS, as the files have them.
"""
import numpy as np

LPS = np.diag([-1.0, -1.0, 1.0, 1.0])


class Side:
    """An image with its place and what is known of it: labels with theirs, or points."""

    def __init__(self, image, truth):
        self.voxels, self.affine = image[0].astype(np.float32), image[1]
        self.labels, self.labels_affine = truth if isinstance(truth, tuple) else (None, None)
        self.points = None if isinstance(truth, tuple) else truth.copy()

    @property
    def spacing(self):
        return np.linalg.norm(self.affine[:3, :3], axis=0)

    def center(self):
        return (self.affine @ np.r_[(np.array(self.voxels.shape) - 1) / 2, 1])[:3]

    def move(self, world):
        """The image and what is known of it to another place."""
        self.affine = world @ self.affine
        if self.labels is not None:
            self.labels_affine = world @ self.labels_affine
        else:
            of_points = LPS @ world @ LPS
            self.points = self.points @ of_points[:3, :3].T + of_points[:3, 3]

    def regrid(self, voxels, first=(0, 0, 0), step=(1, 1, 1)):
        """Other voxels: the first of them lies at `first` of those there were, `step` of them apart."""
        to = np.diag([*step, 1.0])
        to[:3, 3] = first
        self.voxels, self.affine = voxels, self.affine @ to

    def object(self):
        low, high = np.nanpercentile(self.voxels, (1, 99))
        return self.voxels > low + 0.1 * (high - low)

    def object_along(self, axis):
        """The object's first voxel along an axis and the one behind its last."""
        hit = np.flatnonzero(self.object().any(axis=tuple(a for a in range(3) if a != axis)))
        return hit[0], hit[-1] + 1

    def contains(self, points):
        """Which LPS points lie on the grid."""
        at = (np.linalg.inv(self.affine) @ LPS @ np.c_[points, np.ones(len(points))].T)[:3].T
        return ((at >= 0) & (at <= np.array(self.voxels.shape) - 1)).all(1)


def about(center, linear):
    world = np.eye(4)
    world[:3, :3], world[:3, 3] = linear, center - linear @ center
    return world


def rotation(random, degrees):
    axis = random.normal(size=3)
    x, y, z = axis / np.linalg.norm(axis)
    angle = np.deg2rad(random.uniform(degrees / 2, degrees))
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def rotate30(random, fixed, moving):
    moving.move(about(moving.center(), rotation(random, 30)))
    return "rotate30"


def rotate90(random, fixed, moving):
    moving.move(about(moving.center(), rotation(random, 90)))
    return "rotate90"


def shift(random, fixed, moving):
    world = np.eye(4)
    world[:3, 3] = random.uniform(-0.5, 0.5, 3) * moving.spacing * moving.voxels.shape
    moving.move(world)
    return "shift"


def zoom(random, fixed, moving):
    factor = np.exp(random.choice([-1, 1]) * random.uniform(0.1, 0.3))
    moving.move(about(moving.center(), np.eye(3) * factor))
    return f"zoom_{factor:.2f}"


def stretch(random, fixed, moving):
    """Along the grid's axes: along others voxels would be sheared, which a qform cannot say."""
    axes = moving.affine[:3, :3] / moving.spacing
    moving.move(about(moving.center(), axes @ np.diag(np.exp(random.uniform(-0.18, 0.18, 3))) @ np.linalg.inv(axes)))
    return "stretch"


def crop(random, side):
    """50 to 85 % of the object along one axis: its lower end, its higher end or its middle."""
    axis = random.integers(3)
    begin, end = side.object_along(axis)
    share = random.uniform(0.5, 0.85)
    n = max(4, int((end - begin) * share))
    part = random.integers(3)
    first = (begin, end - n, begin + (end - begin - n) // 2)[part]
    at = np.zeros(3)
    at[axis] = first
    side.regrid(side.voxels[(slice(None),) * axis + (slice(first, first + n),)], at)
    return f"{'xyz'[axis]}{share:.2f}{'lhm'[part]}"


def crop_fixed(random, fixed, moving):
    return "crop_fixed_" + crop(random, fixed)


def crop_moving(random, fixed, moving):
    return "crop_moving_" + crop(random, moving)


def blocks(random, side):
    """Means of blocks of voxels, but not along an axis whose voxels are long already."""
    shapes = [(1, 1, 4), (2, 2, 2), (1, 4, 1), (3, 3, 3), (4, 1, 1)]
    thin = side.spacing <= 2.2 * side.spacing.min()
    block = np.where(thin, shapes[random.integers(len(shapes))], 1)
    n = np.array(side.voxels.shape) // block
    whole = side.voxels[tuple(slice(k) for k in n * block)]
    means = whole.reshape(n[0], block[0], n[1], block[1], n[2], block[2]).mean(axis=(1, 3, 5))
    side.regrid(means, (block - 1) / 2, block)
    return "x".join(map(str, block))


def blocks_moving(random, fixed, moving):
    return "blocks_moving_" + blocks(random, moving)


def blocks_fixed(random, fixed, moving):
    return "blocks_fixed_" + blocks(random, fixed)


def invert(random, fixed, moving):
    v = moving.voxels
    low, high = v.min(), np.percentile(v, 99.5)
    moving.voxels = np.where(moving.object(), np.clip(high - v, 0, None) * 0.8 + 0.2 * (high - low) + low, v).astype(np.float32)
    return "invert"


def gamma(random, fixed, moving):
    power = random.choice([0.5, 2.0])
    low, high = moving.voxels.min(), moving.voxels.max()
    moving.voxels = (((moving.voxels - low) / (high - low)) ** power * (high - low) + low).astype(np.float32)
    return f"gamma_{power}"


def bias40(random, fixed, moving):
    """Up to +-40 % along a line, each image its own."""
    for side in (fixed, moving):
        axes = np.meshgrid(*(np.linspace(-1, 1, n, dtype=np.float32) for n in side.voxels.shape), indexing="ij", sparse=True)
        along = random.normal(size=3)
        ramp = sum(c * axis for c, axis in zip(along / np.linalg.norm(along), axes))
        low = side.voxels.min()
        side.voxels = (side.voxels - low) * (1 + 0.4 * ramp / np.abs(ramp).max()) + low
    return "bias40"


def noise7(random, fixed, moving):
    """Rician, 7 % of white."""
    for side in (fixed, moving):
        low = side.voxels.min()
        sigma = 0.07 * (np.percentile(side.voxels, 99) - low)
        shape = side.voxels.shape
        side.voxels = (np.hypot(side.voxels - low + random.normal(0, sigma, shape), random.normal(0, sigma, shape)) + low).astype(np.float32)
    return "noise7"


def pad(random, fixed, moving):
    """With the least value, up to half of the grid at either end."""
    n = moving.voxels.shape
    widths = [tuple(int(random.uniform(0, 0.5) * k) for _ in range(2)) for k in n]
    if np.prod([k + sum(w) for k, w in zip(n, widths)]) > 3e7:
        widths = [(a // 3, b // 3) for a, b in widths]
    moving.regrid(np.pad(moving.voxels, widths, constant_values=moving.voxels.min()), [-a for a, _ in widths])
    return "pad"


def pad_low(random, fixed, moving):
    """An eighth of the grid at either end, as far below the least value as the largest lies above it."""
    low, high = moving.voxels.min(), moving.voxels.max()
    widths = [(k // 8, k // 8) for k in moving.voxels.shape]
    moving.regrid(np.pad(moving.voxels, widths, constant_values=2 * low - high), [-a for a, _ in widths])
    return "pad_low"


def axes(random, fixed, moving):
    """Stored in another order, some axes backwards."""
    order = random.permutation(3)
    to = np.zeros((4, 4))
    to[3, 3] = 1
    for i in range(3):
        to[order[i], i] = 1
    moving.voxels, moving.affine = np.transpose(moving.voxels, order), moving.affine @ to
    for i in range(3):
        if random.integers(2):
            first, step = np.zeros(3), np.ones(3)
            first[i], step[i] = moving.voxels.shape[i] - 1, -1
            moving.regrid(np.flip(moving.voxels, i), first, step)
    moving.voxels = np.ascontiguousarray(moving.voxels)
    return "axes"


def swap(random, fixed, moving):
    fixed.__dict__, moving.__dict__ = moving.__dict__, fixed.__dict__
    return "swap"


def masked(random, fixed, moving):
    """The least value or NaN outside the object."""
    fill = np.nan if random.integers(2) else moving.voxels.min()
    moving.voxels = np.where(moving.object(), moving.voxels, fill).astype(np.float32)
    return "masked_nan" if np.isnan(fill) else "masked"


def metal(random, fixed, moving):
    """A ball in the object, eight times as bright as all else."""
    inside = np.argwhere(moving.object())
    center = inside[random.integers(len(inside))]
    sides = moving.spacing * moving.voxels.shape
    radius = max(0.04 * sides.min(), 2 * moving.spacing.min())
    grid = np.ogrid[tuple(slice(n) for n in moving.voxels.shape)]
    square = sum(((g - c) * s) ** 2 for g, c, s in zip(grid, center, moving.spacing))
    moving.voxels = np.where(square < radius**2, moving.voxels.max() * 8 + 1, moving.voxels)
    return "metal"


def cut(random, fixed, moving):
    """One image's object ends 20 to 40 % early within its grid."""
    name, side = (("cut_fixed", fixed), ("cut_moving", moving))[random.integers(2)]
    axis = random.integers(3)
    begin, end = side.object_along(axis)
    n = int((end - 1 - begin) * random.uniform(0.2, 0.4))
    gone = slice(0, begin + n) if random.integers(2) else slice(end - 1 - n, None)
    side.voxels = side.voxels.copy()
    side.voxels[(slice(None),) * axis + (gone,)] = np.nan if np.isnan(side.voxels).any() else side.voxels.min()
    return name


def contrast(random, fixed, moving):
    """Another contrast: dark stays dark, all else goes along a curve that turns, as from T1 to FLAIR."""
    low, high = np.nanpercentile(moving.voxels, (1, 99.5))
    at = np.linspace(0, 1, 6)
    while True:
        to = np.r_[0, random.uniform(0, 1, 5)]
        rises = np.diff(to)
        if rises[rises > 0].sum() > 0.4 and rises[rises < 0].sum() < -0.4:
            break
    moving.voxels = (1000 * np.interp((moving.voxels - low) / (high - low), at, to)).astype(np.float32)
    return "contrast_" + ",".join("%.2f" % v for v in to)


# In the order in which they befall an image.
ALL = (rotate30, rotate90, shift, zoom, stretch, crop_moving, crop_fixed, blocks_moving, blocks_fixed, invert, gamma, bias40, noise7, pad, pad_low, axes,
       swap, metal, masked, cut)
# Not among what cases are drawn from: --harms contrast.
ASKED_FOR = (contrast,)
