#!/usr/bin/env python3
"""Images of unlike voxels, thick slices and slabs: what ffdreg and fluidreg make of a moving image in blocks of its voxels, of both images in thick
slices, and of a few slices as the fixed one.

  unlike.py -d DATA [-b BUILD] [-o RESULT.json] [--pairs mouse,d19_1_6] [--options "--device cuda"]

Defaults; beside them what the plain pair's own transform gives on the same slabs. Blocks are means (SimpleITK's BinShrink), slabs are cut from
the middle of the fixed image across each axis. Dice of all common labels, or mean TRE in mm, by regtool measure.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import SimpleITK as sitk

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("ffdreg", "fluidreg")
SLICES = (4, 6, 12, 24)


def labelled(folder, fixed, moving, fixed_labels, moving_labels):
    return {"what": "labels", "images": [f"{folder}/{fixed}", f"{folder}/{moving}"], "truth": [f"{folder}/{fixed_labels}", f"{folder}/{moving_labels}"]}


def liver(person, cycle):
    name = f"liver_eth4dmri/{person}_exh"
    return {"what": "points", "images": [f"{name}.nii.gz", f"liver_eth4dmri/{person}_{cycle}.nii.gz"],
            "truth": [f"{name}_to_{cycle}_{side}_points.csv" for side in ("fixed", "moving")]}


PAIRS = {
    "oasis": labelled("brain_oasis_aligned", "0001_norm.nii.gz", "0002_norm.nii.gz", "0001_seg35.nii.gz", "0002_seg35.nii.gz"),
    "native": labelled("brain_oasis_native", "0001_norm.nii.gz", "0002_norm.nii.gz", "0001_aseg.nii.gz", "0002_aseg.nii.gz"),
    "mouse": labelled("mouse_fvb", "wt1_t2.nii.gz", "wt2_t2.nii.gz", "wt1_labels.nii.gz", "wt2_labels.nii.gz"),
    "lung_proton": labelled("lung_proton", "0004_h1.nii.gz", "0006_h1.nii.gz", "0004_lobes.nii.gz", "0006_lobes.nii.gz"),
    "d18_1_10": liver("d18", "cyc_1_10"), "d18_3_10": liver("d18", "cyc_3_10"),
    "d19_1_6": liver("d19", "cyc_1_6"), "d19_1_9": liver("d19", "cyc_1_9"),
}
THICK = {"labels": (((1, 1, 5), (1, 1, 5)), ((5, 1, 1), (1, 5, 1))), "points": (((1, 1, 2), (1, 1, 2)),)}  # fixed, moving
BLOCKS = {"labels": ((2, 2, 2), (3, 3, 3), (1, 1, 4), (2, 2, 5)), "points": ((2, 2, 1), (3, 3, 1))}


class Run:
    """The programs of a build on files in a folder that goes away."""

    def __init__(self, build, options, folder):
        self.apps, self.options, self.folder = build / "apps", options.split(), folder

    def register(self, program, fixed, moving, name):
        """The start of the outputs' names; None where the program failed."""
        prefix = self.folder / f"{name}_{program}_"
        call = [self.apps / program, "-f", fixed, "-m", moving, "-o", prefix, "-q", "--outputs", "warp,report", *self.options]
        return prefix if subprocess.run(call).returncode == 0 else None

    def score(self, what, truth, prefix):
        if prefix is None:
            return None
        out = self.folder / "score.json"
        call = [self.apps / "regtool", "measure", "-q", f"--fixed-{what}", truth[0], f"--moving-{what}", truth[1],
                "-t", f"{prefix}1Warp.nii.gz", "-t", f"{prefix}0GenericAffine.mat", "-o", out]
        subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
        scores = json.loads(out.read_text())
        return scores["labels"]["mean_dice"] if what == "labels" else scores["landmarks"]["tre_mean"]


def slab(path, axis, slices, to):
    """Writes the middle slices; they keep their place in the world."""
    image = sitk.ReadImage(str(path))
    first = image.GetSize()[axis] // 2 - slices // 2
    cut = [slice(None)] * 3
    cut[axis] = slice(first, first + slices)
    sitk.WriteImage(image[tuple(cut)], str(to))
    return to


def in_blocks(path, block, to):
    """Writes means of blocks of voxels."""
    sitk.WriteImage(sitk.BinShrink(sitk.ReadImage(str(path), sitk.sitkFloat32), block), str(to))
    return to


def rows(run, data, name):
    pair = PAIRS[name]
    fixed, moving = (data / path for path in pair["images"])
    truth = [data / path for path in pair["truth"]]
    plain = {program: run.register(program, fixed, moving, "plain") for program in PROGRAMS}
    yield "plain", {program: run.score(pair["what"], truth, plain[program]) for program in PROGRAMS}, {}
    for block in BLOCKS[pair["what"]]:
        coarse = in_blocks(moving, block, run.folder / "moving.nii.gz")
        yield f"moving in blocks of {block}", {p: run.score(pair["what"], truth, run.register(p, fixed, coarse, "blocks")) for p in PROGRAMS}, {}
    for blocks in THICK[pair["what"]]:
        thick = [in_blocks(path, block, run.folder / f"{side}.nii.gz") for path, block, side in zip((fixed, moving), blocks, ("fixed", "moving"))]
        yield f"blocks of {blocks[0]} on {blocks[1]}", {p: run.score(pair["what"], truth, run.register(p, *thick, "thick")) for p in PROGRAMS}, {}
    if pair["what"] != "labels":
        return
    for axis in range(3):
        for slices in SLICES:
            cut = slab(fixed, axis, slices, run.folder / "fixed.nii.gz")
            labels = [slab(truth[0], axis, slices, run.folder / "labels.nii.gz"), truth[1]]
            found = {p: run.score("labels", labels, run.register(p, cut, moving, "slab")) for p in PROGRAMS}
            yield f"fixed slab of {slices}, axis {axis}", found, {p: run.score("labels", labels, plain[p]) for p in PROGRAMS}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-d", "--data", type=pathlib.Path, required=True)
    parser.add_argument("-b", "--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("-o", "--out", type=pathlib.Path, default=ROOT / "build/unlike.json")
    parser.add_argument("--pairs", default=",".join(PAIRS))
    parser.add_argument("--options", default="", help="for both programs")
    o = parser.parse_args()
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    result = {"commit": commit, "options": o.options, "rows": []}
    for name in o.pairs.split(","):
        with tempfile.TemporaryDirectory() as folder:
            for what, found, plain in rows(Run(o.build, o.options, pathlib.Path(folder)), o.data, name):
                result["rows"].append({"pair": name, "what": what, "found": found, "by_the_plain_pair": plain})
                o.out.write_text(json.dumps(result, indent=1) + "\n")
                print(f"{name:12} {what:32}", *(f"{p} {found[p]:.3f}" if found[p] is not None else f"{p} failed" for p in PROGRAMS),
                      *(f"({plain[p]:.3f})" for p in plain), flush=True)


if __name__ == "__main__":
    main()
