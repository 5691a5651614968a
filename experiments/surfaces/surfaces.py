#!/usr/bin/env python3
"""nlmdenoise beside VTK's windowed sinc, Taubin, SurfaceNets and Gaussian smoothing (docs/surfaces.md).

    pip install vtk numpy scipy nibabel
    surfaces.py wm     NLMDENOISE DATA [--extra "--search-radius 8"]   OASIS white matter against its clean surface
    surfaces.py noise  NLMDENOISE DATA   meshes and two blocks with noise of 0.2 and 0.5 voxel against themselves

Everything is measured in voxels. A method is shown at its best setting: the smallest normal error among those that change the volume by at
most 0.5 % and have a Hausdorff distance of at most a voxel, both from the input (wm) or the clean surface (noise); where none does, the smallest of all, marked with *.
"""
import argparse
import json
import shlex
import subprocess
import tempfile
from pathlib import Path

import nibabel
import numpy as np
import vtk
from scipy import ndimage, sparse
from vtk.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray, vtk_to_numpy


# --- meshes ---------------------------------------------------------------------------------------------------------------------
def output_of(algorithm):
    algorithm.Update()
    return algorithm.GetOutput()


def to_image(values):
    image = vtk.vtkImageData()
    image.SetDimensions(values.shape)
    image.GetPointData().SetScalars(numpy_to_vtk(np.asfortranarray(values).ravel(order="F"), deep=True))
    return image


def contour(values, iso):
    algorithm = vtk.vtkFlyingEdges3D()
    algorithm.SetInputData(to_image(values.astype(np.float32)))
    algorithm.SetValue(0, iso)
    algorithm.ComputeNormalsOff()
    return output_of(algorithm)


def points_of(mesh):
    return vtk_to_numpy(mesh.GetPoints().GetData()).astype(float)


def triangles_of(mesh):
    return vtk_to_numpy(mesh.GetPolys().GetConnectivityArray()).reshape(-1, 3)


def make_mesh(points, triangles):
    mesh = vtk.vtkPolyData()
    holder = vtk.vtkPoints()
    holder.SetData(numpy_to_vtk(np.ascontiguousarray(points), deep=True))
    mesh.SetPoints(holder)
    cells = vtk.vtkCellArray()
    offsets = np.arange(0, 3 * len(triangles) + 1, 3, dtype=np.int64)
    cells.SetData(numpy_to_vtkIdTypeArray(offsets, deep=True), numpy_to_vtkIdTypeArray(triangles.astype(np.int64).ravel(), deep=True))
    mesh.SetPolys(cells)
    return mesh


def cleaned(mesh):
    triangulate = vtk.vtkTriangleFilter()
    triangulate.SetInputData(mesh)
    clean = vtk.vtkCleanPolyData()
    clean.SetInputConnection(triangulate.GetOutputPort())
    fill = vtk.vtkFillHolesFilter()
    fill.SetInputConnection(clean.GetOutputPort())
    fill.SetHoleSize(1e9)
    normals = vtk.vtkPolyDataNormals()
    normals.SetInputConnection(fill.GetOutputPort())
    normals.ConsistencyOn()
    normals.AutoOrientNormalsOn()
    normals.SplittingOff()
    return output_of(normals)


def read_surface(prefix):
    """The surface that nlmdenoise wrote, in voxels of an identity NIfTI (RAS; the mesh is LPS); of builds without VTK the distance's zero."""
    if not Path(prefix + "surface.ply").exists():
        return contour(np.asarray(nibabel.load(prefix + "sdf.nii.gz").dataobj), 0)
    reader = vtk.vtkPLYReader()
    reader.SetFileName(prefix + "surface.ply")
    mesh = output_of(reader)
    return make_mesh(points_of(mesh) * [-1, -1, 1], triangles_of(mesh))


def normals_of(points, triangles):
    a, b, c = (points[triangles[:, k]] for k in range(3))
    n = np.cross(b - a, c - a)
    area = np.linalg.norm(n, axis=1)
    return n / np.maximum(area, 1e-12)[:, None], area / 2


def volume_of(mesh):
    p, t = points_of(mesh), triangles_of(mesh)
    return abs(np.einsum("ij,ij->i", p[t[:, 0]], np.cross(p[t[:, 1]], p[t[:, 2]])).sum() / 6)


def nearest(points, mesh):
    """Distances of points to a mesh and the triangles there."""
    locator = vtk.vtkStaticCellLocator()
    locator.SetDataSet(mesh)
    locator.BuildLocator()
    at, cell, sub, d2 = [0.0] * 3, vtk.mutable(0), vtk.mutable(0), vtk.mutable(0.0)
    distance, index = np.empty(len(points)), np.empty(len(points), int)
    for i, p in enumerate(points):
        locator.FindClosestPoint(p, at, cell, sub, d2)
        distance[i], index[i] = d2.get() ** 0.5, cell.get()
    return distance, index


