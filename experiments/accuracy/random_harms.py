#!/usr/bin/env python3
"""What the defaults make of images to which something happened: random harms of harms.py, none to three at once, on visible pairs.

  random_harms.py -d DATA [-b BUILD] [-o RESULT.json] [--cases 0-400] [--pairs oasis,mouse] [--harms invert,masked]
                  [--jobs N] [--options "--device cuda"]
  random_harms.py --draw RESULT.json

Case i is the same everywhere: its number is the seed. ffdreg, fluidreg and the affine before them are judged by the pair's labels within what is
left of the fixed image, or by the landmarks that lie in both images. Needs numpy and nibabel. The table has a row per harm: a case counts in the
row of each of its harms. "lost": the affine's Dice is below half of the plain pair's, or its landmarks lie farther apart than twice the plain
pair's and 3 mm. "worse": the nonrigid result lies below its own affine by more than 0.02 of Dice (0.1 for SRI24, where the affine is the truth) or
0.5 mm. The last columns are medians.
"""
import argparse
import concurrent.futures
import csv
import functools
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import nibabel
import numpy as np

sys.dont_write_bytecode = True
import harms  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("ffdreg", "fluidreg")
FIRST_SEED = 1000


def liver(person, cycle):
    name = f"liver_eth4dmri/{person}_exh"
    return [f"{name}.nii.gz", f"liver_eth4dmri/{person}_{cycle}.nii.gz", *(f"{name}_to_{cycle}_{side}_points.csv" for side in ("fixed", "moving"))]


def inside(folder, *names):
    return [f"{folder}/{name}" for name in names]


# Fixed, moving, what is known of either; how often it is drawn. SRI24's images show one brain: the identity is the truth.
PAIRS = {
    "oasis": (inside("brain_oasis_native", "0001_norm.nii.gz", "0002_norm.nii.gz", "0001_aseg.nii.gz", "0002_aseg.nii.gz"), 3),
    "head": (inside("brain_oasis_native", "0001_T1.nii.gz", "0002_T1.nii.gz", "0001_aseg.nii.gz", "0002_aseg.nii.gz"), 2),
    "mouse": (inside("mouse_fvb", "wt1_t2.nii.gz", "wt2_t2.nii.gz", "wt1_labels.nii.gz", "wt2_labels.nii.gz"), 3),
    "lobes": (inside("lung_proton", "0004_h1.nii.gz", "0006_h1.nii.gz", "0004_lobes.nii.gz", "0006_lobes.nii.gz"), 3),
    "sri_t2": (inside("mm_sri24", "t1.nii.gz", "t2.nii.gz", "lpba40.nii.gz", "lpba40.nii.gz"), 1),
    "sri_pd": (inside("mm_sri24", "t1.nii.gz", "pd.nii.gz", "lpba40.nii.gz", "lpba40.nii.gz"), 1),
    "d18": (liver("d18", "cyc_1_10"), 2),
    "d19": (liver("d19", "cyc_1_6"), 3),
    "lung": (inside("lung_elastix", "baseline.nii.gz", "followup.nii.gz", "baseline_points.csv", "followup_points.csv"), 2),
}


def read_points(path):
    def numbers(row):
        try:
            return [float(v) for v in row[:3]]
        except ValueError:
            return None  # the header
    with open(path) as file:
        return np.array([p for p in map(numbers, csv.reader(file)) if p])


def read_image(path):
    image = nibabel.load(path)
    return np.asarray(image.dataobj).squeeze(), image.affine


def write_image(path, voxels, affine):
    image = nibabel.Nifti1Image(voxels, affine)
    image.set_qform(affine, 1)
    image.set_sform(affine, 1)
    image.header.set_xyzt_units("mm")
    nibabel.save(image, path)


@functools.cache
def read_pair(data, name):
    return tuple(read_points(data / p) if p.endswith(".csv") else read_image(data / p) for p in PAIRS[name][0])


