#!/usr/bin/env python3
"""Where another program puts the templates that share a space, begun where they are said to be: an offset that it shares is not linreg's.

  peer_offsets.py -d DATA/mm_spm_templates

SimpleITK: Mattes MI of all voxels, 32 bins, linear interpolation, from the identity (about the grid's centre), shrink 2, 1 with smoothing 2, 0 mm,
regular-step descent of at most 1000 iterations a level, scales from physical shift. Mean distance from the identity over the bright voxels of
avg152T1, mm.
"""
import argparse
import pathlib

import numpy
import SimpleITK as sitk

import runs


def register(fixed, moving, transform):
    transform.SetCenter(fixed.TransformContinuousIndexToPhysicalPoint([(n - 1) / 2 for n in fixed.GetSize()]))
    method = sitk.ImageRegistrationMethod()
    method.SetMetricAsMattesMutualInformation(32)
    method.SetMetricSamplingStrategy(method.NONE)
    method.SetInterpolator(sitk.sitkLinear)
    method.SetOptimizerAsRegularStepGradientDescent(1.0, 1e-5, 1000, 0.5, 1e-10)
    method.SetOptimizerScalesFromPhysicalShift()
    method.SetShrinkFactorsPerLevel([2, 1])
    method.SetSmoothingSigmasPerLevel([2, 0])
    method.SmoothingSigmasAreSpecifiedInPhysicalUnitsOn()
    method.SetInitialTransform(transform, inPlace=True)
    method.Execute(fixed, moving)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-d", "--data", type=pathlib.Path, required=True)
    o = parser.parse_args()
    points = runs.bright_points(o.data / "avg152T1.nii.gz")
    read = lambda name: sitk.ReadImage(str(o.data / f"{name}.nii.gz"), sitk.sitkFloat32)
    fixed = read("avg152T1")
    print("| avg152T1 to | rigid | affine |\n|---|---|---|")
    for name in ("avg152T2", "avg152PD", "scct_CT", "ggFLAIR"):
        moving, off = read(name), []
        for transform in (sitk.Euler3DTransform(), sitk.AffineTransform(3)):
            register(fixed, moving, transform)
            moved = numpy.array([transform.TransformPoint(p) for p in points.tolist()])
            off.append(f"{numpy.linalg.norm(moved - points, axis=1).mean():.2f}")
        print(f"| {name} | {' | '.join(off)} |", flush=True)


if __name__ == "__main__":
    main()
