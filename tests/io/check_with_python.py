#!/usr/bin/env python3
"""Reads the files that python_check_test.cpp wrote with SimpleITK, nibabel and scipy and compares them with raw numbers.

check_with_python.py FOLDER: exit status 0 when all agree, 1 with a line per difference otherwise.
"""
import sys

import nibabel
import numpy as np
import SimpleITK as sitk
from scipy.io import loadmat

failures = []


def check(name, found, expected, tolerance):
    difference = np.abs(np.asarray(found, float) - expected).max()
    if not difference <= tolerance:
        failures.append(f"{name}: differs by {difference}")


def index_to_lps(image):
    matrix = np.eye(4)
    matrix[:3, :3] = np.reshape(image.GetDirection(), (3, 3)) @ np.diag(image.GetSpacing())
    matrix[:3, 3] = image.GetOrigin()
    return matrix


folder = sys.argv[1]
size, grid, affine = (np.array(line.split(), float) for line in open(f"{folder}/expected.txt"))
nx, ny, nz = size.astype(int)
grid, affine = grid.reshape(4, 4), affine.reshape(4, 4)
voxels = np.fromfile(f"{folder}/voxels.raw", np.float32).reshape(nz, ny, nx)
planes = np.fromfile(f"{folder}/planes.raw", np.float32).reshape(3, nz, ny, nx)
world = np.einsum("rc,czyx->zyxr", grid[:3, :3], planes.astype(float))  # LPS millimetres
ras = np.diag([-1.0, -1, 1, 1]) @ grid

for extension in (".nii", ".nii.gz", ".mha", ".nrrd"):
    image, short, field = (sitk.ReadImage(f"{folder}/{name}{extension}") for name in ("image", "short", "field"))
    check(f"image{extension} voxels", sitk.GetArrayFromImage(image), voxels, 0)
    check(f"short{extension} voxels", sitk.GetArrayFromImage(short), np.rint(voxels), 0)
    check(f"field{extension} vectors", sitk.GetArrayFromImage(field), world, 2e-6)
    if field.GetNumberOfComponentsPerPixel() != 3 or short.GetPixelID() != sitk.sitkInt16:
        failures.append(f"{extension}: pixel types")
    for name, read in (("image", image), ("short", short), ("field", field)):
        check(f"{name}{extension} grid", index_to_lps(read), grid, 1e-5)
    # As a transform: what SimpleITK makes of the field moves points as u does.
    transform = sitk.DisplacementFieldTransform(sitk.Cast(field, sitk.sitkVectorFloat64))
    point = grid @ [4, 3, 2, 1]
    check(f"field{extension} as transform", transform.TransformPoint(point[:3]), point[:3] + world[2, 3, 4], 1e-4)

for extension in (".nii", ".nii.gz"):
    image, field = (nibabel.load(f"{folder}/{name}{extension}") for name in ("image", "field"))
    check(f"nibabel image{extension}", np.asarray(image.dataobj).transpose(2, 1, 0), voxels, 0)
    check(f"nibabel image{extension} grid", image.affine, ras, 1e-5)
    check(f"nibabel field{extension} grid", field.affine, ras, 1e-5)
    if field.shape != (nx, ny, nz, 1, 3) or field.header.get_intent()[0] != "vector":
        failures.append(f"field{extension}: {field.shape} {field.header.get_intent()}")
    check(f"nibabel field{extension}", np.asarray(field.dataobj)[:, :, :, 0].transpose(2, 1, 0, 3), world, 2e-6)

for extension in (".mgz", ".mgh"):
    image, short = (nibabel.load(f"{folder}/{name}{extension}") for name in ("image", "short"))
    check(f"nibabel image{extension}", np.asarray(image.dataobj).transpose(2, 1, 0), voxels, 0)
    check(f"nibabel short{extension}", np.asarray(short.dataobj).transpose(2, 1, 0), np.rint(voxels), 0)
    check(f"nibabel image{extension} grid", image.affine, ras, 2e-5)
nibabel.save(nibabel.freesurfer.MGHImage(voxels.transpose(2, 1, 0), ras), f"{folder}/nibabel.mgz")  # for the test to read back

for name in ("affine.mat", "affine.tfm"):
    transform = sitk.ReadTransform(f"{folder}/{name}")
    for point in ((0, 0, 0), (10, -20, 30), (-7, 8, 9)):
        check(name, transform.TransformPoint(point), (affine @ [*point, 1])[:3], 1e-9)
mat = loadmat(f"{folder}/affine.mat")
check("scipy matrix", mat["AffineTransform_double_3_3"].ravel()[:9], affine[:3, :3].ravel(), 1e-12)
check("scipy centre", mat["fixed"].ravel(), (grid @ [(nx - 1) / 2, (ny - 1) / 2, (nz - 1) / 2, 1])[:3], 1e-9)

# For the test to read back: a composite as antsRegistration -z 1 writes it.
field = sitk.DisplacementFieldTransform(sitk.Cast(sitk.ReadImage(f"{folder}/field.nii"), sitk.sitkVectorFloat64))
sitk.WriteTransform(sitk.CompositeTransform([sitk.ReadTransform(f"{folder}/affine.mat"), field]), f"{folder}/composite.h5")

print("\n".join(failures))
sys.exit(1 if failures else 0)
