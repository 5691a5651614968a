"""The scenes of foreign_test.py: six geometries, each with a true affine and a true field in ITK's formats."""
import subprocess
from pathlib import Path

import nibabel as nib
import numpy as np

RAS = np.diag([-1.0, -1, 1, 1])


def rotation(axis, degrees):
    axis = np.array(axis, float) / np.linalg.norm(axis)
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    a = np.deg2rad(degrees)
    return np.eye(3) + np.sin(a) * k + (1 - np.cos(a)) * k @ k


def grid(directions, spacing, origin):
    affine = np.eye(4)
    affine[:3, :3] = np.asarray(directions, float) @ np.diag(spacing)
    affine[:3, 3] = origin
    return affine


# Voxel index to RAS.
GEOMETRIES = {
    "identity": (grid(np.diag([-1, -1, 1]), (1, 1, 1), (0, 0, 0)), (31, 27, 25)),
    "LAS": (grid(np.diag([-1, 1, 1]), (1.5, 1.5, 2), (30, -20, -12)), (29, 31, 23)),
    "oblique": (grid(rotation((1, 2, 3), 20), (1.25, 1, 1.5), (-18, -16, -14)), (27, 31, 24)),
    "anisotropic": (grid(np.eye(3), (1, 1, 5), (-15, -14, -40)), (33, 29, 17)),
    "cropped": (grid(np.diag([-1, -1, 1]), (1, 1, 1), (-40, 35, 62)), (24, 26, 22)),
    "permuted": (grid([[0, 0, -1], [1, 0, 0], [0, -1, 0]], (1, 1.2, 1.4), (17, -12, 19)), (25, 28, 26)),
}
MOVING = (grid(rotation((3, -1, 2), 12) @ np.diag([1, 1, -1]), (0.9, 1.1, 1.3), (-22, -19, 24)), (41, 37, 35))
MOVING_RIGHT_HANDED = (grid(np.eye(3), (1.1, 0.9, 1.0), (-20, -25, -22)), (39, 43, 41))


def apply(matrix, points):
    return points @ np.asarray(matrix)[:3, :3].T + np.asarray(matrix)[:3, 3]


def flip(points):
    """LPS to RAS and back."""
    return points * [-1, -1, 1]


class Case:
    """One geometry: images, a true affine (LPS) and field (LPS mm), files of both in ITK's formats, points."""

    def __init__(self, program, name, folder, right_handed_moving=False):
        self.program, self.name, self.folder = program, name, Path(folder)
        self.affine_ras, self.shape = GEOMETRIES[name]
        moving_ras, moving_shape = MOVING_RIGHT_HANDED if right_handed_moving else MOVING
        random = np.random.default_rng(5)
        self.fixed = self.save("fixed.nii", random.normal(size=self.shape), self.affine_ras)
        self.moving = self.save("moving.nii", random.normal(size=moving_shape), moving_ras)
        self.to_lps = RAS @ self.affine_ras
        self.affine = np.eye(4)
        self.affine[:3, :3] = rotation((2, 1, -1), 9) @ np.diag([1.05, 0.97, 1.02])
        self.affine[:3, 3] = 3.5, -2.25, 1.75
        index = np.stack(np.meshgrid(*map(np.arange, self.shape), indexing="ij"), -1).astype(float)
        waves = [np.sin(index @ (0.25 * random.normal(size=3)) + phase) for phase in (0.1, 1.2, 2.3)]
        self.field = (3 * np.stack(waves, -1)).astype(np.float32)  # LPS mm
        text = ("#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\nParameters: "
                + " ".join(f"{v:.17g}" for v in [*self.affine[:3, :3].ravel(), *self.affine[:3, 3]]) + "\nFixedParameters: 0 0 0\n")
        self.tfm = self.folder / "truth.tfm"
        self.tfm.write_text(text)
        self.warp = self.save_vectors("truth.nii.gz", self.field[:, :, :, None, :], 1007)
        self.index = random.uniform(0, np.array(self.shape) - 1, size=(1000, 3))
        self.points = apply(self.to_lps, self.index)
        self.centre_index = np.stack([random.integers(0, n, 1000) for n in self.shape], -1)
        self.centres = apply(self.to_lps, self.centre_index)
        self.smallest_voxel = min(np.linalg.norm(self.affine_ras[:3, :3], axis=0))

    def save(self, name, data, affine):
        image = nib.Nifti1Image(np.asarray(data, np.float32), affine)
        image.set_qform(affine, 1)
        image.set_sform(affine, 1)
        nib.save(image, self.folder / name)
        return self.folder / name

    def save_vectors(self, name, data, intent, intent_name=""):
        image = nib.Nifti1Image(np.asarray(data, np.float32), self.affine_ras)
        image.set_qform(self.affine_ras, 1)
        image.set_sform(self.affine_ras, 1)
        image.header["intent_code"] = intent
        image.header["intent_name"] = intent_name
        nib.save(image, self.folder / name)
        return self.folder / name

    def run(self, *words):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(done.stderr)
        return done.stdout

    def ours(self, path, format, points, vectors="measured"):
        """Our mapping of LPS points."""
        np.savetxt(self.folder / "points.csv", points, delimiter=",", fmt="%.17g")
        out = self.run("map", path, format, self.fixed, self.moving, vectors, self.folder / "points.csv")
        return np.array([line.split(",") for line in out.split()], float)

    def convert(self, source, name, format, vectors="measured"):
        target = self.folder / name
        self.run("convert", source, "itk", self.fixed, self.moving, vectors, target, format)
        return target

    def at_centres(self, volume):
        i, j, k = self.centre_index.T
        return volume[i, j, k]

    def true_field(self):
        return self.centres + self.at_centres(self.field)

    def true_affine(self, points):
        return apply(self.affine, points)
