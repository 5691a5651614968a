#!/usr/bin/env python3
"""Registers two heads with linreg from the identity and from starts rotated by 30, 90 and 180 degrees about each axis, in both directions.

  rotated_starts.py -a FIRST -b SECOND [-l LINREG] [--dof 12] [-j JOBS] [-- LINREG OPTIONS]

The distance of two results is the mean over the fixed image's bright voxels, mm.
"""
import argparse

import numpy

import runs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-a", required=True)
    parser.add_argument("-b", required=True)
    parser.add_argument("-l", "--linreg", default="linreg")
    parser.add_argument("--dof", default="12")
    parser.add_argument("-t", "--threads", default="1")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("options", nargs="*")
    o = parser.parse_args()
    names = ["identity"] + [f"{axis} {angle}" for axis in "xyz" for angle in (30, 90, 180)]
    turns = [numpy.eye(3)] + [runs.rotation(axis, angle) for axis in numpy.eye(3) for angle in (30, 90, 180)]
    points = {path: runs.bright_points(path, step=2000) for path in (o.a, o.b)}

    def one(task):
        fixed, moving, number = task
        return runs.linreg(o.linreg, fixed, moving, "--dof", o.dof, "--threads", o.threads, *o.options,
                           start=runs.about(points[fixed].mean(axis=0), turns[number]))

    results = dict(runs.in_parallel(o.jobs, one, [(f, m, n) for f, m in ((o.a, o.b), (o.b, o.a)) for n in range(len(turns))]))
    print("| fixed <- moving | results | largest distance between two | the two starts | largest from the identity's result |")
    print("|---|---|---|---|---|")
    for fixed, moving in ((o.a, o.b), (o.b, o.a)):
        found = {n: runs.apply(results[fixed, moving, n][0], points[fixed]) for n in range(len(turns)) if results[fixed, moving, n][0] is not None}
        apart = {(i, j): numpy.linalg.norm(found[i] - found[j], axis=1).mean() for i in found for j in found if i < j}
        i, j = max(apart, key=apart.get)
        print(f"| {fixed.split('/')[-1]} <- {moving.split('/')[-1]} | {len(found)} of {len(turns)} | {apart[i, j]:.3f} mm | {names[i]}, {names[j]} | "
              f"{max(apart[0, k] for k in found if k):.3f} mm |", flush=True)


if __name__ == "__main__":
    main()
