#!/usr/bin/env python3
"""Rigid registration of heads whose images share little: a simulated PET and thick slices of MR in two contrasts, with blocks and without.

  simulated_pet.py -d DATA/mm_sri24 [-l LINREG]

All are drawn from SRI24, whose contrasts share one space, so the truth is the identity. PET: activity 4 in grey, 1 in white matter, 0.3 in CSF, 0.1
elsewhere, blurred (full width at half maximum 6 or 8 mm), 2.6x2.6x8 mm, noise 8 or 25 % of the brightest voxel, less where it is dark. MR: t1 and an
inverted t2, means over 4 mm slices of 1.25 and 1 mm pixels, noise 3 and 5 %. One start, up to 20 degrees and 30 mm off. Mean error over t1's bright
voxels, mm.
"""
import argparse
import pathlib
import tempfile

import nibabel
import numpy
from scipy import ndimage

import runs

random = numpy.random.default_rng(3)


def sampled(voxels, affine, steps, noise, path):
    """Samples at the centres of voxels of `steps` mm; the grid's axes are those of the world."""
    ratio = numpy.array(steps) / numpy.abs(numpy.diag(affine)[:3])
    first = 0.5 * ratio - 0.5
    index = numpy.meshgrid(*[numpy.arange(int(n / r)) * r + f for n, r, f in zip(voxels.shape, ratio, first)], indexing="ij")
    values = ndimage.map_coordinates(voxels, index, order=1)
    top = values.max()
    values = values + noise * top * random.normal(size=values.shape) * numpy.sqrt(numpy.maximum(values / top, 0.05))
    grid = affine.copy()
    grid[:3, 3] += affine[:3, :3] @ first
    grid[:3, :3] *= ratio
    nibabel.save(nibabel.Nifti1Image(values.astype(numpy.float32), grid), path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-d", "--data", type=pathlib.Path, required=True)
    parser.add_argument("-l", "--linreg", default="linreg")
    o = parser.parse_args()
    points = runs.bright_points(o.data / "t1.nii.gz", step=2000)
    start = runs.random_start(points.mean(axis=0), numpy.random.default_rng(1), False)
    tissues, t1, t2 = (nibabel.load(o.data / f"{name}.nii.gz") for name in ("tissues", "t1", "t2"))
    kind = tissues.get_fdata().squeeze()
    activity = numpy.select([kind == 1, kind == 2, kind == 3], [0.3, 4.0, 1.0], 0.1)
    slices = lambda v: ndimage.uniform_filter1d(v, 4, axis=2)
    bright = t2.get_fdata().squeeze()
    with tempfile.TemporaryDirectory() as folder:
        pet = {width: sampled(ndimage.gaussian_filter(activity, [width / 2.355] * 3), tissues.affine, (2.6, 2.6, 8), noise, f"{folder}/pet{width}.nii.gz")
               for width, noise in ((6, 0.08), (8, 0.25))}
        mr = sampled(slices(t1.get_fdata().squeeze()), t1.affine, (1.25, 1.25, 4), 0.03, f"{folder}/t1.nii.gz")
        other = sampled(slices(bright.max() - bright * (bright > 50)), t2.affine, (1, 1, 4), 0.05, f"{folder}/t2.nii.gz")
        print("| fixed <- moving | measure | --refine none | blocks |\n|---|---|---|---|")
        for name, image in (("PET 6 mm", pet[6]), ("PET 8 mm", pet[8]), ("t2", other)):
            for fixed, moving, say in ((mr, image, f"t1 <- {name}"), (image, mr, f"{name} <- t1")):
                for measure in ("nmi", "cr"):
                    cells = []
                    for refine in ("none", "blocks"):
                        found, message = runs.linreg(o.linreg, fixed, moving, "--dof", 6, "-s", measure, "--refine", refine, start=start)
                        cells.append(message if found is None else f"{numpy.linalg.norm(runs.apply(found, points) - points, axis=1).mean():.2f}")
                    print(f"| {say} | {measure} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
