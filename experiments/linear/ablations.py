#!/usr/bin/env python3
"""What parts of linreg are worth: Powell's resolution of parameters, CR against NMI, CR's border, tricubic samples.

  ablations.py powell|measures|border|sampling -d DATA [-l LINREG] [-n STARTS] [-j JOBS] [--minutes M]

powell:   avg152T1 <- avg152T2 (NMI, --search powell, one level of the search after the other) from random starts up to 10 degrees and 10 mm.
measures: NMI against CR on mm_cmtk_pat002 (rigid, error against its reference over the head) and brain_oasis_native (12 parameters, Dice), with blocks and without.
border:   CR with --cr-border 0 to 40 mm, rigid, --refine none: mm_cmtk_pat002 both ways from random starts up to 20 degrees and 30 mm.
sampling: --sampling linear against cubic (Ledig 2010, table 4), NMI, --refine none. Rigid by hill, powell and gradient from the identity and random starts
          up to 10 degrees and 10 mm: avg152T1 <- avg152T2 and avg152PD (error from the identity), mm_cmtk_pat002 mr_T2 <- ct (from its reference). Then
          brain_oasis_native by 12 parameters, both ways, Dice.
Errors are means over the fixed image's bright voxels, mm; times are not reported, for evaluations do not depend on the machine's load, but for sampling's:
there an evaluation of the finest level, the least of all runs (use -j 1).
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy

import runs
from offsets import inverse

flip = numpy.diag([-1.0, -1.0, 1.0, 1.0])


def cmtk_truth(data):
    """MR to CT, LPS, 4x4; the file's is in RAS."""
    return flip @ numpy.loadtxt(data / "mm_cmtk_pat002/ref_rigid_MRworld_to_ctworld.txt") @ flip


def error(found, truth, points):
    return numpy.linalg.norm(runs.apply(found, points) - runs.apply(truth, points), axis=1).mean()


def powell(o):
    folder = o.data / "mm_spm_templates"
    points = runs.bright_points(folder / "avg152T1.nii.gz")
    cells = [(dof, r) for dof in (6, 12) for r in ("0,0", "0.02,0.05", "0.1,0.25", "0.5,1")]
    random = numpy.random.default_rng(2)
    starts = [runs.random_start(points.mean(axis=0), random, False, 10, 10) for _ in range(o.starts)]
    one = lambda task: runs.linreg(o.linreg, folder / "avg152T1.nii.gz", folder / "avg152T2.nii.gz", "--search", "powell", "--refine", "none", "--dof", task[1][0],
                                   "--powell-resolution", task[1][1], "--threads", o.threads, start=starts[task[0]])
    results = dict(runs.in_parallel(o.jobs, one, [(n, c) for n in range(o.starts) for c in cells], o.minutes))
    print("| parameters | resolution, mm and degrees | starts | evaluations, mean | on the finest level | from the identity: median, max | cost at the end, mean |")
    print("|---|---|---|---|---|---|---|")
    starts_done = [n for n in range(o.starts) if all((n, c) in results and results[n, c][0] is not None for c in cells)]
    for cell in cells:
        got = [results[n, cell] for n in starts_done]
        off = [error(t, numpy.eye(4)[:3], points) for t, _ in got]
        print(f"| {cell[0]} | {cell[1]} | {len(got)} | {numpy.mean([runs.evaluations(r) for _, r in got]):.0f} | "
              f"{numpy.mean([r['levels'][-1]['evaluations'] for _, r in got]):.0f} | "
              f"{numpy.median(off):.2f}, {max(off):.2f} | {numpy.mean([r['linear']['cost']['after'] for _, r in got]):.5f} |")


def cmtk_ways(data):
    """Fixed, moving, truth (fixed to moving), points: MR fixed, then CT fixed."""
    folder, truth = data / "mm_cmtk_pat002", cmtk_truth(data)
    mr, ct = folder / "mr_T2.nii.gz", folder / "ct.nii.gz"
    return [(mr, ct, truth[:3], runs.bright_points(mr)), (ct, mr, numpy.linalg.inv(truth)[:3], runs.bright_points(ct, 0.1))]


