"""Runs a registration level by level and scores what each of them gained.

A registration computes the same bits whenever it gets the same input and options, so its state after a level is the result of the same
call with no iterations on the levels below. The score is that of labels, landmarks or a known deformation: an image similarity would
only say how well the program did what it optimises.
"""
import hashlib
import json
import subprocess
import time
from pathlib import Path


class Failed(Exception):
    """A program ended with an error: its last sentence."""


class Programs:
    """The programs of one folder, and the number of threads they are given."""

    def __init__(self, folder, threads):
        self.threads = threads
        self.paths = {name: self._find(folder, name) for name in ("ffdreg", "fluidreg", "linreg", "regtool")}

    @staticmethod
    def _find(folder, name):
        for path in (folder / name, folder / "apps" / name):
            if path.is_file():
                return path.resolve()
        raise FileNotFoundError(f"{folder} has no {name}: build the programs, or name their folder with --programs")

    def call(self, name, *words):
        command = [str(self.paths[name]), *(str(word) for word in words), "--threads", str(self.threads), "-q"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
            raise Failed(f"{name}: {lines[-1]}")

    def hashes(self):
        return {name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for name, path in self.paths.items()}


def transforms(prefix):
    """The chain that a run wrote, as regtool takes it; nothing for no run."""
    return [] if prefix is None else ["-t", f"{prefix}1Warp.nii.gz", "-t", f"{prefix}0GenericAffine.mat"]


def score(programs, case, figure, chain, folder):
    """One figure; landmarks of a group are chosen from the errors of each."""
    answer = folder / "score.json"
    if figure.kind == "dice":
        words = ["--fixed-labels", figure.fixed, "--moving-labels", figure.moving]
        programs.call("regtool", "measure", *words, *(["--labels", figure.labels] if figure.labels else []), *chain, "-o", answer)
        return json.loads(answer.read_text())["labels"]["mean_dice"]
    words = ["--fixed-points", figure.fixed, "--moving-points", figure.moving, "--frame", figure.frame, "--per-point"]
    if figure.frame == "voxel":
        words += ["--fixed", case.fixed, "--moving", case.moving]
    programs.call("regtool", "measure", *words, *chain, "-o", answer)
    found = json.loads(answer.read_text())["landmarks"]
    errors = found["tre"] if chain else found["tre_before"]
    chosen = [errors[i] for i in figure.points] if figure.points else errors
    return sum(chosen) / len(chosen)


def folds(programs, prefix, folder):
    answer = folder / "folds.json"
    programs.call("regtool", "measure", "--field", f"{prefix}1Warp.nii.gz", "-o", answer)
    return json.loads(answer.read_text())["field"]["corner_folds"]


def iterations(report, count):
    """As many as the whole run was allowed on the first `count` of the levels it ran, none on the others.

    A discrete start takes the place of the coarsest levels: they are not run, but --iterations has a value for them."""
    run = report["levels"]
    allowed = [level["iterations_at_most"] if i < count else 0 for i, level in enumerate(run)]
    return "x".join(map(str, [0] * (report["options"]["levels"] - len(run)) + allowed))


def grid(level, geometry):
    """A level's voxels and their size in mm. Levels count along the patient's axes, the file along its own."""
    axes = [max(range(3), key=lambda axis: abs(row[axis])) for row in geometry["direction_lps"]]
    size = [geometry["spacing_mm"][axis] * geometry["size"][axis] / m for axis, m in zip(axes, level["grid"])]
    return level["grid"], [round(s, 2) for s in size]


def masks(case):
    """The pair's masks as the programs take them; one may be missing."""
    return [word for flag, mask in zip(("--fixed-mask", "--moving-mask"), case.masks) if mask for word in (flag, mask)]


def run_method(programs, case, method, folder, say=lambda text: None):
    """Stages from none to all levels, each with its figures, corner folds and seconds; the whole run's files stay in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    words = ["-f", case.fixed, "-m", case.moving, *masks(case), *method.options]

    def figures(chain):
        return {figure.name: score(programs, case, figure, chain, folder) for figure in case.figures}

    say(f"{case.name}: {method.name}")
    whole, start = folder / "whole_", time.monotonic()
    programs.call(method.program, *words, "-o", whole, "--outputs", "warp,warped,report", "--report", "both")
    seconds = time.monotonic() - start
    report = json.loads(Path(f"{whole}report.json").read_text())
    found = [{"stage": "before", "figures": figures([])}]
    if "linear" in report:
        found.append({"stage": "affine", "figures": figures(["-t", f"{whole}0GenericAffine.mat"]), "seconds": report["seconds"]["linear"]})
    part = folder / "part_"
    for count in range(0 if report.get("start", {}).get("taken") else 1, len(report["levels"]) + 1):
        prefix = whole
        if count < len(report["levels"]):
            prefix = part
            programs.call(method.program, *words, "-o", part, "--iterations", iterations(report, count), "--outputs", "warp,report")
        skipped = report["options"]["levels"] - len(report["levels"])
        stage = {"stage": f"level {skipped + count}" if count else "discrete start", "figures": figures(transforms(prefix)),
                 "corner_folds": folds(programs, prefix, folder)}
        if count:
            level = report["levels"][count - 1]
            stage["grid"], stage["spacing_mm"] = grid(level, report["fixed"])
            stage.update(seconds=level["seconds"], evaluations=level["evaluations"], ended=level["stopped_because"])
        else:
            stage["seconds"] = report["seconds"].get("start")
        found.append(stage)
    for leftover in folder.glob("part_*"):
        leftover.unlink()
    return {"command": report["command"], "seconds": round(seconds, 2), "stages": found, "verdict": report["summary"]["grade"],
            "prefix": str(whole)}


def run_before(programs, case, folder):
    """The page of the pair as it lies: the pictures to compare with."""
    prefix = folder / "before_"
    programs.call("ffdreg", "-f", case.fixed, "-m", case.moving, "-o", prefix, "--levels", "1", "--iterations", "0", "--linear", "none",
                  "--start", "none", "--outputs", "warp,warped,report", "--report", "both")
    return f"{prefix}report.html"
