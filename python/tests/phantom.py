"""Small synthetic brains, each bent in its own way; front, back, top and bottom differ."""

import numpy as np

SHAPE = (36, 40, 32)
AFFINE = np.array([[2.0, 0, 0, -35], [0, 2.0, 0, -38], [0, 0, 2.5, -40], [0, 0, 0, 1]])


def rotated():
    """Voxels of 2 x 2 x 2.5 mm turned by 20 degrees about two axes."""
    c, s = np.cos(0.35), np.sin(0.35)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    affine = np.array(AFFINE)
    affine[:3, :3] = turn @ affine[:3, :3]
    return affine


def brain(seed=0, shape=SHAPE, shift=0.0):
    """float32 in Fortran order, as nibabel gives it."""
    random = np.random.default_rng(seed)
    index = np.meshgrid(*[np.arange(n, dtype=float) for n in shape], indexing="ij")
    scale = shape[0] / 36
    points = [(a - (n - 1) / 2) / scale for a, n in zip(index, shape)]
    points[0] = points[0] + shift
    bend = random.normal(size=(3, 2)) * 1.2
    x, y, z = (
        p + b[0] * np.sin(points[(k + 1) % 3] / 7) + b[1] * np.cos(points[(k + 2) % 3] / 8) for k, (p, b) in enumerate(zip(points, bend))
    )

    def inside(a, b, c, ra, rb, rc):
        return 1 / (1 + np.exp(6 * (np.sqrt(((x - a) / ra) ** 2 + ((y - b) / rb) ** 2 + ((z - c) / rc) ** 2) - 1)))

    head = np.maximum(inside(0, 2, 1, 13 - 0.15 * y, 15, 11), inside(0, -11, -7, 7, 5, 5))
    white = np.maximum(inside(0, 2, 2, 10 - 0.15 * y, 12, 8), inside(0, -11, -7, 4, 2.5, 2.5))
    holes = inside(-2.5, 1, 1, 2, 6, 2.5) + inside(2.5, 1, 1, 2, 6, 2.5)
    nuclei = inside(-6, -2, -2, 2.5, 3.5, 2.5) + inside(6, -2, -2, 2.5, 3.5, 2.5)
    voxels = 60 * head + 40 * white - 80 * np.minimum(holes, 1) - 30 * np.minimum(nuclei, 1)
    return np.asfortranarray(voxels.astype(np.float32))


def labels(seed=0, shape=SHAPE):
    return np.asfortranarray(np.digitize(brain(seed, shape), [15, 45, 80]).astype(np.int16))


def heads(seeds=(0, 1)):
    """Two brains, each with the head that it is in: (brain, head) of each, on a grid with air around."""
    pairs = []
    for seed in seeds:
        voxels = np.pad(np.where(brain(seed) > 10, brain(seed), 0), 10)
        x, y, z = (np.arange(n)[:, None, None].transpose(np.roll(range(3), axis)) - (n - 1) / 2 for axis, n in enumerate(voxels.shape))
        outer = np.sqrt((x / 18) ** 2 + ((y - 1) / 20) ** 2 + (z / 17) ** 2)
        texture = np.sin(0.9 * x + seed) * np.sin(0.8 * y) * np.sin(0.7 * z + seed)
        scalp = np.where((outer > 0.9) & (outer < 1.25), 90 + 40 * texture, 0)
        pairs.append(tuple(np.asfortranarray(v.astype(np.float32)) for v in (voxels, np.where(voxels > 0, voxels, scalp))))
    return pairs
