"""Pairs from folders that others hand out: DIR-Lab (4DCT, COPDgene), Learn2Reg, and subjects in folders of one's own.

Nothing is copied: a raw volume gets a small header file that points at it, landmarks become a CSV in mm.
"""
import json
import re
from pathlib import Path

from cases import Case, Figure

# What DIR-Lab's pages state, as the files do not: voxels and mm of each case. Slices are 2.5 mm apart in all of them.
DIRLAB = {
    "case1": ((256, 256, 94), 0.97), "case2": ((256, 256, 112), 1.16), "case3": ((256, 256, 104), 1.15),
    "case4": ((256, 256, 99), 1.13), "case5": ((256, 256, 106), 1.1), "case6": ((512, 512, 128), 0.97),
    "case7": ((512, 512, 136), 0.97), "case8": ((512, 512, 128), 0.97), "case9": ((512, 512, 128), 0.97),
    "case10": ((512, 512, 120), 0.97), "copd1": ((512, 512, 121), 0.625), "copd2": ((512, 512, 102), 0.645),
    "copd3": ((512, 512, 126), 0.652), "copd4": ((512, 512, 126), 0.59), "copd5": ((512, 512, 131), 0.647),
    "copd6": ((512, 512, 119), 0.633), "copd7": ((512, 512, 112), 0.625), "copd8": ((512, 512, 115), 0.586),
    "copd9": ((512, 512, 116), 0.664), "copd10": ((512, 512, 135), 0.742),
}
SLICE = 2.5


def raw_header(raw, size, spacing, folder):
    """A MetaImage header for 16-bit voxels, least significant byte first; the sizes must agree with the file's."""
    wanted = 2 * size[0] * size[1] * size[2]
    if raw.stat().st_size != wanted:
        raise ValueError(f"{raw} has {raw.stat().st_size} bytes; {size[0]}x{size[1]}x{size[2]} voxels of 16 bits are {wanted}")
    folder.mkdir(parents=True, exist_ok=True)
    header = folder / f"{raw.stem}.mhd"
    header.write_text("ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\n"
                      f"DimSize = {size[0]} {size[1]} {size[2]}\nElementSpacing = {spacing[0]:g} {spacing[1]:g} {spacing[2]:g}\n"
                      f"Offset = 0 0 0\nElementType = MET_SHORT\nElementDataFile = {raw.resolve()}\n")
    return header


def dirlab_points(table, size, spacing, out):
    """A landmark file (x y z a line, voxels that count from 1) as a CSV of mm in the frame of raw_header."""
    points = []
    for number, line in enumerate(table.read_text().splitlines(), 1):
        words = line.replace(",", " ").split()
        if not words:
            continue
        try:
            point = [float(word) for word in words]
        except ValueError:
            raise ValueError(f"{table}, line {number}: {line.strip()} is no point") from None
        if len(point) != 3 or not all(1 <= p <= n for p, n in zip(point, size)):
            raise ValueError(f"{table}, line {number}: {line.strip()} is no voxel of {size[0]}x{size[1]}x{size[2]}")
        points.append([(p - 1) * s for p, s in zip(point, spacing)])
    if not points:
        raise ValueError(f"{table} has no points")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("x,y,z\n" + "".join(f"{x:.4f},{y:.4f},{z:.4f}\n" for x, y, z in points))
    return len(points)


def _only(files, pattern):
    """The first of the files whose name fits, whatever the case of its letters: the packs differ in it, and in their folders."""
    return next((path for path in files if re.fullmatch(pattern, path.name, re.IGNORECASE)), None)


