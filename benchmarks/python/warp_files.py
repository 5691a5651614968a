"""Seconds to read and write a displacement field of 83 MB: FreeFlow, nibabel and, where it is installed, ANTsPy, in one run."""

import os
import tempfile
import time

import nibabel
import numpy as np

import freeflow

rng = np.random.default_rng(0)
os.chdir(tempfile.mkdtemp())
n = (160, 192, 224)
i, j, k = np.meshgrid(*[np.linspace(0, 6, m, dtype=np.float32) for m in n], indexing="ij")
u = np.stack([3 * np.sin(i + j), 2 * np.cos(j + k), 2 * np.sin(i * k / 3)], -1) + rng.normal(0, 0.01, (*n, 3)).astype("f4")
a = np.diag([-1, 1, 1, 1.0])
a[:3, 3] = [80, -90, -100]
t = freeflow.Transform.field(u.astype("f4"), a)


def timed(name, f, k=3):
    best = 1e9
    for _ in range(k):
        s = time.perf_counter()
        f()
        best = min(best, time.perf_counter() - s)
    print(f"{name}: {best:.2f} s")


timed("freeflow write .nii.gz", lambda: t.write("ours.nii.gz"))
timed("freeflow read .nii.gz", lambda: freeflow.Transform.read("ours.nii.gz"))
timed("freeflow write .nii", lambda: t.write("ours.nii"))
timed("freeflow read .nii", lambda: freeflow.Transform.read("ours.nii"))
img = nibabel.Nifti1Image(u.astype("f4")[:, :, :, None, :], a)
img.header.set_intent(1007)
timed("nibabel write .nii.gz", lambda: nibabel.save(img, "nib.nii.gz"), 1)
timed("nibabel read .nii.gz", lambda: nibabel.load("nib.nii.gz").get_fdata(dtype="f4"), 1)
try:
    import ants

    timed("ants read transform of ours", lambda: ants.image_read("ours.nii.gz"), 1)
    x = ants.image_read("ours.nii.gz")
    timed("ants write", lambda: ants.image_write(x, "ants.nii.gz"), 1)
    timed("ants.transform_from_displacement_field", lambda: ants.transform_from_displacement_field(x), 1)
except ImportError:
    print("no ANTsPy here")
print({f: os.path.getsize(f) >> 20 for f in os.listdir(".")})