def make_case(data, number, pairs, kinds):
    """(name of the pair, names of the harms, fixed, moving)"""
    random = np.random.default_rng(FIRST_SEED + number)
    chances = np.array([PAIRS[p][1] for p in pairs], float)
    name = str(random.choice(pairs, p=chances / chances.sum()))
    files = read_pair(data, name)
    fixed, moving = harms.Side(files[0], files[2]), harms.Side(files[1], files[3])
    wanted = min(len(kinds), random.choice([0, 1, 2, 3], p=[0.04, 0.4, 0.36, 0.2]))
    drawn = sorted(random.choice(len(kinds), wanted, replace=False))
    return name, [kinds[k](random, fixed, moving) for k in drawn], fixed, moving


def within(side):
    """The labels, 0 beyond the image's grid."""
    to_image = (np.linalg.inv(side.affine) @ side.labels_affine).astype(np.float32)
    grid = np.ogrid[tuple(slice(n) for n in side.labels.shape)]
    keep = np.ones(side.labels.shape, bool)
    for row, n in zip(to_image[:3], side.voxels.shape):
        at = sum(c * g for c, g in zip(row, grid)) + row[3]
        keep &= (at >= -0.5) & (at <= n - 0.5)
    return np.where(keep, side.labels, 0)


def write_case(folder, fixed, moving):
    """The images, and the words of regtool measure that name what is known."""
    for side, name in ((fixed, "fixed"), (moving, "moving")):
        write_image(folder / f"{name}.nii", side.voxels.astype(np.float32), side.affine)
    words = []
    seen = None if fixed.points is None else fixed.contains(fixed.points) & moving.contains(moving.points)
    for side, name in ((fixed, "fixed"), (moving, "moving")):
        if seen is None:
            path = folder / f"{name}_labels.nii"
            write_image(path, (within(side) if side is fixed else side.labels).astype(np.int16), side.labels_affine)
            words += [f"--{name}-labels", path]
        else:
            path = folder / f"{name}_points.csv"
            path.write_text("x,y,z\n" + "".join("%.5f,%.5f,%.5f\n" % tuple(p) for p in side.points[seen]))
            words += [f"--{name}-points", path]
    return words


def score(apps, words, transforms, folder):
    """None where nothing can be measured."""
    out = folder / "score.json"
    chain = [word for t in transforms for word in ("-t", t)]
    if subprocess.run([apps / "regtool", "measure", "-q", *words, *chain, "-o", out], capture_output=True).returncode:
        return None
    scores = json.loads(out.read_text())
    return scores["labels"]["mean_dice"] if "labels" in scores else scores["landmarks"]["tre_mean"]


def run_case(number, o):
    pair, names, fixed, moving = make_case(o.data, number, o.pairs, o.kinds)
    row = {"case": number, "pair": pair, "harms": names, "judged_by": "mm" if fixed.labels is None else "dice"}
    with tempfile.TemporaryDirectory(dir=o.scratch) as name:
        folder = pathlib.Path(name)
        words = write_case(folder, fixed, moving)
        for program in PROGRAMS:
            start = f"{folder}/{program}_"
            call = [o.build / "apps" / program, "-f", folder / "fixed.nii", "-m", folder / "moving.nii", "-o", start, "-q", "--outputs", "warp",
                    *o.options.split()]
            done = subprocess.run(call, capture_output=True, text=True)
            if done.returncode:
                row[program + "_status"], row[program + "_error"] = done.returncode, done.stderr[-300:]
                continue
            affine = start + "0GenericAffine.mat"
            row[program] = score(o.build / "apps", words, [start + "1Warp.nii.gz", affine], folder)
            row["affine"] = score(o.build / "apps", words, [affine], folder)
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}


def is_lost(row, plain):
    if row["judged_by"] == "dice":
        return row["affine"] < 0.5 * plain
    return row["affine"] > max(2 * plain, plain + 3)


def is_worse(row, program, plain):
    if row["judged_by"] == "dice":
        return row[program] < row["affine"] - (0.02 if plain < 0.99 else 0.1)
    return row[program] > row["affine"] + 0.5


