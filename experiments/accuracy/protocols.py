#!/usr/bin/env python3
"""Brains of different people that different protocols label, T1 among themselves and beside T2 and PD, stripped and whole heads: no default was
chosen on these pairs.

  protocols.py -d DATA [-b BUILD] [-o RESULT.json] [--options "--device cuda"] [--machine WORDS] [--greedy]
  protocols.py --draw RESULT.json

Dice of the structures that FreeSurfer's aseg, LPBA40 and AAL all draw (caudate, putamen and hippocampus of either side, cerebellum), and of grey and
white matter where both brains have it, by regtool measure. Protocols draw borders differently, so that no registration reaches 1: a row compares
registrations. Needs numpy and nibabel; --greedy also runs Greedy (picsl_greedy of PyPI: affine and deformation by NCC, 100x50x10) on all cores where
both images are T1, a minute a pair.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import nibabel
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("ffdreg", "fluidreg")

# Labels of caudate, putamen and hippocampus, each left and right, and of the cerebellum.
STRUCTURES = {
    "aseg": ((11,), (50,), (12,), (51,), (17,), (53,), (7, 8, 46, 47)),
    "lpba40": ((161,), (162,), (163,), (164,), (165,), (166,), (181,)),
    "aal": ((71,), (72,), (73,), (74,), (37,), (38,), tuple(range(91, 117))),
}
# Of grey and white matter.
TISSUES = {
    "aseg": ((3, 8, 10, 11, 12, 17, 18, 26, 42, 47, 49, 50, 51, 53, 54, 58), (2, 7, 13, 16, 28, 41, 46, 52, 60, 77, 251, 252, 253, 254, 255)),
    "tissues": ((2,), (3,)),
}


@dataclass(frozen=True)
class Brain:
    image: str
    labels: str
    protocol: str
    tissues: str = ""
    tissue_protocol: str = ""
    contrast: str = "T1"


def oasis(person, image):
    labels = f"brain_oasis_native/{person}_aseg.nii.gz"
    return Brain(f"brain_oasis_native/{person}_{image}.nii.gz", labels, "aseg", labels, "aseg")


def sri24(contrast):
    return Brain(f"mm_sri24/{contrast.lower()}.nii.gz", "mm_sri24/lpba40.nii.gz", "lpba40", "mm_sri24/tissues.nii.gz", "tissues", contrast)


def colin(image):
    return Brain(f"brain_to_mni/{image}.nii.gz", "brain_to_mni/aal.nii.gz", "aal")


BRAINS = {
    "OASIS 1": oasis("0001", "norm"), "OASIS 2": oasis("0002", "norm"), "OASIS 1, head": oasis("0001", "T1"),
    "SRI24": sri24("T1"), "SRI24 T2": sri24("T2"), "SRI24 PD": sri24("PD"), "Colin": colin("ch2bet"), "Colin, head": colin("ch2"),
}
PAIRS = (
    ("Colin", "OASIS 1"), ("Colin", "SRI24"), ("SRI24", "OASIS 1"), ("SRI24", "Colin"), ("OASIS 1", "SRI24"), ("OASIS 2", "Colin"),
    ("OASIS 1, head", "Colin, head"), ("Colin, head", "OASIS 2"), ("SRI24", "OASIS 1, head"),
    ("OASIS 1", "SRI24 T2"), ("OASIS 2", "SRI24 T2"), ("SRI24 T2", "OASIS 1"), ("SRI24 T2", "OASIS 2"), ("OASIS 1", "SRI24 PD"),
    ("SRI24 PD", "OASIS 2"),
)


def in_common(path, groups, to):
    """Writes labels 1, 2, ... of groups of a protocol's."""
    image = nibabel.load(path)
    labels = np.asanyarray(image.dataobj)
    common = np.zeros(labels.shape, np.uint8)
    for number, group in enumerate(groups, 1):
        common[np.isin(labels, group)] = number
    nibabel.save(nibabel.Nifti1Image(common, image.affine), to)
    return to


