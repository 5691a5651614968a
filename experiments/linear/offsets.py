#!/usr/bin/env python3
"""Whether an offset between two templates of one space is the templates' or the measure's: one is the same whatever measures it.

  offsets.py -d DATA/mm_spm_templates [-l LINREG] [-j JOBS] [--minutes M]

Rigid, from the identity along the gradient, by every measure, in both directions (the reverse is inverted, so that rows compare), and with
the fixed image masked by an ellipsoid about the brain (semi-axes 66, 84, 62 mm, centre 0, -18, 12 RAS). The mean distance from the
identity is over the bright voxels of avg152T1, mm; shift and turn are at their centre.
"""
import argparse
import pathlib
import tempfile

import nibabel
import numpy

import runs

pairs = [("avg152T1", "scct_CT"), ("avg152T2", "scct_CT"), ("avg152PD", "scct_CT"), ("avg152T1", "ggFLAIR"), ("avg152T2", "ggFLAIR"), ("avg152PD", "ggFLAIR"),
         ("avg152T1", "avg152T2"), ("avg152T1", "avg152PD"), ("avg152T2", "avg152PD")]
measures = {"NMI": ["-s", "nmi"], "MI": ["-s", "mi"], "CR of moving": ["-s", "cr"], "CR of fixed": ["-s", "cr", "--cr-of-fixed"],
            "CR, border 20 mm": ["-s", "cr", "--cr-border", 20], "LNCC": ["-s", "lncc"]}


def inverse(transform):
    return numpy.linalg.inv(numpy.vstack([transform, [0, 0, 0, 1]]))[:3]


def brain_mask(path, like):
    image = nibabel.load(like)
    index = numpy.indices(image.shape).reshape(3, -1).T
    points = index @ image.affine[:3, :3].T + image.affine[:3, 3]
    inside = (((points - [0, -18, 12]) / [66, 84, 62]) ** 2).sum(axis=1) < 1
    nibabel.save(nibabel.Nifti1Image(inside.reshape(image.shape).astype(numpy.uint8), image.affine), path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-d", "--data", type=pathlib.Path, required=True)
    parser.add_argument("-l", "--linreg", default="linreg")
    parser.add_argument("-t", "--threads", default="1")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float)
    o = parser.parse_args()
    points = runs.bright_points(o.data / "avg152T1.nii.gz")
    center = points.mean(axis=0)
    with tempfile.TemporaryDirectory() as folder:
        mask = f"{folder}/mask.nii.gz"
        brain_mask(mask, o.data / "avg152T1.nii.gz")

        def one(task):
            (fixed, moving), measure, way = task
            if way == "back":
                fixed, moving = moving, fixed
            found, _ = runs.linreg(o.linreg, o.data / f"{fixed}.nii.gz", o.data / f"{moving}.nii.gz", "--dof", 6, "--search", "gradient", "--refine", "none",
                                   *measures[measure], *(["--fixed-mask", mask] if way == "masked" else []), "--threads", o.threads)
            return inverse(found) if found is not None and way == "back" else found

        tasks = [(p, m, w) for p in pairs for m in measures for w in ("there", "back", "masked")]
        found = dict(runs.in_parallel(o.jobs, one, tasks, o.minutes))
    print("| pair | measure | there | back | brain only | shift there x, y, z LPS | shift back | shift brain only | turn about x there, back, brain only |")
    print("|---|---|---|---|---|---|---|---|---|")
    for pair in pairs:
        for measure in measures:
            ways = [found.get((pair, measure, way)) for way in ("there", "back", "masked")]
            say = lambda value: " | ".join("-" if w is None else value(w) for w in ways)
            off = say(lambda w: f"{numpy.linalg.norm(runs.apply(w, points) - points, axis=1).mean():.2f}")
            shift = say(lambda w: ", ".join(f"{v:.1f}" for v in runs.apply(w, center) - center))
            turn = say(lambda w: f"{numpy.degrees(numpy.arctan2(w[2, 1], w[2, 2])):.1f}").replace(" | ", ", ")
            print(f"| {pair[0]}, {pair[1]} | {measure} | {off} | {shift} | {turn} |", flush=True)


if __name__ == "__main__":
    main()
