#!/usr/bin/env python3
"""Registers the CT-MR and PET-MR pairs of the RIRE (Vanderbilt) distribution with linreg and scores what can be scored.

  rire.py --data RIRE --out RESULTS [--linreg PATH] [-- options of linreg]

RIRE/patient_NNN/{ct,pet,mr_T1,mr_T2,mr_PD,mr_MP-RAGE,mr_*_rectified}/ hold header.ascii and image.bin (16-bit, most significant byte
first), or one MetaImage (*.mha, *.mhd). For every patient each CT and PET ("From") is registered to each MR ("To"), rigidly.
Written: RESULTS/patient_NNN/FROM_TO.transform, the site's table: the eight corner voxels' centres of the From volume and where they go,
in mm from the centre of the first voxel of either volume, x along rows, y along columns, z along slices; and RESULTS/summary.txt.
Where a standard is given in the same form (patient_NNN/**/FROM_TO.standard, such as ct_T1.standard), the target registration error is
measured at the centres of the volumes of interest (patient_NNN/FROM_voi.txt or voi.txt: "x y z" per line, mm in the From frame;
without such a file at ten points spread over the middle of the From volume, and the summary says so).
Needs Python only. Exit status 0, or 1 when a pair failed or there was none.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys

# Shams 2010, table 1: median errors in mm of MIRIT, their method, and their method with Powell's standard search.
SHAMS = {"CT-T1": (4.73, 1.48, 1.35), "CT-T2": (5.30, 1.44, 1.50), "CT-PD": (3.50, 1.48, 1.42),
         "PET-T1": (6.33, 3.99, 4.08), "PET-T2": (7.33, 3.38, 3.20), "PET-PD": (3.19, 3.78, 3.77)}


def read_header(path):
    """Size and spacing from a header.ascii: lines "Key := value", pairs separated by ":"."""
    fields = {}
    for line in path.read_text(errors="replace").splitlines():
        if ":=" in line:
            key, value = line.split(":=", 1)
            fields[key.strip().lower()] = value.split("//")[0].strip()
    pixel = [float(v) for v in re.split(r"[:\s]+", fields["pixel size"]) if v]
    slices = fields.get("slice spacing") or fields["slice thickness"]
    return ([int(fields["columns"]), int(fields["rows"]), int(fields["slices"])],
            [pixel[0], pixel[-1], float(slices.split()[0])], int(fields.get("bits allocated", "16")))


def image_of(folder, scratch):
    """A file that linreg reads: the folder's MetaImage, or one that points at its image.bin."""
    ready = sorted(folder.glob("*.mha")) + sorted(folder.glob("*.mhd"))
    if ready:
        return ready[0]
    size, spacing, bits = read_header(folder / "header.ascii")
    if bits != 16:
        raise ValueError(f"{folder}/header.ascii: {bits} bits per voxel instead of 16")
    made = scratch / f"{folder.name}.mhd"
    made.write_text("ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = True\n"
                    f"DimSize = {size[0]} {size[1]} {size[2]}\nElementSpacing = {spacing[0]} {spacing[1]} {spacing[2]}\n"
                    f"ElementType = MET_SHORT\nElementDataFile = {(folder / 'image.bin').resolve()}\n")
    return made


def apply(matrix, p):
    return [sum(matrix[r][c] * p[c] for c in range(3)) + matrix[r][3] for r in range(3)]


def solve(a, b):
    """x with a x = b, 3x3, by Cramer's rule."""
    def det(m):
        return (m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
                + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]))
    whole = det(a)
    return [det([[b[r] if c == k else a[r][c] for c in range(3)] for r in range(3)]) / whole for k in range(3)]


class Frame:
    """The site's coordinates of a volume, from the geometry in linreg's report."""

    def __init__(self, geometry):
        self.size, self.spacing = geometry["size"], geometry["spacing_mm"]
        self.origin, self.direction = geometry["origin_mm_lps"], geometry["direction_lps"]

    def to_world(self, p):
        return [self.origin[r] + sum(self.direction[r][c] * p[c] for c in range(3)) for r in range(3)]

    def from_world(self, q):
        return solve(self.direction, [q[r] - self.origin[r] for r in range(3)])

    def corners(self):
        far = [(n - 1) * s for n, s in zip(self.size, self.spacing)]
        return [[far[0] * (i & 1), far[1] * (i >> 1 & 1), far[2] * (i >> 2 & 1)] for i in range(8)]

    def middle_points(self):
        """Ten points spread over the middle of the volume."""
        shares = [(.5, .5, .5), (.35, .5, .5), (.65, .5, .5), (.5, .3, .5), (.5, .7, .5), (.5, .5, .3), (.5, .5, .7),
                  (.4, .4, .4), (.6, .6, .4), (.4, .6, .6)]
        return [[f * (n - 1) * s for f, n, s in zip(share, self.size, self.spacing)] for share in shares]


def write_table(path, patient, source, target, rows):
    lines = ["-" * 73, "Transformation Parameters", "", "Investigator(s):", "", "Site: FreeFlow", "", "Method: linreg", "Date:",
             f"Patient number: {patient}", f"From: {source}", f"To: {target}", "",
             "Point      x          y          z        new_x       new_y       new_z", ""]
    for i, (p, q) in enumerate(rows, 1):
        lines.append(f"{i:3d} " + " ".join(f"{v:10.4f}" for v in p) + "  " + " ".join(f"{v:11.4f}" for v in q))
    path.write_text("\n".join(lines + ["", "(All distances are in millimeters.)", "-" * 73, ""]))