class Pair:
    """Two brains and what of both is known, in a folder that goes away."""

    def __init__(self, o, folder, fixed, moving):
        self.apps, self.options, self.folder = o.build / "apps", o.options.split(), folder
        self.brains = [BRAINS[fixed], BRAINS[moving]]
        self.images = [o.data / b.image for b in self.brains]
        self.labels = {"structures": [in_common(o.data / b.labels, STRUCTURES[b.protocol], folder / f"{i}s.nii.gz") for i, b in enumerate(self.brains)]}
        if all(b.tissues for b in self.brains):
            self.labels["tissues"] = [in_common(o.data / b.tissues, TISSUES[b.tissue_protocol], folder / f"{i}t.nii.gz")
                                      for i, b in enumerate(self.brains)]

    def dice(self, fixed, moving, transforms=()):
        out = self.folder / "score.json"
        chain = [word for t in transforms for word in ("-t", t)]
        subprocess.run([self.apps / "regtool", "measure", "-q", "--fixed-labels", fixed, "--moving-labels", moving, *chain, "-o", out],
                       check=True, stdout=subprocess.DEVNULL)
        return round(json.loads(out.read_text())["labels"]["mean_dice"], 4)

    def ours(self, program):
        start = f"{self.folder}/{program}_"
        call = [self.apps / program, "-f", self.images[0], "-m", self.images[1], "-o", start, "-q", "--outputs", "warp", *self.options]
        subprocess.run(call, check=True)
        whole = [start + "1Warp.nii.gz", start + "0GenericAffine.mat"]
        return [{what: self.dice(*pair, chain) for what, pair in self.labels.items()} for chain in (whole, whole[1:])]

    def greedy(self):
        """Nothing where contrasts differ, which NCC does not compare."""
        if self.brains[0].contrast != self.brains[1].contrast:
            return {}
        images, affine, warp = "-i {} {}".format(*self.images), self.folder / "g.mat", self.folder / "g.nii.gz"
        calls = [f"{images} -a -dof 12 -ia-image-centers -n 100x50x10 -m NCC 4x4x4 -o {affine}",
                 f"{images} -it {affine} -n 100x50x10 -m NCC 2x2x2 -o {warp}"]
        for what, (fixed, moving) in self.labels.items():
            calls.append(f"-rf {fixed} -ri NN -rm {moving} {self.folder}/g_{what}.nii.gz -r {warp} {affine}")
        code = "from picsl_greedy import Greedy3D\ngreedy = Greedy3D()\n" + "".join(f"greedy.execute({call!r})\n" for call in calls)
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
        return {what: self.dice(pair[0], self.folder / f"g_{what}.nii.gz") for what, pair in self.labels.items()}


def measured(o):
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    result = {"commit": commit, "machine": o.machine, "options": o.options, "rows": []}
    for fixed, moving in PAIRS:
        with tempfile.TemporaryDirectory(dir=o.scratch) as folder:
            pair, row = Pair(o, pathlib.Path(folder), fixed, moving), {"fixed": fixed, "moving": moving}
            for program in PROGRAMS:
                row[program], row["affine"] = pair.ours(program)
            if o.greedy:
                row["greedy"] = pair.greedy()
        result["rows"].append(row)
        yield result


def is_alike(row):
    return BRAINS[row["fixed"]].contrast == BRAINS[row["moving"]].contrast


def table(result):
    columns = [c for c in ("affine", "ffdreg", "fluidreg", "greedy") if c in result["rows"][0]]
    lines = [f"| fixed <- moving | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]

    def cell(found):
        return ", ".join(f"{found[what]:.3f}" for what in ("structures", "tissues") if what in found) or "-"

    for row in result["rows"]:
        lines.append(f"| {row['fixed']} <- {row['moving']} | {' | '.join(cell(row[c]) for c in columns)} |")
    for name, rows in (("T1 beside T1", [r for r in result["rows"] if is_alike(r)]), ("others", [r for r in result["rows"] if not is_alike(r)])):
        means = [{w: float(np.mean(of)) for w in ("structures", "tissues") if (of := [r[c][w] for r in rows if w in r[c]])} for c in columns]
        lines.append(f"| mean, {name} | {' | '.join(map(cell, means))} |")
    return "\n".join([f"{result['commit'][:7]}, {result['machine'] or 'some machine'}; structures, tissues.", "", *lines])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-d", "--data", type=pathlib.Path)
    parser.add_argument("-b", "--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("-o", "--out", type=pathlib.Path, default=ROOT / "build/protocols.json")
    parser.add_argument("--options", default="", help="for both programs")
    parser.add_argument("--greedy", action="store_true", help="and Greedy, where its Python package is installed")
    parser.add_argument("--machine", default="", help="words for the result")
    parser.add_argument("--scratch", help="a folder for what is written meanwhile, such as /dev/shm")
    parser.add_argument("--draw", type=pathlib.Path, help="only the table of a result")
    o = parser.parse_args()
    if o.draw:
        return print(table(json.loads(o.draw.read_text())))
    if not o.data:
        parser.error("-d DATA names the folder of the images; ../shared/data")
    for result in measured(o):
        o.out.write_text(json.dumps(result).replace('{"fixed"', '\n{"fixed"') + "\n")
        print(f"{result['rows'][-1]['fixed']} <- {result['rows'][-1]['moving']}", flush=True)
    print(table(result))


if __name__ == "__main__":
    main()