def dirlab(folder, scratch):
    """Every case below the folder with its 300 landmarks: fixed is inspiration (T00, iBH), moving expiration (T50, eBH)."""
    found = []
    files = sorted(p for p in folder.rglob("*") if p.suffix in (".img", ".txt"))
    for name, (size, mm) in DIRLAB.items():
        if name.startswith("case"):
            images = [_only(files, rf"{name}_T{t}(-ssm|_s)?\.img") for t in ("00", "50")]
            tables = [_only(files, rf"{name}_(dirLab)?300_T{t}_xyz.*\.txt") for t in ("00", "50")]
        else:
            images = [_only(files, rf"{name}_{state}HCT\.img") for state in ("iB", "eB")]
            tables = [_only(files, rf"{name}_300_{state}_xyz.*\.txt") for state in ("iBH", "eBH")]
        if None in images or None in tables:
            continue
        spacing, place = (mm, mm, SLICE), scratch / name
        headers = [raw_header(image, size, spacing, place) for image in images]
        points = [place / "fixed_points.csv", place / "moving_points.csv"]
        counts = [dirlab_points(table, size, spacing, point) for table, point in zip(tables, points)]
        if counts[0] != counts[1]:
            raise ValueError(f"{tables[0]} has {counts[0]} points, {tables[1]} has {counts[1]}")
        found.append(Case(name, *headers, (Figure("TRE, mm", "mm", *points),), note=f"DIR-Lab, {counts[0]} landmarks."))
    return found


def _beside(root, image, kinds):
    """The file of the same name in the folder that a kind has its files in: imagesTr/A.nii.gz -> labelsTr/A.nii.gz."""
    for kind, ending in kinds:
        path = Path(str(image).replace("images", kind, 1))
        path = root / path.parent / (path.name.removesuffix(".nii.gz") + ending)
        if path.is_file():
            return path
    return None


def learn2reg(description, part="registration_val"):
    """The pairs of a Learn2Reg JSON, with the labels, landmarks and masks that lie beside the images."""
    root = description.parent
    try:
        content = json.loads(description.read_text())
    except json.JSONDecodeError as e:
        raise ValueError(f"{description} is no JSON: {e}") from None
    if part not in content:
        raise ValueError(f"{description} has no {part}")
    found = []
    for pair in content[part]:
        images = [root / pair[side] for side in ("fixed", "moving")]
        figures = []
        labels = [_beside(root, pair[s], (("labels", ".nii.gz"),)) for s in ("fixed", "moving")]
        if all(labels):
            figures.append(Figure("Dice of the labels", "dice", *labels))
        points = [_beside(root, pair[s], (("landmarks", ".csv"), ("keypoints", ".csv"))) for s in ("fixed", "moving")]
        if all(points):
            # Learn2Reg counts voxels from 0.
            figures.append(Figure("TRE, mm", "mm", *points, frame="voxel"))
        masks = [_beside(root, pair[s], (("masks", ".nii.gz"),)) for s in ("fixed", "moving")]
        if figures:
            names = [image.name.removesuffix(".nii.gz") for image in images]
            found.append(Case("_to_".join(reversed(names)), *images, tuple(figures), tuple(masks),
                              note=f"Learn2Reg, {content.get('name', description.stem)}."))
    return found


def _image(folder, name):
    return next((p for e in (".nii.gz", ".nii", ".mha", ".mhd", ".nrrd") if (p := folder / f"{name}{e}").is_file()), None)


def subjects(folder):
    """Folders of one's own: NAME/fixed.nii.gz and moving.nii.gz with *_labels, *_points.csv (mm, LPS) and *_mask where there are such."""
    found = []
    for place in sorted(p for p in folder.iterdir() if p.is_dir()):
        pair = [_image(place, side) for side in ("fixed", "moving")]
        labels = [_image(place, f"{side}_labels") for side in ("fixed", "moving")]
        points = [place / f"{side}_points.csv" for side in ("fixed", "moving")]
        masks = [_image(place, f"{side}_mask") for side in ("fixed", "moving")]
        figures = [Figure("Dice of the labels", "dice", *labels)] if all(labels) else []
        if all(p.is_file() for p in points):
            figures.append(Figure("TRE, mm", "mm", *points))
        if all(pair) and figures:
            found.append(Case(place.name, *pair, tuple(figures), tuple(masks)))
    return found


def everything(folder, scratch, experiment):
    """What a folder holds for an experiment besides what known.py knows: DIR-Lab is lungs; the others say nothing, so they are taken."""
    found = dirlab(folder, scratch) if experiment == "lung" else []
    for description in sorted(folder.glob("*.json")):
        if '"registration_val"' in description.read_text(errors="replace"):
            found += learn2reg(description)
    return found + subjects(folder)