def read_table(path):
    rows = []
    for line in path.read_text(errors="replace").splitlines():
        words = line.split()
        if len(words) == 7 and words[0].isdigit():
            values = [float(w) for w in words[1:]]
            rows.append((values[:3], values[3:]))
    if len(rows) < 4:
        raise ValueError(f"{path}: fewer than four points")
    return rows


def affine_of_table(rows):
    """The 3x4 matrix that fits the rows best (least squares; the corners determine it)."""
    columns = [[*p, 1.0] for p, _ in rows]
    normal = [[sum(c[i] * c[j] for c in columns) for j in range(4)] for i in range(4)]
    result = []
    for r in range(3):
        system = [normal[i] + [sum(c[i] * q[r] for c, (_, q) in zip(columns, rows))] for i in range(4)]
        for k in range(4):  # Gauss-Jordan with pivoting
            pivot = max(range(k, 4), key=lambda i: abs(system[i][k]))
            system[k], system[pivot] = system[pivot], system[k]
            system[k] = [v / system[k][k] for v in system[k]]
            for i in range(4):
                if i != k:
                    system[i] = [v - system[i][k] * w for v, w in zip(system[i], system[k])]
        result.append([row[4] for row in system])
    return result


def distance(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b)) ** 0.5


def first(folder, *patterns):
    return next((f for p in patterns for f in sorted(folder.glob(p))), None)


def pairs_of(patient):
    sources = [f for f in (patient / "ct", patient / "pet") if f.is_dir()]
    targets = sorted(f for f in patient.glob("mr_*") if f.is_dir())
    return [(s, t) for s in sources for t in targets]


def register(patient, source, target, out, options):
    """Registers one pair; returns the errors at the targets, or None without a standard, and whether the points are the site's."""
    number, to = patient.name.split("_")[-1], target.name.removeprefix("mr_")
    out.mkdir(parents=True, exist_ok=True)
    prefix = out / f"{source.name}_{to}_"
    command = [options.linreg, "-f", str(image_of(source, out)), "-m", str(image_of(target, out)), "-o", str(prefix), "--dof", "6",
               "--init", "center", *options.rest]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if run.returncode:
        raise RuntimeError(run.stderr.strip() or f"linreg ended with {run.returncode}")
    report = json.loads(pathlib.Path(f"{prefix}report.json").read_text(errors="replace"))
    here, there = Frame(report["fixed"]), Frame(report["moving"])
    world = report["linear"]["fixed_to_moving_lps"]
    move = lambda p: there.from_world(apply(world, here.to_world(p)))
    write_table(out / f"{source.name}_{to}.transform", number, source.name.upper(), to, [(p, move(p)) for p in here.corners()])
    standard = first(patient, f"**/{source.name}_{to}.standard")
    if not standard:
        return None, False
    truth = affine_of_table(read_table(standard))
    voi = first(patient, f"{source.name}_voi.txt", "voi.txt")
    points = [[float(w) for w in line.split()[:3]] for line in voi.read_text().splitlines() if line.strip()] if voi else here.middle_points()
    return [distance(move(p), apply(truth, p)) for p in points], voi is not None


def summary(errors, official, failures, registered):
    lines = [f"{registered} pairs registered, {len(failures)} failed"]
    lines += [f"failed: {name}: {reason}" for name, reason in failures]
    if errors:
        lines += ["", "Target registration error, mm, over all points of all patients; Shams 2010, table 1, beside it (medians)",
                  "pair                points  median    mean     max    MIRIT   Shams  std. Powell"]
        for pair in sorted(errors):
            e = errors[pair]
            shams = "".join(f"{v:8.2f}" for v in SHAMS.get(pair, ()))
            lines.append(f"{pair:18s} {len(e):7d} {statistics.median(e):7.2f} {statistics.mean(e):7.2f} {max(e):7.2f}  {shams}")
        if not official:
            lines.append("Some points are not the site's volumes of interest, but ten points in the middle of the From volume.")
    return "\n".join(lines) + "\n"


def main():
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--linreg", default="linreg")
    options = parser.parse_args(arguments[:cut])
    options.rest = arguments[cut + 1:]
    errors, official, failures, registered = {}, True, [], 0
    for patient in sorted(p for p in options.data.glob("patient_*") if p.is_dir()):
        for source, target in pairs_of(patient):
            name = f"{patient.name} {source.name} {target.name}"
            try:
                found, from_site = register(patient, source, target, options.out / patient.name, options)
                registered += 1
                if found is not None:
                    errors.setdefault(f"{source.name.upper()}-{target.name.removeprefix('mr_')}", []).extend(found)
                    official = official and from_site
            except (OSError, ValueError, KeyError, RuntimeError) as e:
                failures.append((name, str(e)))
    options.out.mkdir(parents=True, exist_ok=True)
    text = summary(errors, official, failures, registered)
    (options.out / "summary.txt").write_text(text)
    print(text, end="")
    return 0 if registered and not failures else 1


if __name__ == "__main__":
    sys.exit(main())
