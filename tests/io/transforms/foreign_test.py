#!/usr/bin/env python3
"""Do other people's readers map points through our transform files as we do, and we through theirs as they do?

    foreign_test.py TEST_TRANSFORM_FILES     (the program built of main.cpp beside this file)

Six geometries, 1,000 points each. Where a reader takes the nearest voxel or resamples onto a grid, the points are voxel centres. Prints
the largest difference per format and reader, and on the last line how many tests ran, how many had no reader here, and which readers lack.
Exit status 77 where none could run.
"""
import importlib.util
import io
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
from collections import defaultdict
from pathlib import Path

warnings.filterwarnings("ignore")
NO_READER = 77
try:
    import nibabel as nib
    import numpy as np
except ImportError:
    count = Path(__file__).read_text().count("\n    def test_")
    print(f"foreign readers: 0 tests ran, {count} skipped for want of nibabel or numpy")
    sys.exit(NO_READER)
from foreign_case import GEOMETRIES, RAS, Case, apply, flip, grid, rotation

PROGRAM = None
EXACT_MM = 1e-3  # affines and our own fields
FLOAT_VOXEL = 0.01  # where the other program computes in float
largest = defaultdict(float)
lacking = set()


def have(*modules):
    return all(importlib.util.find_spec(m.split(".")[0]) for m in modules)


def needs(*modules):
    lacking.update(m for m in modules if not have(m))
    return unittest.skipUnless(have(*modules), f"{' and '.join(modules)} not installed")


def needs_program(name):
    if not shutil.which(name):
        lacking.add(name)
    return unittest.skipUnless(shutil.which(name), f"{name} not installed")


