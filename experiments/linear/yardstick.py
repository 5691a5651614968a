#!/usr/bin/env python3
"""Correlation inside the template's brain after an affine registration by linreg and by SimpleITK (Mattes MI, multi-resolution), one resampler for both.

  yardstick.py -d DATA [-l LINREG]

brain_to_mni: MNI152_T1_2mm <- subj_T1_head_2mm. Brain: where MNI152_T1_1mm_brain, resampled onto the fixed grid, is above 0.
SimpleITK: start by centres of mass, 32 bins, a quarter of the voxels by regular sampling, shrink 4, 2, 1 with smoothing 2, 1, 0 mm,
regular-step descent of at most 500 iterations a level, scales from physical shift; rigid first, then affine.
"""
import argparse
import pathlib

import numpy
import SimpleITK as sitk

import runs


def correlation(fixed, moving, transform, inside):
    warped = sitk.GetArrayFromImage(sitk.Resample(moving, fixed, transform, sitk.sitkLinear, 0.0))
    return numpy.corrcoef(sitk.GetArrayFromImage(fixed)[inside], warped[inside])[0, 1]


def stage(fixed, moving, transform, seed=1):
    method = sitk.ImageRegistrationMethod()
    method.SetMetricAsMattesMutualInformation(32)
    method.SetMetricSamplingStrategy(method.REGULAR)
    method.SetMetricSamplingPercentage(0.25, seed)
    method.SetInterpolator(sitk.sitkLinear)
    method.SetOptimizerAsRegularStepGradientDescent(1.0, 1e-4, 500, 0.5, 1e-8)
    method.SetOptimizerScalesFromPhysicalShift()
    method.SetShrinkFactorsPerLevel([4, 2, 1])
    method.SetSmoothingSigmasPerLevel([2, 1, 0])
    method.SmoothingSigmasAreSpecifiedInPhysicalUnitsOn()
    method.SetInitialTransform(transform, inPlace=True)
    method.Execute(fixed, moving)
    return transform


def peer(fixed, moving):
    start = sitk.CenteredTransformInitializer(fixed, moving, sitk.Euler3DTransform(), sitk.CenteredTransformInitializerFilter.MOMENTS)
    rigid = stage(fixed, moving, sitk.Euler3DTransform(start))
    affine = sitk.AffineTransform(3)
    affine.SetCenter(rigid.GetCenter())
    affine.SetMatrix(rigid.GetMatrix())
    affine.SetTranslation(rigid.GetTranslation())
    return stage(fixed, moving, affine)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-d", "--data", type=pathlib.Path, required=True)
    parser.add_argument("-l", "--linreg", default="linreg")
    parser.add_argument("-t", "--threads", default="1")
    o = parser.parse_args()
    sitk.ProcessObject.SetGlobalDefaultNumberOfThreads(int(o.threads))
    folder = o.data / "brain_to_mni"
    paths = [str(folder / f"{name}.nii.gz") for name in ("MNI152_T1_2mm", "subj_T1_head_2mm")]
    fixed, moving = (sitk.ReadImage(path, sitk.sitkFloat32) for path in paths)
    brain = sitk.Resample(sitk.ReadImage(str(folder / "MNI152_T1_1mm_brain.nii.gz"), sitk.sitkFloat32), fixed)
    inside = sitk.GetArrayFromImage(brain) > 0
    print("| by | correlation inside the brain |\n|---|---|")
    print(f"| start: identity; centres of mass | {correlation(fixed, moving, sitk.Transform(), inside):.3f}; ", end="")
    start = sitk.CenteredTransformInitializer(fixed, moving, sitk.Euler3DTransform(), sitk.CenteredTransformInitializerFilter.MOMENTS)
    print(f"{correlation(fixed, moving, start, inside):.3f} |", flush=True)
    for name, options in {"linreg": [], "linreg --refine none": ["--refine", "none"], "linreg -s mi --refine none": ["-s", "mi", "--refine", "none"],
                          "linreg -s cr": ["-s", "cr"], "linreg --init moments": ["--init", "moments"]}.items():
        found, report = runs.linreg(o.linreg, *paths, "--threads", o.threads, *options)
        if found is None:
            print(f"| {name} | failed: {report} |", flush=True)
            continue
        transform = sitk.AffineTransform(found[:, :3].ravel().tolist(), found[:, 3].tolist())
        print(f"| {name} | {correlation(fixed, moving, transform, inside):.3f} |", flush=True)
    print(f"| SimpleITK {sitk.Version.VersionString()} | {correlation(fixed, moving, peer(fixed, moving), inside):.3f} |", flush=True)


if __name__ == "__main__":
    main()
