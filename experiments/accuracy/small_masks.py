#!/usr/bin/env python3
"""What linreg makes of masks that leave a small part: a structure of a brain, on one side or on both.

  small_masks.py -d DATA [-b BUILD] [-o RESULT.json] [--jobs N] [--options "--device cuda"]
  small_masks.py --draw RESULT.json

Every structure that fills less than a twentieth of its object in both images of a pair, the label grown by two voxels as the mask, of the fixed
image, the moving one, or both. Judged by that label's Dice, beside the run without a mask. "lost": below half of that and below 0.3. Needs numpy
and nibabel. docs/masks.md says what such masks are good for.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import nibabel
import numpy as np

sys.dont_write_bytecode = True
import random_harms  # noqa: E402

ROOT = random_harms.ROOT
PAIRS = ("oasis", "head", "mouse")
MASKS = ("none", "fixed", "moving", "both")


def structures(fixed, moving):
    """Labels that lie in both, small in both."""
    def small(labels):
        values, counts = np.unique(labels[labels > 0], return_counts=True)
        return {int(v) for v, n in zip(values, counts) if 200 <= n < counts.sum() / 20}
    return sorted(small(fixed) & small(moving))


def grown(inside, voxels):
    """By so many voxels, a face at a time."""
    for _ in range(voxels):
        inside = np.logical_or.reduce([inside, *(np.roll(inside, step, axis) for axis in range(3) for step in (-1, 1))])
    return inside


def dice(apps, labels, label, transform):
    said = subprocess.run([apps / "regtool", "measure", "--fixed-labels", labels[0], "--moving-labels", labels[1], "--labels", str(label),
                           "-t", transform, "-o", f"{transform}.json"], capture_output=True, text=True)
    return json.loads(pathlib.Path(f"{transform}.json").read_text())["labels"]["mean_dice"] if said.returncode == 0 else 0.0


def run(apps, images, masks, words, prefix):
    """The affine's file, or nothing, and seconds."""
    began = time.monotonic()
    call = [apps / "linreg", "-q", "-f", images[0], "-m", images[1], "-o", prefix, "--outputs", "report", *masks, *words]
    done = subprocess.run(call, capture_output=True).returncode == 0
    return (f"{prefix}0GenericAffine.mat" if done else None), time.monotonic() - began


def rows_of(o, pair, label, folder):
    fixed, moving, *labels = (o.data / f for f in random_harms.PAIRS[pair][0])
    options = {"none": []}
    for side, file in zip(("fixed", "moving"), labels):
        image = nibabel.load(file)
        mask = f"{folder}/{pair}_{side}_{label}.nii"
        nibabel.save(nibabel.Nifti1Image(grown(np.asanyarray(image.dataobj).squeeze() == label, 2).astype("u1"), image.affine), mask)
        options[side] = [f"--{side}-mask", mask]
    options["both"] = options["fixed"] + options["moving"]
    row = {"pair": pair, "label": label}
    for masks in MASKS:
        transform, seconds = run(o.build / "apps", (fixed, moving), options[masks], o.options.split(), f"{folder}/{pair}_{label}_{masks}_")
        row[masks] = {"dice": dice(o.build / "apps", labels, label, transform) if transform else 0.0, "seconds": round(seconds, 2)}
    return row


def table(result):
    lines = ["| pair | structures | mask | mean Dice | lost | seconds: median, most |", "|---|---|---|---|---|---|"]
    for pair in dict.fromkeys(r["pair"] for r in result["rows"]):
        rows = [r for r in result["rows"] if r["pair"] == pair]
        for masks in MASKS:
            lost = sum(r[masks]["dice"] < min(0.3, r["none"]["dice"] / 2) for r in rows)
            seconds = [r[masks]["seconds"] for r in rows]
            cells = (pair, len(rows), masks, f"{statistics.mean(r[masks]['dice'] for r in rows):.3f}", lost,
                     f"{statistics.median(seconds):.1f}, {max(seconds):.1f}")
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join([f"{result['commit'][:7]}, {result['machine'] or 'some machine'}.", "", *lines])


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-d", "--data", type=pathlib.Path)
    parser.add_argument("-b", "--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("-o", "--out", type=pathlib.Path, default=ROOT / "build/small_masks.json")
    parser.add_argument("--pairs", default=",".join(PAIRS))
    parser.add_argument("--jobs", type=int, default=1, help="structures at a time")
    parser.add_argument("--options", default="", help="for linreg")
    parser.add_argument("--machine", default="", help="words for the result")
    parser.add_argument("--draw", type=pathlib.Path, help="only the table of a result")
    o = parser.parse_args(words)
    if not o.draw and not o.data:
        parser.error("-d DATA names the folder of the images; ../shared/data")
    return o


def main():
    o = parse(None)
    if o.draw:
        return print(table(json.loads(o.draw.read_text())))
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    result = {"commit": commit, "machine": o.machine, "options": o.options, "rows": []}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        tasks = []
        for pair in o.pairs.split(","):
            labels = [np.asanyarray(nibabel.load(o.data / f).dataobj).squeeze() for f in random_harms.PAIRS[pair][0][2:]]
            tasks += [pool.submit(rows_of, o, pair, label, folder) for label in structures(*labels)]
        for task in tasks:
            result["rows"].append(task.result())
            print(json.dumps(result["rows"][-1]), flush=True)
    o.out.write_text(json.dumps(result, indent=None).replace('{"pair"', '\n{"pair"') + "\n")
    print(table(result))


if __name__ == "__main__":
    main()
