"""Seconds to write and read a displacement field of 83 MB: FreeFlow, nibabel and, where it is installed, ANTsPy, in one run.

    python warp_files.py      the least of three each, but one of what takes seconds; prints one line of JSON
"""

import importlib.util
import json
import os
import tempfile
import time

import nibabel
import numpy as np

import freeflow

SHAPE = (160, 192, 224)


def timed(function, times=3):
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        function()
        taken.append(time.perf_counter() - begin)
    return round(min(taken), 2)


rng = np.random.default_rng(0)
i, j, k = np.meshgrid(*[np.linspace(0, 6, n, dtype=np.float32) for n in SHAPE], indexing="ij")
field = np.stack([3 * np.sin(i + j), 2 * np.cos(j + k), 2 * np.sin(i * k / 3)], -1) + rng.normal(0, 0.01, (*SHAPE, 3))
field = field.astype(np.float32)
affine = np.diag([-1, 1, 1, 1.0])
affine[:3, 3] = [80, -90, -100]
transform = freeflow.Transform.field(field, affine)
image = nibabel.Nifti1Image(field[:, :, :, None, :], affine)
image.header.set_intent("vector")

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    seconds = {
        "freeflow": {
            ".nii.gz": {"write": timed(lambda: transform.write("f.nii.gz")), "read": timed(lambda: freeflow.Transform.read("f.nii.gz"))},
            ".nii": {"write": timed(lambda: transform.write("f.nii")), "read": timed(lambda: freeflow.Transform.read("f.nii"))},
        },
        "nibabel": {
            ".nii.gz": {
                "write": timed(lambda: nibabel.save(image, "n.nii.gz"), 1),
                "read": timed(lambda: nibabel.load("n.nii.gz").get_fdata(dtype=np.float32)),
            }
        },
    }
    if importlib.util.find_spec("ants"):
        import ants

        read = ants.image_read("f.nii.gz")
        seconds["ANTsPy"] = {
            ".nii.gz": {"write": timed(lambda: ants.image_write(read, "a.nii.gz"), 1), "read": timed(lambda: ants.image_read("f.nii.gz"))}
        }
    megabytes = {name: os.path.getsize(name) // 10**6 for name in sorted(os.listdir("."))}
    os.chdir("/")
print(json.dumps({"what": "a displacement field of 83 MB", "seconds": seconds, "megabytes": megabytes, "version": freeflow.__version__}))