class ForeignReaders(unittest.TestCase):
    def cases(self, both_moving=False):
        for name in GEOMETRIES:
            for right_handed in (False, True) if both_moving else (False,):
                with tempfile.TemporaryDirectory() as folder:
                    yield Case(PROGRAM, name, folder, right_handed)

    def close(self, what, case, found, expected, limit_mm=EXACT_MM):
        self.assertEqual(np.shape(found), np.shape(expected))
        difference = np.abs(np.asarray(found) - expected).max()
        largest[what] = max(largest[what], difference)
        self.assertLessEqual(difference, limit_mm, f"{what}, {case.name}")

    # --- ITK -----------------------------------------------------------------------------------------------------------------------
    @needs("SimpleITK")
    def test_itk_with_simpleitk(self):
        import SimpleITK as sitk

        def theirs(transform, points):
            return np.array([transform.TransformPoint(p) for p in points.tolist()])

        for case in self.cases():
            beyond = apply(case.to_lps, case.index + 3 * np.sign(np.random.default_rng(1).normal(size=case.index.shape)))
            points = np.concatenate([case.points, beyond])
            for name in ("a.mat", "a.tfm", "a.txt", "a.h5"):
                path = case.convert(case.tfm, name, "itk")
                self.close(f"itk {Path(name).suffix}: SimpleITK", case, theirs(sitk.ReadTransform(str(path)), points),
                           case.ours(path, "itk", points))
            for name in ("w.nii.gz", "w.nrrd", "w.mha"):
                path = case.convert(case.warp, name, "itk")
                field = sitk.DisplacementFieldTransform(sitk.Cast(sitk.ReadImage(str(path)), sitk.sitkVectorFloat64))
                self.close(f"itk {Path(name).suffix}: SimpleITK, beyond the grid too", case, theirs(field, points),
                           case.ours(path, "itk", points))
            path = case.folder / "shift.h5"
            shift = sitk.TranslationTransform(3, (3.5, -2.25, 1.75))
            sitk.WriteTransform(shift, str(path))
            self.close("itk translation .h5 of SimpleITK", case, case.ours(path, "itk", points), theirs(shift, points))
            # Their composites, in both orders, and what we make of them.
            affine = sitk.ReadTransform(str(case.tfm))
            for order in ("affine last", "affine first"):
                field = sitk.DisplacementFieldTransform(sitk.Cast(sitk.ReadImage(str(case.warp)), sitk.sitkVectorFloat64))
                parts = [affine, field] if order == "affine last" else [field, affine]  # the last is applied first
                composite = sitk.CompositeTransform(parts)
                path = case.folder / "theirs.h5"
                sitk.WriteTransform(composite, str(path))
                expected = theirs(composite, points)
                self.close("itk composite .h5 of SimpleITK", case, case.ours(path, "itk", points), expected)
                again = case.convert(path, "ours.h5", "itk")
                self.close("itk composite .h5: SimpleITK", case, theirs(sitk.ReadTransform(str(again)), points), expected)

    @needs("SimpleITK")
    def test_itk_splines_with_simpleitk(self):
        """Ours are evaluated at the fixed image's voxels; one composite, of a spline and what follows it."""
        import SimpleITK as sitk

        for case in self.cases():
            random = np.random.default_rng(3)
            spline = sitk.BSplineTransformInitializer(sitk.ReadImage(str(case.fixed)), (4, 5, 3))
            spline.SetParameters(random.normal(scale=2, size=len(spline.GetParameters())).tolist())
            affine = sitk.ReadTransform(str(case.tfm))
            for transform in spline, sitk.CompositeTransform([affine, spline]):
                expected = np.array([transform.TransformPoint(p) for p in case.centres.tolist()])
                # On its border, which a rounding decides, ITK may displace nothing.
                inside = np.all((case.centre_index > 0) & (case.centre_index < np.array(case.shape) - 1), axis=1)
                for name in ("theirs.h5", "theirs.tfm"):
                    path = case.folder / name
                    sitk.WriteTransform(transform, str(path))
                    self.close("itk B-spline of SimpleITK", case, case.ours(path, "itk", case.centres[inside]), expected[inside])
            path = case.folder / "ours.h5"
            case.run("spline", case.fixed, path)
            ours = sitk.ReadTransform(str(path))
            self.close("itk B-spline .h5: SimpleITK", case, [ours.TransformPoint(p) for p in case.centres.tolist()], case.ours(path, "itk", case.centres))
            self.assertGreater(np.abs(case.ours(path, "itk", case.centres) - case.centres).max(), 1)

    @needs("ants", "pandas")
    def test_itk_with_ants(self):
        import ants
        import pandas

        for case in self.cases():
            table = pandas.DataFrame(case.points, columns=["x", "y", "z"])
            for source, name in ((case.tfm, "a.mat"), (case.tfm, "a.h5"), (case.warp, "w.nii.gz"), (case.warp, "w.h5")):
                path = case.convert(source, name, "itk")
                theirs = ants.apply_transforms_to_points(3, table, [str(path)])[["x", "y", "z"]].to_numpy()
                self.close(f"itk {'affine' if name[0] == 'a' else 'field'} {Path(name).suffix}: ANTsPy", case, theirs, case.ours(path, "itk", case.points),
                           FLOAT_VOXEL * case.smallest_voxel)

    @needs("ants", "pandas", "SimpleITK")
    def test_whole_transforms_with_ants(self):
        """Affine and field in one .h5, in the order of each direction, as --bids has the programs write them."""
        import ants
        import pandas
        import SimpleITK as sitk

        for case in self.cases():
            table = pandas.DataFrame(case.points, columns=["x", "y", "z"])
            affine = sitk.ReadTransform(str(case.tfm))
            field = sitk.DisplacementFieldTransform(sitk.Cast(sitk.ReadImage(str(case.warp)), sitk.sitkVectorFloat64))
            for parts in ([affine, field], [field, affine]):  # the last is applied first
                made = case.folder / "made.h5"
                sitk.WriteTransform(sitk.CompositeTransform(parts), str(made))
                path = case.convert(made, "whole.h5", "itk")
                theirs = ants.apply_transforms_to_points(3, table, [str(path)])[["x", "y", "z"]].to_numpy()
                self.close("itk affine and field .h5: ANTsPy", case, theirs, case.ours(path, "itk", case.points),
                           FLOAT_VOXEL * case.smallest_voxel)

    @needs("nitransforms", "h5py")
    def test_itk_composite_with_nitransforms(self):
        import nitransforms

        for case in self.cases():
            path = case.convert(case.warp, "w.h5", "itk")
            chain = nitransforms.manip.TransformChain.from_filename(str(path), fmt="itk")
            found = flip(np.asarray(chain.map(flip(case.centres))))
            self.close("itk composite .h5: nitransforms", case, found, case.ours(path, "itk", case.centres), FLOAT_VOXEL * case.smallest_voxel)

    @needs("h5py", "SimpleITK")
    def test_itk_composite_of_floats(self):
        """As fMRIPrep keeps them: an affine and a field, both in float."""
        import h5py
        import SimpleITK as sitk

        for case in self.cases():
            field = sitk.DisplacementFieldTransform(sitk.Cast(sitk.ReadImage(str(case.warp)), sitk.sitkVectorFloat64))
            path = case.folder / "floats.h5"
            sitk.WriteTransform(sitk.CompositeTransform([sitk.ReadTransform(str(case.tfm)), field]), str(path))
            with h5py.File(path, "r+") as file:
                for group in file["TransformGroup"].values():
                    name = group["TransformType"][0]
                    name = name.decode() if isinstance(name, bytes) else name
                    del group["TransformType"]
                    group.create_dataset("TransformType", data=[name.replace("double", "float")], dtype=h5py.string_dtype("ascii"))
                    for key in ("TransformParameters", "TransformFixedParameters"):
                        if key in group:
                            values = group[key][()].astype(np.float32)
                            del group[key]
                            group.create_dataset(key, data=values)
            theirs = sitk.ReadTransform(str(path))
            found = np.array([theirs.TransformPoint(p) for p in case.points.tolist()])
            self.close("itk composite .h5 of floats", case, case.ours(path, "auto", case.points), found)

    @needs_program("wb_command")
    def test_itk_with_workbench(self):
        for case in self.cases():
            path = case.convert(case.warp, "w.nii.gz", "itk")
            world = case.folder / "world.nii.gz"
            subprocess.run(["wb_command", "-convert-warpfield", "-from-itk", path, "-to-world", world], check=True, capture_output=True)
            found = case.centres + flip(case.at_centres(np.squeeze(nib.load(world).get_fdata())))
            self.close("itk .nii.gz: wb_command", case, found, case.ours(path, "itk", case.centres))

    @needs("picsl_greedy")
    def test_itk_warps_and_ras_matrices_with_greedy(self):
        from picsl_greedy import Greedy3D

        for case in self.cases():
            index = np.stack(np.meshgrid(*[np.arange(41)] * 3, indexing="ij"), -1)
            affine = grid(np.eye(3), (8, 8, 8), (-160, -160, -160))
            coordinates = apply(affine, index.reshape(-1, 3)).reshape(41, 41, 41, 3)
            warp, matrix = case.convert(case.warp, "w.nii.gz", "itk"), case.convert(case.tfm, "a.txt", "niftyreg")
            for what, chain in (("itk .nii.gz", [warp]), ("niftyreg text", [matrix])):
                seen = []
                for axis in range(3):
                    image = case.save("coordinate.nii", coordinates[..., axis], affine)
                    out = case.folder / "seen.nii"
                    Greedy3D().execute(f"-d 3 -V 0 -rf {case.fixed} -ri LINEAR -rm {image} {out} -r "
                                         + " ".join(map(str, chain)), out=io.StringIO())
                    seen.append(case.at_centres(nib.load(out).get_fdata()))
                self.close(f"{what}: greedy", case, flip(np.stack(seen, -1)),
                           case.ours(chain[0], what.split()[0], case.centres), FLOAT_VOXEL * case.smallest_voxel)

    # --- FSL -----------------------------------------------------------------------------------------------------------------------
    @needs("fsl.transform")
    def test_flirt_with_fslpy(self):
        from fsl.data.image import Image
        from fsl.transform import flirt

        for case in self.cases(both_moving=True):
            fixed, moving = Image(str(case.fixed)), Image(str(case.moving))
            path = case.convert(case.tfm, "flirt.mat", "fsl")
            world = np.linalg.inv(flirt.fromFlirt(flirt.readFlirt(str(path)), moving, fixed, "world", "world"))
            found = flip(apply(world, flip(case.points)))
            self.close("fsl FLIRT .mat: fslpy", case, found, case.true_affine(case.points))
            self.close("fsl FLIRT .mat, read back", case, case.ours(path, "auto", case.points), case.true_affine(case.points))
            theirs = case.folder / "theirs.mat"
            matrix = flirt.toFlirt(np.linalg.inv(RAS @ case.affine @ RAS), moving, fixed, "world", "world")
            flirt.writeFlirt(matrix, str(theirs))
            self.close("fsl FLIRT .mat of fslpy", case, case.ours(theirs, "fsl", case.points), case.true_affine(case.points))

    @needs("fsl.transform")
    def test_fnirt_with_fslpy(self):
        from fsl.data.image import Image
        from fsl.transform import fnirt, nonlinear

        for case in self.cases(both_moving=True):
            fixed, moving = Image(str(case.fixed)), Image(str(case.moving))
            for vectors in ("displacements", "positions"):
                path = case.convert(case.warp, "fnirt.nii.gz", "fsl", vectors)
                field = fnirt.readFnirt(str(path), moving, fixed, intent=2006,
                                        defType="absolute" if vectors == "positions" else "relative")
                found = flip(field.transform(flip(case.centres), "world", "world"))
                self.close(f"fsl FNIRT {vectors}: fslpy", case, found, case.true_field())
                self.close(f"fsl FNIRT {vectors}, read back", case, case.ours(path, "fsl", case.centres, vectors),
                           case.true_field())
                # A field of theirs: ours, between worlds, made FSL's by fslpy.
                coordinates = flip(np.einsum("rc,xyzc->xyzr", case.to_lps[:3, :3], np.stack(np.meshgrid(
                    *map(np.arange, case.shape), indexing="ij"), -1)) + case.to_lps[:3, 3] + case.field)
                world = nonlinear.DeformationField(coordinates, moving, fixed, header=fixed.header, srcSpace="world", refSpace="world",
                                                   defType="absolute")
                theirs = nonlinear.convertDeformationSpace(world, "fsl", "fsl")
                wanted = "absolute" if vectors == "positions" else "relative"
                data = theirs.data if theirs.deformationType == wanted else nonlinear.convertDeformationType(theirs, wanted)
                image = nib.Nifti1Image(np.asarray(data, np.float32), case.affine_ras)
                image.set_sform(case.affine_ras, 1)
                image.set_qform(case.affine_ras, 1)
                image.header["intent_code"] = 2006
                nib.save(image, case.folder / "theirs.nii.gz")
                self.close(f"fsl FNIRT {vectors} of fslpy", case,
                           case.ours(case.folder / "theirs.nii.gz", "auto", case.centres, vectors), case.true_field())

    @needs("fsl.transform")
    def test_fnirt_coefficients_with_fslpy(self):
        from fsl.data.image import Image
        from fsl.transform import fnirt

        for case in self.cases(both_moving=True):
            if np.linalg.det(case.affine_ras[:3, :3]) > 0:
                continue  # fslpy takes the lattice in the file's order of x, FSL's own reader in its radiological one
            fixed, moving = Image(str(case.fixed)), Image(str(case.moving))
            knots = np.array([4, 5, 3])
            lattice = [int(np.ceil((n + 1) / k)) + 2 for n, k in zip(case.shape, knots)]
            header = nib.Nifti1Image(np.random.default_rng(3).normal(0, 2, (*lattice, 3)).astype(np.float32), None)
            qform = np.diag([*knots, 1.0])
            qform[:3, 3] = case.shape
            sform = np.eye(4)
            sform[:3, :3] = rotation((1, 1, 2), 7) * 1.03
            sform[:3, 3] = 2, -1, 3
            header.header.set_zooms([*knots, 1])
            header.set_sform(sform, 1)
            header.set_qform(qform, 1)
            header.header["intent_code"] = 2007
            for i, key in enumerate(("intent_p1", "intent_p2", "intent_p3")):
                header.header[key] = fixed.pixdim[i]
            path = case.folder / "coefficients.nii.gz"
            nib.save(header, path)
            theirs = fnirt.readFnirt(str(path), moving, fixed)
            found = flip(theirs.transform(flip(case.centres), "world", "world"))
            self.close("fsl FNIRT coefficients: fslpy", case, case.ours(path, "auto", case.centres), found)

    @needs_program("wb_command")
    def test_fsl_with_workbench(self):
        for case in self.cases(both_moving=True):
            world = case.folder / "world.nii.gz"
            for vectors in ("displacements", "positions"):
                path = case.convert(case.warp, "fnirt.nii.gz", "fsl", vectors)
                absolute = ["-absolute"] if vectors == "positions" else []
                subprocess.run(["wb_command", "-convert-warpfield", "-from-fnirt", path, case.moving, *absolute, "-to-world", world],
                               check=True, capture_output=True)
                found = case.centres + flip(case.at_centres(np.squeeze(nib.load(world).get_fdata())))
                self.close(f"fsl FNIRT {vectors}: wb_command", case, found, case.true_field())
            theirs = case.folder / "theirs.nii.gz"
            subprocess.run(["wb_command", "-convert-warpfield", "-from-itk", case.warp, "-to-fnirt", theirs, case.moving],
                           check=True, capture_output=True)
            self.close("fsl FNIRT displacements of wb_command", case, case.ours(theirs, "fsl", case.centres, "displacements"),
                       case.true_field())
            flirt, matrix = case.convert(case.tfm, "flirt.mat", "fsl"), case.folder / "world.txt"
            subprocess.run(["wb_command", "-convert-affine", "-from-flirt", flirt, case.moving, case.fixed, "-to-world", matrix],
                           check=True, capture_output=True)
            found = flip(apply(np.linalg.inv(np.loadtxt(matrix)), flip(case.points)))
            self.close("fsl FLIRT .mat: wb_command", case, found, case.true_affine(case.points))

    # --- MRtrix --------------------------------------------------------------------------------------------------------------------
    def mrtrix_sees(self, case, *options):
        """Where MRtrix takes the fixed voxel centres: it samples an image of scanner coordinates."""
        index = np.stack(np.meshgrid(*[np.arange(41)] * 3, indexing="ij"), -1)
        affine = grid(np.eye(3), (8, 8, 8), (-160, -160, -160))
        case.save("coordinates.nii", apply(affine, index.reshape(-1, 3)).reshape(41, 41, 41, 3), affine)
        out = case.folder / "seen.nii"
        subprocess.run(["mrtransform", case.folder / "coordinates.nii", *options, "-interp", "linear", "-quiet", "-force",
                        "-strides", "1,2,3,4", out], check=True, capture_output=True)
        image = nib.load(out)
        index = apply(np.linalg.inv(image.affine), flip(case.centres))
        self.assertLess(np.abs(index - np.rint(index)).max(), 1e-3)
        return flip(image.get_fdata()[tuple(np.rint(index).astype(int).T)])

    @needs_program("mrtransform")
    def test_mrtrix(self):
        for case in self.cases():
            path = case.convert(case.tfm, "a.txt", "mrtrix")
            seen = self.mrtrix_sees(case, "-linear", path, "-template", case.fixed)
            self.close("mrtrix text: mrtransform", case, seen, case.ours(path, "auto", case.centres), FLOAT_VOXEL * case.smallest_voxel)
            path = case.convert(case.warp, "w.nii.gz", "mrtrix")
            seen = self.mrtrix_sees(case, "-warp", path)
            self.close("mrtrix warp: mrtransform", case, seen, case.ours(path, "mrtrix", case.centres), FLOAT_VOXEL * case.smallest_voxel)
            theirs, text = case.folder / "theirs.nii", case.folder / "a.txt"
            subprocess.run(["transformcompose", text, case.convert(case.warp, "w.nii", "mrtrix"), theirs, "-template", case.fixed, "-quiet"],
                           check=True, capture_output=True)
            inside = np.all((case.centre_index > 0) & (case.centre_index < np.array(case.shape) - 1), axis=1)
            data = nib.load(theirs).get_fdata()
            stored = flip(data[tuple(np.rint(apply(np.linalg.inv(nib.load(theirs).affine), flip(case.centres))).astype(int).T)])
            found = case.ours(theirs, "mrtrix", case.centres)
            usable = inside & np.isfinite(stored).all(axis=1)
            self.assertGreater(usable.sum(), 300)
            self.close("mrtrix warp of transformcompose", case, found[usable], stored[usable])

    # --- AFNI ----------------------------------------------------------------------------------------------------------------------
    @needs("nitransforms")
    def test_afni_with_nitransforms(self):
        import nitransforms

        for case in self.cases(both_moving=True):
            fixed, moving = nib.load(case.fixed), nib.load(case.moving)
            path = case.convert(case.tfm, "a.aff12.1D", "afni")
            xfm = nitransforms.linear.Affine.from_filename(str(path), fmt="afni", reference=fixed, moving=moving)
            self.close("afni .aff12.1D: nitransforms", case, flip(np.asarray(xfm.map(flip(case.points)))), case.true_affine(case.points))
            theirs = case.folder / "theirs.aff12.1D"
            nitransforms.linear.Affine(RAS @ case.affine @ RAS, reference=fixed).to_filename(str(theirs), fmt="afni", moving=moving)
            self.close("afni .aff12.1D of nitransforms", case, case.ours(theirs, "auto", case.points), case.true_affine(case.points),
                       FLOAT_VOXEL * case.smallest_voxel)  # written with six digits

    @needs("nitransforms")
    def test_afni_warp_with_nitransforms(self):
        import nitransforms

        for case in self.cases():
            if case.name == "oblique":
                continue  # refused, as AFNI takes its axes as cardinal
            cardinal = case.folder / "moving.nii"
            case.save("moving.nii", np.zeros((9, 8, 7)), np.eye(4))
            case.moving = cardinal
            path = case.convert(case.warp, "w.nii.gz", "afni")
            theirs = nitransforms.nonlinear.DenseFieldTransform.from_filename(str(path), fmt="afni")
            self.close("afni warp: nitransforms", case, flip(np.asarray(theirs.map(flip(case.centres)))),
                       case.ours(path, "afni", case.centres), FLOAT_VOXEL * case.smallest_voxel)

    # --- elastix -------------------------------------------------------------------------------------------------------------------
    @needs("itk")  # and itk-elastix: 1.8 GB, which CI does without
    def test_elastix_with_transformix(self):
        """Our affines, and parameter files as elastix writes them: an Euler transform, and a B-spline behind it."""
        import itk

        if not hasattr(itk, "ParameterObject"):
            self.skipTest("itk-elastix not installed")

        def theirs(case, path):
            parameters = itk.ParameterObject.New()
            parameters.ReadParameterFile(str(path))
            field = itk.transformix_deformation_field(itk.imread(str(case.moving), itk.F), parameters, output_directory=str(case.folder))
            return case.centres + case.at_centres(itk.array_from_image(field).transpose(2, 1, 0, 3))

        def row(values):
            return " ".join(f"{v:.17g}" for v in np.ravel(values))

        for case in self.cases():
            path = case.convert(case.tfm, "a.txt", "elastix")
            self.close("elastix affine: transformix", case, theirs(case, path), case.true_affine(case.centres), FLOAT_VOXEL * case.smallest_voxel)
            image = itk.imread(str(case.fixed), itk.F)
            direction, spacing = itk.array_from_matrix(image.GetDirection()), np.array(image.GetSpacing())
            common = path.read_text().split("(Transform ")[0] + "".join(
                line + "\n" for line in path.read_text().splitlines() if not line.startswith(("(Transform", "(NumberOf", "(Center", "(Initial")))
            euler = case.folder / "TransformParameters.0.txt"
            euler.write_text(f'{common}(Transform "EulerTransform")\n(NumberOfParameters 6)\n(TransformParameters 0.2 -0.1 0.15 2 -1 3)\n'
                             f'(CenterOfRotationPoint {row(case.centres.mean(0))})\n(InitialTransformParameterFileName "NoInitialTransform")\n'
                             '(ComputeZYX "false")\n')
            self.close("elastix Euler transform: transformix", case, case.ours(euler, "auto", case.centres), theirs(case, euler),
                       FLOAT_VOXEL * case.smallest_voxel)
            size, knots = np.array(case.shape), np.array([9, 8, 7])
            apart = 1.6 * spacing * size / (knots - 3)  # the turned grid lies within the lattice
            origin = case.to_lps[:3, :3] @ ((size - 1) / 2) + case.to_lps[:3, 3] - direction @ (apart * (knots - 1) / 2)
            values = np.random.default_rng(4).normal(scale=1.5, size=3 * knots.prod())
            spline = case.folder / "TransformParameters.1.txt"
            spline.write_text(f'{common}(Transform "BSplineTransform")\n(NumberOfParameters {values.size})\n(TransformParameters {row(values)})\n'
                              f'(InitialTransformParameterFileName "{euler}")\n(GridSize {row(knots)})\n(GridIndex 0 0 0)\n(GridSpacing {row(apart)})\n'
                              f'(GridOrigin {row(origin)})\n(GridDirection {row(direction.T)})\n(BSplineTransformSplineOrder 3)\n'
                              '(UseCyclicTransform "false")\n')
            found = case.ours(spline, "auto", case.centres)
            self.close("elastix B-spline behind it: transformix", case, found, theirs(case, spline), FLOAT_VOXEL * case.smallest_voxel)
            self.assertGreater(np.abs(found - case.ours(euler, "auto", case.centres)).max(), 1)

    # --- FreeSurfer ----------------------------------------------------------------------------------------------------------------
    @needs("surfa")
    def test_lta_with_surfa(self):
        import surfa

        for case in self.cases(both_moving=True):
            path = case.convert(case.tfm, "a.lta", "freesurfer")
            affine = surfa.load_affine(str(path))
            found = flip(apply(np.linalg.inv(affine.convert(space="world").matrix), flip(case.points)))
            self.close("freesurfer .lta: surfa", case, found, case.true_affine(case.points))
            for space in ("vox", "world"):
                theirs = case.folder / f"{space}.lta"
                affine.convert(space=space).save(str(theirs))
                self.close(f"freesurfer .lta ({space}) of surfa", case, case.ours(theirs, "auto", case.points), case.true_affine(case.points))

    @needs("nitransforms")
    def test_lta_with_nitransforms(self):
        import nitransforms

        for case in self.cases(both_moving=True):
            fixed, moving = nib.load(case.fixed), nib.load(case.moving)
            path = case.convert(case.tfm, "a.lta", "freesurfer")
            xfm = nitransforms.linear.Affine.from_filename(str(path), fmt="fs", reference=fixed, moving=moving)
            self.close("freesurfer .lta: nitransforms", case, flip(np.asarray(xfm.map(flip(case.points)))), case.true_affine(case.points))


def main():
    global PROGRAM
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = sys.argv.pop(1)
    program = unittest.main(exit=False, verbosity=1)
    for what in sorted(largest):
        print(f"{what}: {largest[what]:.2g} mm")
    result = program.result
    for test, why in result.skipped:
        print(f"skipped {test.id().split('.')[-1]}: {why}")
    ran = result.testsRun - len(result.skipped)
    want = f" for want of {', '.join(sorted(lacking))}" if lacking else ""
    print(f"foreign readers: {ran} tests ran, {len(result.skipped)} skipped{want}")
    sys.exit(1 if not result.wasSuccessful() else 0 if ran else NO_READER)


if __name__ == "__main__":
    main()
