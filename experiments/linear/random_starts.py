#!/usr/bin/env python3
"""Registers pairs of one space from random starts with linreg and says how far the results lie from the identity and from each other.

  random_starts.py -d DATA/mm_spm_templates [-n STARTS] [--first N] [-l LINREG] [-s nmi,cr] [-p T2,PD,CT,FLAIR] [-m rigid,affine] [-j JOBS] [--minutes M] [-- LINREG OPTIONS]

Fixed: avg152T1. Each start turns and shifts the moving image's space by up to 20 degrees and 30 mm about the centre (affine: and scales
by up to 10 %); linreg --init gets it, and every row gets the same starts. Distances are means over the fixed image's bright voxels, mm. The
templates share a space "within about 2 mm" only, so beside the distance from the identity stands that from the middle (median) of all
results: the first is the templates' offset (or the measure's bias), the second is what the start changes. A failed run counts as not within.
Starts are the outer loop, so that a run cut short by --minutes has about as many in every row.
"""
import argparse
import collections
import pathlib

import numpy

import runs

files = {"T2": "avg152T2", "PD": "avg152PD", "CT": "scct_CT", "FLAIR": "ggFLAIR", "T1": "single_subj_T1"}


def row(points, found):
    ends = numpy.array([runs.apply(transform, points) for transform in found if transform is not None])
    off = numpy.linalg.norm(ends - points, axis=2).mean(axis=1)
    spread = numpy.linalg.norm(ends - numpy.median(ends, axis=0), axis=2).mean(axis=1)
    near = lambda distances: f"{(distances <= 1.5).sum()} of {len(found)}"
    return f"{numpy.median(off):.2f}, {off.max():.2f} | {near(off)} | {numpy.median(spread):.3f}, {spread.max():.2f} | {near(spread)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-d", "--data", type=pathlib.Path, required=True)
    parser.add_argument("-n", "--starts", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="goes on where a run of so many starts ended: leaves those out")
    parser.add_argument("-l", "--linreg", default="linreg")
    parser.add_argument("-s", "--similarities", default="nmi,cr")
    parser.add_argument("-p", "--pairs", default="T2,PD,CT,FLAIR")
    parser.add_argument("-m", "--models", default="rigid,affine")
    parser.add_argument("-t", "--threads", default="1")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("options", nargs="*")
    o = parser.parse_args()
    fixed = o.data / "avg152T1.nii.gz"
    points = runs.bright_points(fixed)
    starts = {}
    for model in o.models.split(","):
        random = numpy.random.default_rng(1)
        starts[model] = [runs.random_start(points.mean(axis=0), random, model == "affine") for _ in range(o.starts)]
    cells = [(p, m, s) for p in o.pairs.split(",") for m in o.models.split(",") for s in o.similarities.split(",")]

    def one(task):
        number, (pair, model, similarity) = task
        return runs.linreg(o.linreg, fixed, o.data / f"{files[pair]}.nii.gz", "-s", similarity, "--dof", 6 if model == "rigid" else 12,
                           "--threads", o.threads, *o.options, start=starts[model][number])[0]

    found = collections.defaultdict(list)
    for (_, cell), transform in runs.in_parallel(o.jobs, one, [(n, c) for n in range(o.first, o.starts) for c in cells], o.minutes):
        found[cell].append(transform)
    print("| avg152T1 to | model, measure | from the identity: median, max | within 1.5 mm | from the results' middle: median, max | within 1.5 mm |")
    print("|---|---|---|---|---|---|")
    for cell in cells:
        print(f"| {cell[0]} | {cell[1]}, {cell[2]} | {row(points, found[cell])} |", flush=True)


if __name__ == "__main__":
    main()
