"""What Python adds to a registration: from arrays to the warped array, against the stages that the report times and, where it is given,
against the program's in the same run.

    python registration.py FIXED MOVING [DEVICE] [FLUIDREG]      cpu: numpy arrays; cuda: torch tensors; prints one line of JSON
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nibabel
import numpy as np

import freeflow

files = sys.argv[1:3]
device = sys.argv[3] if len(sys.argv) > 3 else "cpu"
program = sys.argv[4] if len(sys.argv) > 4 else None
STAGES = ("linear", "start", "nonrigid")
RUNS = 3 if device == "cpu" else 6


def image(file):
    stored = nibabel.load(file)
    array = np.asarray(stored.dataobj).astype(np.float32)
    if device != "cpu":
        import torch

        array = torch.as_tensor(array, device=device)
    return freeflow.Image(array, stored.affine)


def registration_seconds(report):
    return sum(report["seconds"].get(stage, 0) for stage in STAGES)


def from_arrays(fixed, moving, context):
    begin = time.perf_counter()
    result = freeflow.register(fixed, moving, context=context)
    warped = result.warped.array
    if device != "cpu":
        warped.sum().item()  # waits
    whole = time.perf_counter() - begin
    return whole, registration_seconds(result.report)


def by_the_program(folder):
    subprocess.run([program, "-f", files[0], "-m", files[1], "-o", f"{folder}/p_", "-q", "--device", device, "--outputs", "warp,report"],
                   check=True)
    return registration_seconds(json.loads(Path(folder, "p_report.json").read_text()))


fixed, moving = map(image, files)
context = freeflow.Context(device)
if device != "cpu":
    from_arrays(fixed, moving, context)  # warm
own, programs = [], []
with tempfile.TemporaryDirectory() as folder:
    for _ in range(RUNS):
        own.append(from_arrays(fixed, moving, context))
        if program:
            programs.append(by_the_program(folder))
row = {
    "what": f"{Path(files[0]).name} <- {Path(files[1]).name}: from arrays to the warped array",
    "device": context.device,
    "version": freeflow.__version__,
    "whole_seconds": [round(whole, 4) for whole, _ in own],
    "of_which_registration": [round(stages, 4) for _, stages in own],
    "least_added": round(min(whole - stages for whole, stages in own), 4),
}
if program:
    row["programs_registration"] = [round(seconds, 4) for seconds in programs]
print(json.dumps(row))
