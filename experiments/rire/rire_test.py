#!/usr/bin/env python3
"""Makes a small distribution of RIRE's form, with a known transform, and lets rire.py register it. rire_test.py LINREG"""
import array
import math
import pathlib
import subprocess
import sys
import tempfile

import rire


def head(x, y, z):
    """A lopsided ellipsoid with structure; mm from its middle."""
    r = math.sqrt((x / 55) ** 2 + (y / 70) ** 2 + (z / 60) ** 2)
    edge = 1 / (1 + math.exp(min(50.0, 20 * (r - 1))))
    nose = math.exp(-((x - 5) ** 2 + (y - 70) ** 2 + (z + 10) ** 2) / 400)
    return edge * (2 + math.sin(x / 11 + 0.3) * math.cos(y / 13) + 0.7 * math.sin(z / 12 + y / 23)) + 2 * nose


def write_volume(folder, size, spacing, value):
    folder.mkdir(parents=True)
    (folder / "header.ascii").write_text(
        f"Modality := TEST\nRows := {size[1]} // lines\nColumns := {size[0]}\nSlices := {size[2]}\n"
        f"Pixel size := {spacing[0]} : {spacing[1]}\nSlice thickness := {spacing[2]}\nBits allocated := 16\n")
    voxels = array.array("h", (round(value([i * spacing[0], j * spacing[1], k * spacing[2]]))
                               for k in range(size[2]) for j in range(size[1]) for i in range(size[0])))
    if sys.byteorder == "little":
        voxels.byteswap()
    (folder / "image.bin").write_bytes(voxels.tobytes())


def main():
    angle = math.radians(8)
    turn = [[math.cos(angle), -math.sin(angle), 0.0], [math.sin(angle), math.cos(angle), 0.0], [0.0, 0.0, 1.0]]
    middle_ct, middle_mr = [75.0, 90.0, 68.0], [80.0, 86.0, 72.0]
    # CT point p -> MR point turn (p - middle_ct) + middle_mr
    truth = [turn[r] + [middle_mr[r] - sum(turn[r][c] * middle_ct[c] for c in range(3))] for r in range(3)]
    with tempfile.TemporaryDirectory() as scratch:
        data, out = pathlib.Path(scratch) / "rire", pathlib.Path(scratch) / "out"
        patient = data / "patient_001"
        ct_size, ct_spacing = [50, 60, 34], [3.0, 3.0, 4.0]

        def ct(p):
            q = rire.apply(truth, p)
            return 1000 * math.exp(-0.4 * head(*(q[i] - middle_mr[i] for i in range(3)))) - 200

        write_volume(patient / "ct", ct_size, ct_spacing, ct)
        for name in ("mr_T1", "mr_PD"):
            write_volume(patient / name, [54, 58, 36], [3.0, 3.0, 4.0], lambda p: 300 * head(*(p[i] - middle_mr[i] for i in range(3))))
        frame = rire.Frame({"size": ct_size, "spacing_mm": ct_spacing, "origin_mm_lps": [0, 0, 0],
                            "direction_lps": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]})
        rire.write_table(patient / "ct_T1.standard", "001", "CT", "T1", [(p, rire.apply(truth, p)) for p in frame.corners()])
        (patient / "ct_voi.txt").write_text("75 90 68\n60 90 68\n90 90 68\n75 60 68\n75 120 68\n75 90 50\n75 90 90\n65 80 60\n85 100 60\n70 95 80\n")
        run = subprocess.run([sys.executable, rire.__file__, "--data", str(data), "--out", str(out), "--linreg", sys.argv[1]],
                             capture_output=True, text=True)
        print(run.stdout, run.stderr)
        assert run.returncode == 0
        table = rire.read_table(out / "patient_001" / "ct_PD.transform")
        assert len(table) == 8 and table[0][0] == [0, 0, 0] and table[7][0] == [147, 177, 132]
        for p, q in table:
            assert rire.distance(q, rire.apply(truth, p)) < 2, (p, q)
        line = next(l for l in run.stdout.splitlines() if l.startswith("CT-T1"))
        assert line.split()[1] == "10" and float(line.split()[2]) < 0.7 and "1.48" in line, line
        assert "CT-PD " not in run.stdout  # no standard
        # A damaged volume is named and the rest goes on.
        (patient / "mr_T1" / "image.bin").write_bytes(b"")
        run = subprocess.run([sys.executable, rire.__file__, "--data", str(data), "--out", str(out), "--linreg", sys.argv[1]],
                             capture_output=True, text=True)
        assert run.returncode == 1 and "1 pairs registered, 1 failed" in run.stdout and "mr_T1" in run.stdout, run.stdout
    print("ok")


if __name__ == "__main__":
    main()