def figures(mesh, clean, noisy):
    """Symmetric surface distance and normal angle to the clean surface; change of volume and Hausdorff distance from the noisy one."""
    rng = np.random.default_rng(0)
    p, t = points_of(mesh), triangles_of(mesh)
    n, area = normals_of(p, t)
    centre = p[t].mean(1)
    pick = rng.choice(len(t), min(len(t), 40000), p=area / area.sum())
    d, cell = nearest(centre[pick], clean)
    cn, carea = normals_of(points_of(clean), triangles_of(clean))
    angle = np.degrees(np.arccos(np.clip(np.abs((n[pick] * cn[cell]).sum(1)), 0, 1)))
    cp, ct = points_of(clean), triangles_of(clean)
    back = nearest(cp[ct][rng.choice(len(ct), min(len(ct), 40000), p=carea / carea.sum())].mean(1), mesh)[0]
    both = np.concatenate([d, back])
    np_ = points_of(noisy)
    moved = max(nearest(p[rng.choice(len(p), min(len(p), 40000), False)], noisy)[0].max(),
                nearest(np_[rng.choice(len(np_), min(len(np_), 40000), False)], mesh)[0].max())
    return {"normal": angle.mean(), "mean": both.mean(), "p95": np.percentile(both, 95), "volume": 100 * (volume_of(mesh) / volume_of(noisy) - 1),
            "hausdorff": moved}


# --- methods: each yields (setting, mesh) -----------------------------------------------------------------------------------------
def windowed_sinc(noisy):
    for band in (0.3, 0.1, 0.05, 0.02, 0.01):
        smooth = vtk.vtkWindowedSincPolyDataFilter()
        smooth.SetInputData(noisy)
        smooth.SetNumberOfIterations(30)
        smooth.SetPassBand(band)
        smooth.NormalizeCoordinatesOn()
        smooth.BoundarySmoothingOff()
        yield f"pass band {band}", output_of(smooth)


def taubin(noisy):
    p, t = points_of(noisy), triangles_of(noisy)
    edges = np.vstack([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]])
    edges = np.vstack([edges, edges[:, ::-1]])
    adjacent = sparse.csr_matrix((np.ones(len(edges)), edges.T), (len(p), len(p)))
    adjacent.data[:] = 1
    mean = sparse.diags(1 / np.maximum(np.asarray(adjacent.sum(1)).ravel(), 1)) @ adjacent
    q = p.copy()
    for k in range(1, 101):
        q = q + 0.5 * (mean @ q - q)
        q = q - 0.53 * (mean @ q - q)
        if k in (5, 10, 20, 50, 100):
            yield f"{k} rounds", make_mesh(q, t)


def gaussian(mask):
    for sigma in (0.5, 0.7, 1.0, 1.4, 2.0):
        yield f"sigma {sigma}", contour(ndimage.gaussian_filter(mask.astype(float), sigma), 0.5)


def surface_nets(mask):
    if not hasattr(vtk, "vtkSurfaceNets3D"):
        return
    for rounds in (8, 16, 32, 64):
        nets = vtk.vtkSurfaceNets3D()
        nets.SetInputData(to_image(mask.astype(np.float32)))
        nets.SetValue(0, 1)
        nets.SetNumberOfIterations(rounds)
        nets.SetOutputMeshTypeToTriangles()
        yield f"{rounds} rounds", output_of(nets)


def nlmdenoise(program, values, kind, settings):
    with tempfile.TemporaryDirectory() as folder:
        nibabel.save(nibabel.Nifti1Image(values, np.eye(4)), f"{folder}/in.nii.gz")
        for setting in settings:
            subprocess.run([program, "-q", "-i", f"{folder}/in.nii.gz", "-o", f"{folder}/out_", "--input-kind", kind, *shlex.split(setting)], check=True,
                           stderr=subprocess.DEVNULL)
            report = json.loads(Path(f"{folder}/out_report.json").read_text())
            mesh = read_surface(f"{folder}/out_")
            yield f"{setting or 'defaults'} ({report['seconds']['denoising']:.1f} s)", mesh


# --- tables -----------------------------------------------------------------------------------------------------------------------
def show(name, setting, f, mark=""):
    print(f"| {name} | {setting}{mark} | {f['normal']:.2f} | {f['mean']:.3f} | {f['p95']:.3f} | {f['volume']:+.2f} | {f['hausdorff']:.2f} |", flush=True)


def header(title, reference="input"):
    print(f"\n{title}\n\n| method | setting | normal error, degrees | mean distance | 95 % | volume, % | Hausdorff from the {reference} |\n|---|---|---|---|---|---|---|")


def best(name, runs, clean, noisy):
    results = [(setting, figures(mesh, clean, noisy)) for setting, mesh in runs]
    if not results:
        return
    fair = [r for r in results if abs(r[1]["volume"]) <= 0.5 and r[1]["hausdorff"] <= 1]
    setting, f = min(fair or results, key=lambda r: r[1]["normal"])
    show(name, setting, f, "" if fair else " *")


