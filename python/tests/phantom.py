"""Small synthetic brains: a lopsided ellipsoid with ventricles and a few blobs, warped smoothly."""
import numpy as np

SHAPE = (36, 40, 32)
AFFINE = np.array([[2.0, 0, 0, -35], [0, 2.0, 0, -38], [0, 0, 2.5, -40], [0, 0, 0, 1]])


def brain(seed=0, shape=SHAPE, shift=0.0):
    """float32 in Fortran order, as nibabel gives it; `seed` moves what lies inside."""
    random = np.random.default_rng(seed)
    i, j, k = np.meshgrid(*[np.arange(n, dtype=np.float64) for n in shape], indexing="ij")
    wave = random.normal(size=(3, 3)) * 1.2
    x = i + wave[0, 0] * np.sin(j / 7) + wave[0, 1] * np.cos(k / 6) + shift
    y = j + wave[1, 0] * np.sin(k / 6) + wave[1, 1] * np.cos(i / 7)
    z = k + wave[2, 0] * np.sin(i / 6) + wave[2, 1] * np.cos(j / 8)
    centre = [(n - 1) / 2 for n in shape]

    def blob(a, b, c, ra, rb, rc):
        r = ((x - centre[0] - a) / ra) ** 2 + ((y - centre[1] - b) / rb) ** 2 + ((z - centre[2] - c) / rc) ** 2
        return 1 / (1 + np.exp(4 * (r - 1)))

    scale = shape[0] / 36
    voxels = 100 * blob(0, 0, 0, 13 * scale, 15 * scale, 11 * scale) - 60 * blob(-3, 1, 1, 4, 6, 3) + 40 * blob(5, -4, 2, 3, 4, 3)
    voxels += 30 * blob(2, 7, -3, 4, 3, 3)
    voxels = np.maximum(voxels, 80 * blob(1, -12 * scale, -8 * scale, 8 * scale, 5 * scale, 5 * scale))  # front is not back
    return np.asfortranarray(voxels.astype(np.float32))


def labels(seed=0, shape=SHAPE):
    voxels = brain(seed, shape)
    return np.asfortranarray(np.digitize(voxels, [20, 60, 110]).astype(np.int16))