def dice(o, fixed, moving, prefix):
    folder = o.data / "brain_oasis_native"
    labels = "2,3,4,7,8,10,11,12,13,16,17,18,28,41,42,43,46,47,49,50,51,52,53,54,60"
    done = subprocess.run([sys.executable, o.data.parent / "eval/score.py", "labels", "--fixed-labels", folder / f"{fixed}_aseg.nii.gz", "--moving-labels",
                           folder / f"{moving}_aseg.nii.gz", "-t", f"{prefix}0GenericAffine.mat", "--labels", labels], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def measures(o):
    names = {"NMI": ["-s", "nmi"], "CR of moving": ["-s", "cr"], "CR of fixed": ["-s", "cr", "--cr-of-fixed"]}
    ways = cmtk_ways(o.data)
    native = o.data / "brain_oasis_native"
    heads = [("0001", "0002"), ("0002", "0001")]

    def one(task):
        kind, way, measure, refine = task
        if kind == "cmtk":
            fixed, moving, _, _ = ways[way]
            return runs.linreg(o.linreg, fixed, moving, "--dof", 6, "--refine", refine, *names[measure], "--threads", o.threads)[0]
        with tempfile.TemporaryDirectory() as folder:
            fixed, moving = heads[way]
            found, report = runs.linreg(o.linreg, native / f"{fixed}_norm.nii.gz", native / f"{moving}_norm.nii.gz", "--refine", refine, *names[measure], "--threads",
                                        o.threads, keep=f"{folder}/r_")
            return None if found is None else dice(o, fixed, moving, f"{folder}/r_")["mean_dice"]

    tasks = [(kind, w, m, r) for kind in ("cmtk", "native") for r in ("none", "auto") for m in names for w in (0, 1)]
    results = dict(runs.in_parallel(o.jobs, one, tasks, o.minutes))

    def cmtk(measure, refine):
        found = [results.get(("cmtk", w, measure, refine)) for w in (0, 1)]
        if found[0] is None or found[1] is None:
            return "-"
        off = [error(f, truth, points) for f, (_, _, truth, points) in zip(found, ways)]
        return f"{off[0]:.2f}; {off[1]:.2f}; {error(found[0], inverse(found[1]), ways[0][3]):.2f}"

    def oasis(measure, refine):
        found = [results.get(("native", w, measure, refine)) for w in (0, 1)]
        return "; ".join("-" if f is None else f"{f:.3f}" for f in found)

    print("CMTK, rigid: error with MR fixed; with CT fixed; between the first and the inverse of the second, mm. OASIS native: Dice of 25 labels, 0001 fixed; 0002 fixed.")
    print("| measure | CMTK, --refine none | with blocks | OASIS native, --refine none | with blocks |")
    print("|---|---|---|---|---|")
    for m in names:
        print(f"| {m} | {cmtk(m, 'none')} | {cmtk(m, 'auto')} | {oasis(m, 'none')} | {oasis(m, 'auto')} |")


def border(o):
    ways, widths = cmtk_ways(o.data), (0, 5, 10, 20, 40)
    random = numpy.random.default_rng(3)
    starts = []
    for _ in range(o.starts):
        turn = runs.random_start(numpy.zeros(3), random, False)
        starts.append([numpy.vstack([t, [0, 0, 0, 1]])[:3] @ numpy.vstack([runs.about(p.mean(axis=0), turn[:, :3], turn[:, 3]), [0, 0, 0, 1]]) for _, _, t, p in ways])

    def one(task):
        number, way, width, search = task
        fixed, moving, truth, points = ways[way]
        found, _ = runs.linreg(o.linreg, fixed, moving, "--dof", 6, "-s", "cr", "--cr-border", width, "--search", search, "--refine", "none", "--threads", o.threads, start=starts[number][way])
        return numpy.inf if found is None else error(found, truth, points)

    tasks = [(n, w, width, s) for n in range(o.starts) for width in widths for s in ("auto", "gradient") for w in (0, 1)]
    results = dict(runs.in_parallel(o.jobs, one, tasks, o.minutes))
    print("| border, mm | starts | auto: MR fixed median, max; within 4 mm | CT fixed | gradient: MR fixed | CT fixed |")
    print("|---|---|---|---|---|---|")
    for width in widths:
        cells, count = [], 0
        for search in ("auto", "gradient"):
            for way in (0, 1):
                got = numpy.array([results[n, way, width, search] for n in range(o.starts) if (n, way, width, search) in results])
                count = len(got)
                cells.append(f"{numpy.median(got):.2f}, {got.max():.2f}; {(got <= 4).sum()} of {count}" if count else "-")
        print(f"| {width} | {count} | {' | '.join(cells)} |")


def evaluation_ms(report):
    finest = report["levels"][-1]
    return 1000 * finest["seconds"] / max(finest["evaluations"], 1)


def sampling(o):
    spm, cmtk = o.data / "mm_spm_templates", cmtk_ways(o.data)[0]
    t1 = spm / "avg152T1.nii.gz"
    bright = runs.bright_points(t1)
    pairs = {f"avg152T1 <- avg152{m}": (t1, spm / f"avg152{m}.nii.gz", numpy.eye(4)[:3], bright) for m in ("T2", "PD")}
    pairs["CMTK mr_T2 <- ct"] = cmtk
    random = numpy.random.default_rng(4)
    turns = [None] + [runs.random_start(numpy.zeros(3), random, False, 10, 10) for _ in range(o.starts - 1)]
    ways = ("linear", "cubic")

    def start(turn, truth, points):
        if turn is None:
            return truth
        off = runs.about(points.mean(axis=0), turn[:, :3], turn[:, 3])
        return truth @ numpy.vstack([off, [0, 0, 0, 1]])

    def rigid(task):
        number, pair, search, way = task
        fixed, moving, truth, points = pairs[pair]
        found, report = runs.linreg(o.linreg, fixed, moving, "--dof", 6, "--search", search, "--refine", "none", "--sampling", way, "--threads", o.threads,
                                    start=start(turns[number], truth, points))
        return None if found is None else (found, report)

    tasks = [(n, p, s, w) for n in range(o.starts) for s in ("gradient", "hill", "powell") for p in pairs for w in ways]
    results = dict(runs.in_parallel(o.jobs, rigid, tasks, o.minutes))
    print("| pair, search | starts | sampling | from the truth: median, max | from the results' middle: median, max | evaluations; finest level | ms each there |")
    print("|---|---|---|---|---|---|---|")
    for pair, search in ((p, s) for p in pairs for s in ("hill", "powell", "gradient")):
        truth, points = pairs[pair][2:]
        both = [n for n in range(o.starts) if all(results.get((n, pair, search, w)) for w in ways)]
        for way in ways if both else ():
            got = [results[n, pair, search, way] for n in both]
            middle = numpy.median([t for t, _ in got], axis=0)
            off, spread = ([error(t, reference, points) for t, _ in got] for reference in (truth, middle))
            print(f"| {pair}, {search} | {len(got)} | {way} | {numpy.median(off):.2f}, {max(off):.2f} | {numpy.median(spread):.3f}, {max(spread):.3f} | "
                  f"{numpy.mean([runs.evaluations(r) for _, r in got]):.0f}; {numpy.mean([r['levels'][-1]['evaluations'] for _, r in got]):.0f} | "
                  f"{min(evaluation_ms(r) for _, r in got):.1f} |")

    native = o.data / "brain_oasis_native"
    print("\n| brain_oasis_native, --dof 12 | sampling | Dice: 0001 fixed; 0002 fixed | evaluations | finest level: ms each |")
    print("|---|---|---|---|---|")
    for options in (["--search", "auto", "--refine", "none"], ["--search", "powell", "--refine", "none"]):
        for way in ways:
            scores, reports = [], []
            for fixed, moving in (("0001", "0002"), ("0002", "0001")):
                with tempfile.TemporaryDirectory() as folder:
                    _, report = runs.linreg(o.linreg, native / f"{fixed}_norm.nii.gz", native / f"{moving}_norm.nii.gz", *options, "--sampling", way, "--threads",
                                            o.threads, keep=f"{folder}/r_")
                    scores.append(f"{dice(o, fixed, moving, f'{folder}/r_')['mean_dice']:.3f}")
                    reports.append(report)
            print(f"| {' '.join(options)} | {way} | {'; '.join(scores)} | {'; '.join(str(runs.evaluations(r)) for r in reports)} | "
                  f"{min(map(evaluation_ms, reports)):.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["powell", "measures", "border", "sampling"])
    parser.add_argument("-d", "--data", type=pathlib.Path, required=True)
    parser.add_argument("-l", "--linreg", default="linreg")
    parser.add_argument("-n", "--starts", type=int, default=10)
    parser.add_argument("-t", "--threads", default="1")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float)
    o = parser.parse_args()
    {"powell": powell, "measures": measures, "border": border, "sampling": sampling}[o.table](o)


if __name__ == "__main__":
    main()