def table(result):
    rows = [r for r in result["rows"] if all(r.get(k) is not None for k in ("affine", *PROGRAMS))]
    plain = result["plain_affine"]
    kinds = {}
    for r in rows:
        for name in r["harms"] or ["none"]:
            kinds.setdefault(re.sub(r"_[^_]*\d[^_]*$", "", name), []).append(r)  # without what was drawn

    def middle(of, unit):
        values = [of(r) for r in of_kind if r["judged_by"] == unit]
        return f"{statistics.median(values):.3f}" if values else "-"
    lines = ["| harm | cases | lost | ffdreg worse | fluidreg worse | Dice: affine, ffdreg, fluidreg; medians | mm |", "|---|---|---|---|---|---|---|"]
    for kind, of_kind in [*sorted(kinds.items()), ("all cases", rows)]:
        worse = [sum(is_worse(r, p, plain[r["pair"]]) for r in of_kind) for p in PROGRAMS]
        cells = [kind, len(of_kind), sum(is_lost(r, plain[r["pair"]]) for r in of_kind), *worse]
        cells += [", ".join(middle(lambda r, k=k: r[k], unit) for k in ("affine", *PROGRAMS)) for unit in ("dice", "mm")]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    failed = len(result["rows"]) - len(rows)
    said = f"{result['commit'][:7]}, {result['machine'] or 'some machine'}; {failed} of {len(result['rows'])} cases failed or have nothing to measure."
    return "\n".join([said, "", *lines])


def measured(o):
    """Yields the result as it grows: plain pairs, then the cases."""
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    result = {"commit": commit, "machine": o.machine, "options": o.options, "harms": [k.__name__ for k in o.kinds], "plain_affine": {}, "rows": []}
    for name in o.pairs:
        read_pair(o.data, name)  # before the processes part, which share it
    unharmed = argparse.Namespace(**{**vars(o), "kinds": ()})
    with concurrent.futures.ProcessPoolExecutor(o.jobs) as pool:
        alone = {p: pool.submit(run_case, 0, argparse.Namespace(**{**vars(unharmed), "pairs": (p,)})) for p in o.pairs}
        cases = [pool.submit(run_case, i, o) for i in o.cases]
        result["plain_affine"] = {p: found.result()["affine"] for p, found in alone.items()}
        for case in cases:
            result["rows"].append(case.result())
            yield result


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-d", "--data", type=pathlib.Path)
    parser.add_argument("-b", "--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("-o", "--out", type=pathlib.Path, default=ROOT / "build/random_harms.json")
    parser.add_argument("--cases", default="0-40", help="FIRST-END")
    parser.add_argument("--pairs", default=",".join(PAIRS))
    parser.add_argument("--harms", default=",".join(k.__name__ for k in harms.ALL))
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    parser.add_argument("--options", default="", help="for both programs")
    parser.add_argument("--machine", default="", help="words for the result")
    parser.add_argument("--scratch", help="a folder for what is written meanwhile, such as /dev/shm")
    parser.add_argument("--draw", type=pathlib.Path, help="only the table of a result")
    o = parser.parse_args(words)
    if not o.draw and not o.data:
        parser.error("-d DATA names the folder of the images; ../shared/data")
    known = {k.__name__: k for k in harms.ALL + harms.ASKED_FOR}
    for name in o.harms.split(","):
        if name not in known:
            parser.error(f"--harms {name} is none of {', '.join(known)}")
    o.kinds = tuple(known[name] for name in o.harms.split(","))
    o.pairs = tuple(o.pairs.split(","))
    for name in o.pairs:
        if name not in PAIRS:
            parser.error(f"--pairs {name} is none of {', '.join(PAIRS)}")
    first, _, end = o.cases.partition("-")
    o.cases = range(int(first), int(end))
    return o


def main():
    o = parse(None)
    if o.draw:
        return print(table(json.loads(o.draw.read_text())))
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    for result in measured(o):
        o.out.write_text(json.dumps(result, indent=None).replace('{"case"', '\n{"case"') + "\n")
        row = result["rows"][-1]
        print(row["case"], row["pair"], ",".join(row["harms"]), *(f"{k} {row[k]:.3f}" for k in ("affine", *PROGRAMS) if row.get(k) is not None), flush=True)
    print(table(result))


if __name__ == "__main__":
    main()
