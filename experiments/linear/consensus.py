#!/usr/bin/env python3
"""Where several routes put a template: what they share of an offset is the template's, what they do not is the measures'.

  consensus.py -d DATA/mm_spm_templates [-l LINREG] [-j JOBS] [-s MEASURE] [--dof 6|12]

avg152T1, T2 and PD to CT and FLAIR, by 12 parameters (or 6) with defaults, in both directions (the reverse is inverted): six transforms for each of the
two, of three contrasts. Their middle is the mean of the matrices. Distances are means over the bright voxels of avg152T1, mm; "from the
others" leaves the route itself out of the middle.
"""
import argparse
import pathlib

import numpy

import runs
from offsets import inverse


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-d", "--data", type=pathlib.Path, required=True)
    parser.add_argument("-l", "--linreg", default="linreg")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("-s", "--similarity", default="nmi")
    parser.add_argument("--dof", default="12")
    o = parser.parse_args()
    points = runs.bright_points(o.data / "avg152T1.nii.gz")
    identity = numpy.eye(3, 4)
    away = lambda a, b: numpy.linalg.norm(runs.apply(a, points) - runs.apply(b, points), axis=1).mean()

    def one(task):
        other, contrast, way = task
        pair = [o.data / f"{contrast}.nii.gz", o.data / f"{other}.nii.gz"]
        found, message = runs.linreg(o.linreg, *(pair if way == "there" else pair[::-1]), "-s", o.similarity, "--dof", o.dof, "--threads", 1)
        if found is None:
            raise SystemExit(f"{task}: {message}")
        return found if way == "there" else inverse(found)

    tasks = [(other, contrast, way) for other in ("scct_CT", "ggFLAIR") for contrast in ("avg152T1", "avg152T2", "avg152PD") for way in ("there", "back")]
    found = dict(runs.in_parallel(o.jobs, one, tasks, None))
    print("| template | middle of six from the identity | route | from the identity | from the others' middle |")
    print("|---|---|---|---|---|")
    for other in ("scct_CT", "ggFLAIR"):
        routes = [t for t in tasks if t[0] == other]
        middle = sum(found[t] for t in routes) / len(routes)
        for route in routes:
            others = (middle * len(routes) - found[route]) / (len(routes) - 1)
            print(f"| {other} | {away(middle, identity):.2f} | {route[1]} {route[2]} | {away(found[route], identity):.2f} | {away(found[route], others):.2f} |")


if __name__ == "__main__":
    main()
