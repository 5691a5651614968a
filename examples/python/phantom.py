"""Small synthetic brains for the examples, so that they run anywhere in seconds."""

import numpy as np

import freeflow

AFFINE_RAS = np.array([[2.5, 0, 0, -55], [0, 2.5, 0, -60], [0, 0, 2.5, -50], [0, 0, 0, 1.0]])
SHAPE = (44, 50, 40)


def subject(seed):
    """(image, labels): a head with ventricles and nuclei, bent in its own way; both freeflow.Image."""
    random = np.random.default_rng(seed)
    index = np.meshgrid(*[np.arange(n, dtype=float) for n in SHAPE], indexing="ij")
    points = [a - (n - 1) / 2 for a, n in zip(index, SHAPE)]
    bend = random.normal(size=(3, 2)) * 1.6
    x, y, z = (
        p + b[0] * np.sin(points[(k + 1) % 3] / 8) + b[1] * np.cos(points[(k + 2) % 3] / 9) for k, (p, b) in enumerate(zip(points, bend))
    )
    folds = 0.06 * np.sin(x / 1.7) * np.sin(y / 1.9) * np.sin(z / 1.8)

    def inside(a, b, c, ra, rb, rc):
        return 1 / (1 + np.exp(16 * (np.sqrt(((x - a) / ra) ** 2 + ((y - b) / rb) ** 2 + ((z - c) / rc) ** 2) - 1 + folds)))

    head = np.maximum(inside(0, 2, 1, 16 - 0.15 * y, 19, 14), inside(0, -14, -9, 9, 6, 6))
    white = np.maximum(inside(0, 2, 2, 12 - 0.15 * y, 15, 10), inside(0, -14, -9, 5, 3, 3))
    ventricles = inside(-3, 1, 1, 2, 7, 3) + inside(3, 1, 1, 2, 7, 3)
    nuclei = inside(-7, -2, -2, 3, 4, 3) + inside(7, -2, -2, 3, 4, 3)
    voxels = 60 * head + 40 * white - 85 * np.minimum(ventricles, 1) - 30 * np.minimum(nuclei, 1) + random.normal(0, 1, SHAPE)
    labels = np.select([ventricles > 0.5, nuclei > 0.5, white > 0.5, head > 0.5], [3, 4, 2, 1], 0).astype(np.int16)
    return freeflow.Image(np.float32(voxels), AFFINE_RAS), freeflow.Image(labels, AFFINE_RAS)


def dice(one, other, label):
    a, b = one.numpy() == label, other.numpy() == label
    return 2 * (a & b).sum() / max(1, a.sum() + b.sum())
