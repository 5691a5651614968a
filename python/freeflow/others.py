"""Images of other libraries, which are not imported: their voxels, where they lie if that can be, and their place."""

import sys

import numpy as np

from . import _arrays, files, nifti_header
from ._speaking import warn


def library_of(given):
    """ "nibabel", "SimpleITK", "itk", "ants", "monai" or "torchio", or None for anything else."""
    for name, kind in (
        ("nibabel", "spatialimages.SpatialImage"),
        ("SimpleITK", "Image"),
        ("ants", "core.ants_image.ANTsImage"),
        ("monai", "data.MetaTensor"),
        ("torchio", "Image"),
    ):
        found = sys.modules.get(name)
        for part in kind.split("."):
            found = getattr(found, part, None)
        if found is not None and isinstance(given, found):
            return name
    return "itk" if hasattr(given, "GetSpacing") and hasattr(given, "GetLargestPossibleRegion") else None


def of_nibabel(given, name, channels=False):
    """(array, affine_ras, voxel size, space code): of shape (i, j, k), or (channel, i, j, k)."""
    array = np.asanyarray(given.dataobj)
    if array.dtype.names and channels:  # RGB
        array = np.stack([array[n] for n in array.dtype.names], axis=-1)
    if array.dtype.kind not in "biuf":
        _arrays.refuse_dtype(array, name)
    if array.dtype.kind == "f" and array.dtype.itemsize > 4:
        array = array.astype(np.float32, order="K")
    while array.ndim > (4 if channels else 3) and array.shape[3] == 1:
        array = array[:, :, :, 0]
    if channels:
        array = np.moveaxis(array, -1, 0) if array.ndim > 3 else array[np.newaxis]
    keys = set(getattr(given.header, "keys", dict)())
    if given.affine is None:
        raise ValueError(f"{name} is a nibabel image without an affine")
    space_code = nifti_header.space_code(given.header["sform_code"], given.header["qform_code"]) if "sform_code" in keys else 1
    mm_per_unit = nifti_header.mm_per_unit(given.header["xyzt_units"]) if "xyzt_units" in keys else 1
    said = nifti_header.said_of_unit(name, mm_per_unit)
    if "sform_code" in keys and not (given.header["sform_code"] > 0 or given.header["qform_code"] > 0):
        said.append(f"{name} has neither sform nor qform: its axes lie as nibabel puts them, whereas the programs take others")
    warn(*said)
    affine = np.array(given.affine, np.float64)
    affine[:3] *= mm_per_unit
    return array, affine, np.multiply(given.header.get_zooms()[:3], mm_per_unit), space_code, said


def of_tensor(given, library, name, channels=False):
    """(array, affine_ras) of MONAI's MetaTensor or an image of TorchIO: of shape (i, j, k), or (channel, i, j, k), as theirs are."""
    array = _arrays.recognised(given.as_tensor() if library == "monai" else given.data, name)
    affine = _arrays.to_numpy(given.affine)
    if library == "monai" and given.meta.get("space") == "LPS":  # read by MONAI with affine_lps_to_ras=False
        affine = affine * [[-1], [-1], [1], [1]]
    if channels:
        return (array if len(array.shape) > 3 else array[None]), affine
    if len(array.shape) == 4:
        _require_one_component(array.shape[0], name)
        array = array[0]
    return array, affine


def _require_one_component(components, name):
    if components != 1:
        raise ValueError(f"{name} has {components} components per voxel; freeflow.Image.channels(...) makes a list of volumes of it")


def of_itk(given, library, name, channels=False):
    """(array, spacing, origin_lps, direction_lps) of an image of SimpleITK, ITK or ANTsPy, which share a frame."""
    if library == "ants":
        dimension, components = given.dimension, given.components
        place = given.spacing, given.origin, given.direction
    else:
        dimension = given.GetDimension() if library == "SimpleITK" else given.GetImageDimension()
        components = given.GetNumberOfComponentsPerPixel()
        place = given.GetSpacing(), given.GetOrigin(), given.GetDirection()
    if library == "SimpleITK" and given.HasMetaDataKey("ITK_non_uniform_sampling_deviation"):
        warn(f"{name} was read from slices that lie unevenly, or of which some are missing: its voxels lie elsewhere than they were measured")
    series = channels and dimension == 4 and components == 1  # a direction of time is none of space
    if dimension != 3 and not series:
        raise ValueError(f"{name} has {dimension} dimensions, and a volume has 3")
    if not channels:
        _require_one_component(components, name)
    array = _voxels(given, library, series)
    if array.dtype.kind not in "biuf":
        _arrays.refuse_dtype(array, name)
    if channels:
        array = np.moveaxis(array, -1, 0) if series or components != 1 else array[np.newaxis]
    spacing, origin, direction = place
    turned = np.asarray(direction, float).reshape(dimension, dimension)[:3, :3]
    return array, list(spacing)[:3], list(origin)[:3], turned


def _voxels(given, library, series):
    """(i, j, k), or (i, j, k, component or time)."""
    if library == "ants":
        return given.numpy()
    module = sys.modules[library]
    if library == "SimpleITK":
        owner = module.Image(given)  # shares the buffer; what is done to the user's image leaves that one alone
        view = _kept(module.GetArrayViewFromImage(owner), owner)
    else:
        view = _kept(module.array_view_from_image(given), given)
    return view.transpose() if series else view.transpose(2, 1, 0, *range(3, view.ndim))


class _Kept:
    """What numpy takes for the base of an array, so that every view of it keeps the owner of the memory."""

    def __init__(self, view, owner):
        self.__array_interface__ = view.__array_interface__
        self._view, self._owner = view, owner


def _kept(view, owner):
    """numpy drops a base that is an array itself, and with it what that refers to."""
    return np.asarray(_Kept(view, owner))


def to_nibabel(array, affine_ras, space_code):
    """Both forms say where it lies and in which world, as in the files that are written."""
    import nibabel

    array = files.storable(array)
    image = nibabel.Nifti1Image(array, affine_ras, dtype=array.dtype)
    image.set_sform(affine_ras, space_code, update_affine=False)  # which stays in double
    image.set_qform(affine_ras, space_code, update_affine=False)
    image.header.set_xyzt_units("mm")
    return image


def to_sitk(array, placement):
    import SimpleITK

    made = SimpleITK.GetImageFromArray(np.ascontiguousarray(files.storable(array).transpose()))
    made.SetSpacing(placement.spacing)
    made.SetOrigin(placement.origin_lps)
    made.SetDirection([x for row in placement.direction_lps for x in row])
    return made


def to_ants(array, placement):
    """As float32, and what has no sign and no fraction as it is: ANTsPy makes unsigned integers of signed ones."""
    import ants

    array = files.storable(array)
    array = array if array.dtype in (np.uint8, np.uint16, np.uint32) else array.astype(np.float32)
    return ants.from_numpy(array, list(placement.origin_lps), list(placement.spacing), np.array(placement.direction_lps))


def to_monai(array, affine_ras):
    import torch
    from monai.data import MetaTensor

    return MetaTensor(_tensor(array)[None], affine=torch.from_numpy(affine_ras))


def to_torchio(array, affine_ras):
    import torchio

    return torchio.ScalarImage(tensor=_tensor(array)[None], affine=affine_ras)


def _tensor(array):
    """A tensor stays where it is; of unsigned integers that not every torch has, the next larger signed ones."""
    if _arrays.library_of(array) == "torch":
        return array
    import torch

    array = files.storable(_arrays.to_numpy(array))
    larger = {"uint16": np.int32, "uint32": np.int64}.get(array.dtype.name)
    return torch.from_numpy(np.array(array, larger))
