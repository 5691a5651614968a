"""Runs the programs and the scorers. What was computed once from the same program, options and inputs is kept and not computed again."""
import hashlib
import json
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import time

import pairs


class NotKept(Exception):
    """A registration has not been run, and none is to be."""


class Failed(Exception):
    """A program ended with an error: its last sentence."""


class Interrupted(Exception):
    """A program was ended from outside."""


def call(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace")
    if done.returncode < 0 or done.returncode == 130:  # says nothing about the program, so nothing is kept
        raise Interrupted(f"{pathlib.Path(str(command[0])).name} was interrupted")
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        raise Failed(f"{pathlib.Path(str(command[0])).name}: {lines[-1]}")
    return done.stdout


def cpu_seconds():
    """Of all programs that have run so far: on a machine that others share, what can be compared."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Runner:
    """Results lie in `cache`, a folder per key: the hash of the program's bytes, its words and the bytes of its inputs."""

    def __init__(self, data, build, cache, say=lambda text: None, kept_only=False):
        self.data, self.build, self.cache, self.say, self.kept_only = data, build, cache, say, kept_only
        self.hashes, self.scenes = {}, {}
        self.table = {pair.name: pair for pair in pairs.PAIRS}

    def program(self, name):
        for folder in ("apps", "experiments/accuracy", "bin", "."):
            path = self.build / folder / name
            if path.is_file():
                return path
        raise FileNotFoundError(f"{self.build} has no {name}: build the targets ffdreg, fluidreg, regtool and accuracy_scenes")

    def hash(self, path):
        if path not in self.hashes:
            self.hashes[path] = hashlib.sha256(path.read_bytes()).hexdigest()
        return self.hashes[path]

    def key(self, words):
        """Of a call: files count by their bytes, wherever they lie."""
        return hashlib.sha256("\n".join(self.hash(w) if isinstance(w, pathlib.Path) else str(w) for w in words).encode()).hexdigest()[:24]

    def kept(self, kind, words, make):
        """The folder of this call, made by make(folder) unless it is there; what is half done is never taken for done."""
        folder = self.cache / kind / self.key(words)
        if not folder.is_dir():
            if kind == "runs" and self.kept_only:
                raise NotKept
            folder.parent.mkdir(parents=True, exist_ok=True)
            scratch = pathlib.Path(tempfile.mkdtemp(dir=folder.parent))
            try:
                make(scratch)
                os.replace(scratch, folder)
            except OSError:
                if not folder.is_dir():  # else another run of this tool was faster
                    raise
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
        return folder

    def file(self, name):
        """The path of a file as pairs.py names it; makes the scene that it is of."""
        if not name.startswith("made:"):
            path = self.data / name
            if not path.is_file():
                raise FileNotFoundError(f"{path} is missing")
            return path
        scene, file = name.removeprefix("made:").split("/")
        if scene not in self.scenes:
            words = [self.program("accuracy_scenes")]
            words += [self.file(w) if w.endswith(".nii.gz") else w for w in pairs.SCENES[scene]]
            self.scenes[scene] = self.kept("scenes", words, lambda folder: call([*words, "--out", folder]))
        return self.scenes[scene] / file

    def register(self, pair, program, options):
        """The folder of this pair's run: warp and affine, and run.json with seconds and, where it failed, the reason."""
        words = [self.program(program), "-f", self.file(pair.fixed), "-m", self.file(pair.moving), *options]
        for flag, mask in zip(("--fixed-mask", "--moving-mask"), pair.masks):
            words += [flag, self.file(mask)]

        def make(folder):
            self.say(f"{pair.name}: {' '.join([program, *options])}")
            start, busy, record = time.time(), cpu_seconds(), {}
            try:
                call([*words, "-o", folder / "r_", "-q"])
                record["report_seconds"] = json.loads((folder / "r_report.json").read_text()).get("seconds")
            except Failed as failure:
                record["failed"] = str(failure)
            record.update(seconds=round(time.time() - start, 2), cpu_seconds=round(cpu_seconds() - busy, 2))
            for large in ("r_1InverseWarp.nii.gz", "r_Warped.nii.gz", "r_InverseWarped.nii.gz"):
                (folder / large).unlink(missing_ok=True)
            (folder / "run.json").write_text(json.dumps(record))

        return self.kept("runs", words, make)

    def asked(self, words, out=""):
        """What a scorer answers, as JSON; out: the flag that names its file, else it prints it."""
        def make(folder):
            text = call([*words, out, folder / "out.json"] if out else words)
            if not out:
                (folder / "out.json").write_text(text)
        return json.loads((self.kept("scores", words, make) / "out.json").read_text())

    @staticmethod
    def transforms(folder):
        return [] if folder is None else ["-t", folder / "r_1Warp.nii.gz", "-t", folder / "r_0GenericAffine.mat"]

    def figure(self, figure, folder, plain):
        """One figure of a run, or of no registration at all (folder None). plain(pair): the run to compare with."""
        chain = self.transforms(folder)
        if figure.kind == "dice":
            words = [self.program("regtool"), "measure", "-q", "--fixed-labels", self.file(figure.fixed), "--moving-labels",
                     self.file(figure.moving), *chain, *(["--labels", figure.labels] if figure.labels else [])]
            return self.asked(words, "-o")["labels"]["mean_dice"]
        if figure.kind == "tre":
            words = [self.program("regtool"), "measure", "-q", "--fixed-points", self.file(figure.fixed), "--moving-points",
                     self.file(figure.moving), *chain]
            return self.asked(words, "-o")["landmarks"]["tre_mean"]
        words = [self.program("accuracy_scenes"), "compare", self.file(figure.fixed), *chain]
        if figure.kind == "error":
            return self.asked([*words, "--truth", self.file(figure.truth)])["mean_mm"]
        if folder is None:
            return None
        other = self.transforms(plain(self.table[figure.truth]))
        answer = self.asked([*words, *("--truth" if w == "-t" else w for w in other)])
        return answer["max_mm" if figure.kind == "apart_max" else "mean_mm"]

    def folds(self, folder):
        return self.asked([self.program("regtool"), "measure", "-q", "--field", folder / "r_1Warp.nii.gz"], "-o")["field"]["corner_folds"]

    def before(self, pair):
        return {figure.name: self.figure(figure, None, None) for figure in pair.figures}

    def judge(self, pair, program, options):
        """Registers and scores: figures (None where the program failed), corner folds, seconds."""
        folder = self.register(pair, program, options)
        record = json.loads((folder / "run.json").read_text())
        report = folder / "r_report.json"
        record["device"] = json.loads(report.read_text()).get("device", {}).get("name") if report.is_file() else None
        if "failed" in record:
            return {"figures": {f.name: None for f in pair.figures}, "corner_folds": None, **record}

        def plain(other):
            run = self.register(other, program, options)
            if "failed" in json.loads((run / "run.json").read_text()):
                raise Failed(f"{other.name}, the run to compare with, failed")
            return run

        try:
            figures = {figure.name: self.figure(figure, folder, plain) for figure in pair.figures}
        except Failed as failure:
            return {"figures": {f.name: None for f in pair.figures}, "corner_folds": None, **record, "failed": str(failure)}
        return {"figures": figures, "corner_folds": self.folds(folder), **record}
