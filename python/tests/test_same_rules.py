"""What the programs find in images of which nothing was said (padding, planes, fields of view, what was cut out), Python finds in arrays:
the rules stand twice, as an array may lie on a GPU."""

import json
import re
import subprocess
import warnings

import numpy as np
import pytest
from phantom import AFFINE

import freeflow
from freeflow import inputs

FINDINGS = [
    r"is padded with (\S+), which counts as not measured",
    r"ends in a plane within its grid: only its voxels (.+) count as measured",
    r"(has NaN around its object)",
    r"(shows an object without what surrounds it)",
]


def found(sentences):
    """{(fixed or moving, finding)}: a sentence begins with the argument, or with its file."""
    findings = set()
    for sentence in sentences:
        side = re.match(r"'?\S*?(fixed|moving)", sentence)
        for pattern in FINDINGS:
            if match := re.search(pattern, sentence):
                findings.add((side.group(1), match.group(1)))
    return findings


def image(draw):
    """An ellipsoid of many values on a background, with what scanners, converters and people do to one."""
    shape = tuple(int(n) for n in draw.integers(18, 30, 3))
    x = np.stack(np.meshgrid(*(np.linspace(-1, 1, n) for n in shape), indexing="ij"))
    inside = (x**2 / draw.uniform(0.4, 0.9, (3, 1, 1, 1))).sum(0) < 1
    background = draw.choice([0, 0, 0, -1000, 7])
    values = background + 100 + 60 * np.sin(x * draw.uniform(2, 5, (3, 1, 1, 1))).sum(0) + draw.normal(0, 3, shape)
    array = np.where(inside | (draw.random() < 0.2), values, background).astype(np.float32)
    if draw.random() < 0.3:
        array = np.round(array)
    axis = int(draw.integers(3))
    n = shape[axis]
    for change in draw.choice(["plane", "box", "circle", "pad", "nan", "edge", "none"], 2, replace=False):
        low, high = (int(c) for c in (draw.integers(0, n // 2), draw.integers(n // 2 + 2, n + 1)))
        beyond = [slice(None)] * 3
        if change == "plane":
            beyond[axis] = slice(high, None) if draw.random() < 0.5 else slice(None, low)
            array[tuple(beyond)] = background
        elif change == "box":
            within = np.zeros(shape, bool)
            within[tuple(slice(int(draw.integers(0, m // 4)), m - int(draw.integers(0, m // 4))) for m in shape)] = True
            array = np.where(within, values, background).astype(np.float32)
        elif change == "circle":
            array[(x[:2] ** 2).sum(0) > 1] = draw.choice([-2000, -3024, -1024, -400, np.nan])
        elif change == "pad":
            beyond[axis] = slice(None, int(draw.integers(1, 5)))
            array[tuple(beyond)] = draw.choice([-2000, -1, -50, -1024, 0])
        elif change == "nan":
            array[~inside] = np.nan
        elif change == "edge":
            array[tuple(int(draw.integers(m)) for m in shape)] = draw.choice([-32768, 1e6])
    return array


@pytest.mark.parametrize("seed", range(24))
def test_the_programs_find_the_same(program, tmp_path, seed):
    draw = np.random.default_rng(seed)
    paths = {name: str(tmp_path / f"{name}.nii") for name in ("fixed", "moving")}
    for path in paths.values():
        freeflow.Image(image(draw), AFFINE).write(path)
    prefix = str(tmp_path / "out_")
    flags = ["--init", "identity", "--levels", "1", "--iterations", "1", "--search", "gradient", "--device", "cpu", "--threads", "1", "-q"]
    subprocess.run([program("linreg"), "-f", paths["fixed"], "-m", paths["moving"], "-o", prefix, *flags], check=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both = inputs.Inputs(*(inputs.Side(path, None, name) for name, path in paths.items()))
        both.leave_stripped_out(freeflow.Context("cpu", threads=1))
    assert found(both.warnings) == found(json.load(open(prefix + "report.json"))["warnings"])
