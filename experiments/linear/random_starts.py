#!/usr/bin/env python3
"""Registers pairs of one space from random starts with linreg and says how far the results lie from the identity and from each other.

  random_starts.py -d DATA/mm_spm_templates [-n STARTS] [-l LINREG] [-s nmi,cr] [-p T2,PD,CT,FLAIR] [-m rigid,affine] [-t THREADS]

Fixed: avg152T1. Each start turns and shifts the moving image's space by up to 20 degrees and 30 mm about the centre (affine: and scales
by up to 10 %); linreg --init gets it. Distances are means over the fixed image's bright voxels, mm. The templates share a space "within
about 2 mm" only, so beside the distance from the identity stands that from the mean of all results: the first is the templates' offset (or
the measure's bias), the second is what the start changes.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import nibabel
import numpy

files = {"T2": "avg152T2", "PD": "avg152PD", "CT": "scct_CT", "FLAIR": "ggFLAIR", "T1": "single_subj_T1"}


def start_about(center, random, affine):
    axis = random.normal(size=3)
    axis /= numpy.linalg.norm(axis)
    angle = numpy.radians(random.uniform(0, 20))
    k = numpy.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    matrix = numpy.eye(3) + numpy.sin(angle) * k + (1 - numpy.cos(angle)) * k @ k
    if affine:
        matrix = matrix @ numpy.diag(random.uniform(0.9, 1.1, 3))
    shift = random.normal(size=3)
    shift *= random.uniform(0, 30) / numpy.linalg.norm(shift)
    return matrix, center + shift - matrix @ center


def write_affine(path, matrix, translation):
    numbers = " ".join(repr(float(v)) for v in [*matrix.ravel(), *translation])
    path.write_text("#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\n"
                    f"Parameters: {numbers}\nFixedParameters: 0 0 0\n")


def bright_points(path):
    image = nibabel.load(path)
    voxels = image.get_fdata()
    index = numpy.argwhere(voxels > 0.2 * numpy.percentile(voxels, 99))[::200]
    points = index @ image.affine[:3, :3].T + image.affine[:3, 3]
    return points * [-1, -1, 1]  # LPS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-d", "--data", type=pathlib.Path, required=True)
    parser.add_argument("-n", "--starts", type=int, default=200)
    parser.add_argument("-l", "--linreg", default="linreg")
    parser.add_argument("-s", "--similarities", default="nmi,cr")
    parser.add_argument("-p", "--pairs", default="T2,PD,CT,FLAIR")
    parser.add_argument("-m", "--models", default="rigid,affine")
    parser.add_argument("-t", "--threads", default="2")
    o = parser.parse_args()
    fixed = o.data / "avg152T1.nii.gz"
    points = bright_points(fixed)
    print("| avg152T1 to | model | measure | starts | from the identity: median, max | within 1.5 mm | from their mean: median, max |")
    print("|---|---|---|---|---|---|---|")
    for pair in o.pairs.split(","):
        for model in o.models.split(","):
            for similarity in o.similarities.split(","):
                random, ends, failed = numpy.random.default_rng(1), [], 0
                with tempfile.TemporaryDirectory() as folder:
                    folder = pathlib.Path(folder)
                    for _ in range(o.starts):
                        write_affine(folder / "start.tfm", *start_about(points.mean(axis=0), random, model == "affine"))
                        done = subprocess.run([o.linreg, "-f", fixed, "-m", o.data / f"{files[pair]}.nii.gz", "-o", folder / "r_", "-q", "-s", similarity,
                                               "--dof", "6" if model == "rigid" else "12", "--init", folder / "start.tfm", "--threads", o.threads])
                        if done.returncode:
                            failed += 1
                            continue
                        found = numpy.array(json.loads((folder / "r_report.json").read_text())["linear"]["fixed_to_moving_lps"])
                        ends.append(points @ found[:, :3].T + found[:, 3])
                ends = numpy.array(ends)
                off = numpy.linalg.norm(ends - points, axis=2).mean(axis=1)
                spread = numpy.linalg.norm(ends - numpy.median(ends, axis=0), axis=2).mean(axis=1)
                within = 100 * (off <= 1.5).sum() / o.starts
                print(f"| {pair} | {model} | {similarity} | {o.starts}{f' ({failed} failed)' if failed else ''} | {numpy.median(off):.2f}, {off.max():.2f} | "
                      f"{within:.0f} % | {numpy.median(spread):.3f}, {spread.max():.3f} |", flush=True)


if __name__ == "__main__":
    main()