def white_matter(program, data, extra):
    folder = data / "surf_oasis_wm"
    mask = np.asarray(nibabel.load(folder / "0001_lh_filled.nii.gz").dataobj).astype(np.uint8)
    clean = contour(np.asarray(nibabel.load(folder / "0001_lh_white_sdf.nii.gz").dataobj), 0)
    noisy = contour(mask, 0.5)
    header("OASIS 0001, left white matter")
    show("input", "the mask's staircase", figures(noisy, clean, noisy))
    best("windowed sinc", windowed_sinc(noisy), clean, noisy)
    best("Taubin", taubin(noisy), clean, noisy)
    best("SurfaceNets", surface_nets(mask), clean, noisy)
    best("Gaussian", gaussian(mask), clean, noisy)
    for setting, mesh in nlmdenoise(program, mask, "labels", extra):
        show("nlmdenoise", setting, figures(mesh, clean, noisy))


def distance_to(mesh, shape):
    """Signed distance within 8 voxels, negative inside."""
    grid = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), -1).reshape(-1, 3).astype(float)
    stencil = vtk.vtkPolyDataToImageStencil()
    stencil.SetInputData(mesh)
    stencil.SetOutputWholeExtent(0, shape[0] - 1, 0, shape[1] - 1, 0, shape[2] - 1)
    fill = vtk.vtkImageStencil()
    fill.SetInputData(to_image(np.ones(shape, np.uint8)))
    fill.SetStencilConnection(stencil.GetOutputPort())
    fill.SetBackgroundValue(0)
    inside = vtk_to_numpy(output_of(fill).GetPointData().GetScalars()).reshape(shape, order="F") > 0
    rough = np.where(inside, -ndimage.distance_transform_edt(inside), ndimage.distance_transform_edt(~inside)).astype(np.float32)
    near = np.abs(rough.ravel()) < 9
    exact = rough.ravel()
    exact[near] = np.where(inside.ravel()[near], -1, 1) * nearest(grid[near], mesh)[0]
    return exact.reshape(shape)


def scaled(mesh, voxels):
    p = points_of(mesh)
    side = (p.max(0) - p.min(0)).max() / voxels
    q = (p - p.min(0)) / side + 10
    return make_mesh(q, triangles_of(mesh)), tuple(int(v) for v in np.ceil(q.max(0)) + 11)


def blocks():
    shape = (72, 56, 56)
    x, y, z = np.meshgrid(*map(np.arange, shape), indexing="ij")

    def box(low, high):
        q = np.stack([np.maximum(l - c, c - h) for c, l, h in zip((x, y, z), low, high)])
        return np.linalg.norm(np.maximum(q, 0), axis=0) + np.minimum(q.max(0), 0)

    first, second = box((10.3, 10.3, 10.3), (34.6, 44.6, 44.6)), box((38.3, 16.3, 16.3), (61.6, 39.6, 39.6))
    return np.minimum(first, second).astype(np.float32)


def noise(program, data, extra):
    cases = {"two blocks": blocks()}
    for name, file in (("bunny", "stanford-bunny.obj"), ("rocker arm", "rocker-arm.obj"), ("spot", "spot.obj")):
        reader = vtk.vtkOBJReader()
        reader.SetFileName(str(data / "surf_meshes" / file))
        mesh, shape = scaled(cleaned(output_of(reader)), 64)
        cases[name] = distance_to(mesh, shape)
    for name, exact in cases.items():
        clean = contour(exact, 0)
        for sigma in (0.2, 0.5):
            grain = np.random.default_rng(1).normal(0, sigma, exact.shape).astype(np.float32)
            values = (exact + grain).astype(np.float32)
            # Far from the surface noise must not make specks of its own.
            values = np.where(np.abs(exact) > 3 * sigma + 1, exact, values)
            noisy = contour(values, 0)
            header(f"{name}, noise of {sigma} voxel", "clean surface")
            show("input", "", figures(noisy, clean, clean))
            best("windowed sinc", windowed_sinc(noisy), clean, clean)
            best("Taubin", taubin(noisy), clean, clean)
            best("SurfaceNets", surface_nets((values < 0).astype(np.uint8)), clean, clean)
            best("Gaussian", ((s, contour(ndimage.gaussian_filter(values, float(s.split()[1])), 0)) for s in ("sigma 0.5", "sigma 1.0", "sigma 1.5", "sigma 2.0")), clean, clean)
            for setting, result in nlmdenoise(program, values, "sdf", extra):
                show("nlmdenoise", setting, figures(result, clean, clean))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["wm", "noise"])
    parser.add_argument("program")
    parser.add_argument("data", type=Path)
    parser.add_argument("--extra", action="append", help="options of nlmdenoise, a row each; default: its defaults")
    arguments = parser.parse_args()
    {"wm": white_matter, "noise": noise}[arguments.what](arguments.program, arguments.data, arguments.extra or [""])
