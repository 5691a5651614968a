#!/usr/bin/env python3
"""Shades two signed distances side by side, seen along y: picture.py BEFOREsdf.nii.gz AFTERsdf.nii.gz OUT.png (numpy, scipy, nibabel, pillow)."""
import sys

import nibabel
import numpy as np
from PIL import Image
from scipy import ndimage


def shaded(path, zoom=3):
    image = nibabel.load(path)
    d = np.asarray(image.dataobj).astype(float) / np.cbrt(np.prod(image.header.get_zooms()[:3]))
    d = np.moveaxis(ndimage.zoom(np.clip(d, -4, 4), zoom, order=1), 1, 0)
    inside = d < 0
    first = inside.argmax(0)
    normal = np.stack([ndimage.map_coordinates(g, [first, *np.indices(first.shape)], order=1) for g in np.gradient(d)])
    normal /= np.maximum(np.linalg.norm(normal, axis=0), 1e-9)
    light = np.array([-0.75, -0.35, 0.55]) / np.linalg.norm([-0.75, -0.35, 0.55])
    return np.flipud(np.where(inside.any(0), np.clip(np.tensordot(light, normal, 1), 0, 1) * 0.75 + 0.22, 1.0).T)


before, after = shaded(sys.argv[1]), shaded(sys.argv[2])
picture = Image.fromarray((255 * np.hstack([before, np.ones((before.shape[0], 12)), after])).clip(0, 255).astype(np.uint8))
picture.resize((picture.width * 3 // 4, picture.height * 3 // 4), Image.LANCZOS).quantize(32).save(sys.argv[3], optimize=True)
