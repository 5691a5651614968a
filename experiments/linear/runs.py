"""What the scripts beside this one share: starts, points to measure at, and linreg run many times at once. All in LPS mm."""
import concurrent.futures
import json
import pathlib
import subprocess
import tempfile
import time

import nibabel
import numpy


def rotation(axis, degrees):
    axis = numpy.asarray(axis, float) / numpy.linalg.norm(axis)
    angle = numpy.radians(degrees)
    k = numpy.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return numpy.eye(3) + numpy.sin(angle) * k + (1 - numpy.cos(angle)) * k @ k


def about(center, matrix, shift=0):
    """x -> matrix (x - center) + center + shift, as 3x4."""
    return numpy.column_stack([matrix, center + shift - matrix @ center])


def random_start(center, random, affine, degrees=20, mm=30):
    matrix = rotation(random.normal(size=3), random.uniform(0, degrees))
    if affine:
        matrix = matrix @ numpy.diag(random.uniform(0.9, 1.1, 3))
    shift = random.normal(size=3)
    return about(center, matrix, shift * random.uniform(0, mm) / numpy.linalg.norm(shift))


def apply(transform, points):
    return points @ transform[:, :3].T + transform[:, 3]


def bright_points(path, share=0.2, step=200):
    image = nibabel.load(path)
    voxels = image.get_fdata()
    index = numpy.argwhere(voxels > share * numpy.percentile(voxels, 99))[::step]
    return (index @ image.affine[:3, :3].T + image.affine[:3, 3]) * [-1, -1, 1]


def write_affine(path, transform):
    numbers = " ".join(repr(float(v)) for v in [*transform[:, :3].ravel(), *transform[:, 3]])
    path.write_text("#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\n"
                    f"Parameters: {numbers}\nFixedParameters: 0 0 0\n")


def linreg(program, fixed, moving, *options, start=None, keep=None):
    """The transform found (fixed to moving, 3x4) and the report; None and the message where linreg failed. keep: prefix of files to keep."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        prefix = keep or f"{folder}/r_"
        if start is not None:
            write_affine(folder / "start.tfm", start)
            options = (*options, "--init", folder / "start.tfm")
        done = subprocess.run([program, "-f", fixed, "-m", moving, "-o", prefix, "-q", "--device", "cpu", *map(str, options)], capture_output=True, text=True)
        if done.returncode:
            return None, done.stderr.strip()
        report = json.loads(pathlib.Path(f"{prefix}report.json").read_text())
        return numpy.array(report["linear"]["fixed_to_moving_lps"]), report


def evaluations(report):
    return sum(level["evaluations"] for level in report["levels"])


def in_parallel(jobs, work, tasks, minutes=None):
    """work(task) for each task, `jobs` at a time and in order; tasks not begun after so many minutes are left out. Yields (task, result)."""
    end = time.monotonic() + 60 * minutes if minutes else None
    run = lambda task: (task, work(task)) if end is None or time.monotonic() < end else None
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        yield from (done for done in pool.map(run, tasks) if done)
