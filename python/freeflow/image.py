"""Images: an array and where it lies."""

import os
import sys
import warnings

import numpy as np

from . import _arrays, _native, files

_RAS_LPS = np.diag([-1.0, -1.0, 1.0, 1.0])


def flipped(matrix):
    """A 4x4 matrix between worlds, RAS for LPS or the reverse."""
    return _RAS_LPS @ matrix @ _RAS_LPS


def placement_of(affine_ras, name, spacing=None):
    """(spacing, origin_lps, direction_lps) of an index-to-world matrix. Raises ValueError naming the argument."""
    try:
        affine = np.array(affine_ras, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} is no 4x4 matrix of numbers: {error}") from error
    if affine.shape != (4, 4):
        raise ValueError(f"{name} must be a 4x4 matrix, voxel index to millimetres (RAS), and its shape is {affine.shape}")
    if not np.isfinite(affine).all():
        raise ValueError(f"{name} has numbers that are not finite")
    if not np.array_equal(affine[3], (0, 0, 0, 1)):
        raise ValueError(f"{name} has the last row {affine[3].tolist()} in place of 0 0 0 1")
    lps = _RAS_LPS @ affine
    columns = lps[:3, :3]
    if spacing is None:
        spacing = np.sqrt((columns * columns).sum(axis=0))
    if not (spacing > 0).all():
        raise ValueError(f"{name} is singular: a column has no length")
    return spacing, lps[:3, 3], _orthonormal(columns / spacing, name)


def _orthonormal(direction, name):
    """Axes that are perpendicular but for rounding are made so, as the programs do with files."""
    deviation = np.abs(direction.T @ direction - np.eye(3)).max()
    if deviation < 1e-4:
        return direction
    if not deviation < 0.02:
        raise ValueError(f"{name} has axes that are not perpendicular (sheared): resample the image onto a grid without shear")
    warnings.warn(f"{name} has axes that are not quite perpendicular; the nearest perpendicular ones are taken", stacklevel=4)
    u, _, v = np.linalg.svd(direction)
    return u @ v


class Image:
    """A volume in the world.

    array: of shape (i, j, k); numpy, torch, cupy, or what DLPack or numpy understands. float32 without gaps is used
        where it lies, in C or Fortran order or any other; other types and strides are copied when work needs them. NaN
        and infinite voxels have no value: they count as outside.
    affine_ras: 4x4, voxel index (i, j, k, 1) to millimetres with axes to the right, front and top, as nibabel's
        `affine`. Without it voxels are 1 mm and (0, 0, 0) lies in the origin.
    """

    _path = None  # of the file that it was read from

    def __init__(self, array, affine_ras=None, *, name="array"):
        array = _arrays.recognised(array, name)
        _arrays.require_volume(array, name)
        self.array = array
        self._name = name
        self._set_placement(*placement_of(np.eye(4) if affine_ras is None else affine_ras, "affine_ras"))

    def _set_placement(self, spacing, origin_lps, direction_lps):
        self._placement = _native.Placement(
            [float(x) for x in spacing], [float(x) for x in origin_lps], [[float(x) for x in row] for row in direction_lps]
        )

    @classmethod
    def _placed(cls, array, placement, name="array"):
        image = cls.__new__(cls)
        image.array = array
        image._name = name
        image._placement = placement
        return image

    @classmethod
    def channels(cls, array, affine_ras=None):
        """The images of an array of shape (channels, i, j, k), such as a network's features: a list for register()."""
        array = _arrays.recognised(array, "array")
        if len(array.shape) != 4:
            raise ValueError(f"array has {len(array.shape)} dimensions, and channels of volumes have 4: (channel, i, j, k)")
        return [cls(array[c], affine_ras) for c in range(array.shape[0])]

    @classmethod
    def read(cls, path):
        """NIfTI (.nii, .nii.gz), and by SimpleITK or nibabel, where they are installed, what these read."""
        path = os.fspath(path)
        if path.lower().endswith((".nii", ".nii.gz")):
            array, affine, spacing = files.read_nifti_image(path)
            image = cls._of_affine(array, affine, spacing, os.path.basename(path))
        else:
            image = cls.of(files.read_by_others(path))
        image._path = os.path.abspath(path)
        return image

    @classmethod
    def _of_affine(cls, array, affine, spacing, name):
        """The header's own voxel size in place of the columns' lengths where they agree: fewer roundings."""
        image = cls.__new__(cls)
        image.array, image._name = array, name
        lengths = np.sqrt((np.asarray(affine)[:3, :3] ** 2).sum(axis=0))
        spacing = np.asarray(spacing, np.float64)
        agrees = spacing.shape == (3,) and np.allclose(spacing, lengths, rtol=1e-5, atol=0)
        image._set_placement(*placement_of(affine, f"the affine of {name}", spacing if agrees else None))
        return image

    @classmethod
    def of(cls, given, name="image"):
        """An Image of an Image, a path, a nibabel or SimpleITK image, or an array (voxels of 1 mm)."""
        if isinstance(given, cls):
            _arrays.require_memory(given.array, name)
            return given
        if isinstance(given, (str, os.PathLike)):
            return cls.read(given)
        if _is_nibabel(given):
            return cls._of_nibabel(given, name)
        if _is_sitk(given):
            return cls._of_sitk(given, name)
        return cls(given, name=name)

    @classmethod
    def _of_nibabel(cls, given, name):
        array = np.asanyarray(given.dataobj)
        if array.dtype.kind == "f" and array.dtype.itemsize > 4:
            array = array.astype(np.float32, order="K")
        if array.ndim == 4 and array.shape[3] == 1:
            array = array[..., 0]
        _arrays.require_volume(array, name)
        if given.affine is None:
            raise ValueError(f"{name} is a nibabel image without an affine")
        return cls._of_affine(array, given.affine, given.header.get_zooms()[:3], name)

    @classmethod
    def _of_sitk(cls, given, name):
        if given.GetNumberOfComponentsPerPixel() != 1:
            raise ValueError(f"{name} has {given.GetNumberOfComponentsPerPixel()} components per voxel; give each as an image")
        if given.GetDimension() != 3:
            raise ValueError(f"{name} has {given.GetDimension()} dimensions, and a volume has 3")
        # The view refers to the image's memory and does not keep it.
        array = _kept(sys.modules["SimpleITK"].GetArrayViewFromImage(given), given).transpose()
        image = cls.__new__(cls)
        image.array, image._name = array, name
        direction = np.array(given.GetDirection()).reshape(3, 3)
        image._set_placement(given.GetSpacing(), given.GetOrigin(), _orthonormal(direction, name))
        return image

    @property
    def shape(self):
        return tuple(int(n) for n in self.array.shape)

    @property
    def affine_ras(self):
        """4x4, voxel index to millimetres (RAS), float64."""
        affine = np.eye(4)
        affine[:3, :3] = np.array(self._placement.direction_lps) * np.array(self._placement.spacing)
        affine[:3, 3] = self._placement.origin_lps
        return _RAS_LPS @ affine

    @property
    def spacing_mm(self):
        """Of the axes i, j, k."""
        return tuple(self._placement.spacing)

    def numpy(self):
        """The voxels as a numpy array; a copy where they lie on a GPU."""
        return _arrays.to_numpy(self.array)

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def to_nibabel(self):
        import nibabel

        return nibabel.Nifti1Image(self.numpy(), self.affine_ras)

    def to_sitk(self):
        import SimpleITK

        made = SimpleITK.GetImageFromArray(np.ascontiguousarray(self.numpy().transpose()))
        made.SetSpacing(self._placement.spacing)
        made.SetOrigin(self._placement.origin_lps)
        made.SetDirection([x for row in self._placement.direction_lps for x in row])
        return made

    def write(self, path):
        """NIfTI (.nii, .nii.gz)."""
        files.write_nifti_image(os.fspath(path), self.numpy(), self._placement)

    def __repr__(self):
        sides = "x".join(str(n) for n in self.shape)
        mm = "x".join(f"{s:.4g}" for s in self.spacing_mm)
        return f"<freeflow.Image {sides} voxels of {mm} mm, {_arrays.library_of(self.array)} {self.array.dtype} on {_arrays.device_of(self.array)}>"

    def _volume(self, context, name=None, labels=False):
        return _arrays.to_native(self.array, self._placement, context, name or self._name, labels)

    def _grid(self, name="like"):
        """As arrays made on this grid shall lie in memory: like this one."""
        return grid_like(self.array, self._placement, name)


def grid_like(array, placement, name):
    strides = array.stride() if _arrays.library_of(array) == "torch" else array.strides
    steps = [(abs(s) if n > 1 else 0, -a) for a, (s, n) in enumerate(zip(strides, array.shape))]
    axes = [-a for _, a in sorted(steps)]
    return _native.Grid.make([int(n) for n in array.shape], axes, placement, name)


class _Kept:
    """What numpy takes for the base of an array, so that every view of it keeps the owner of the memory."""

    def __init__(self, view, owner):
        self.__array_interface__ = view.__array_interface__
        self._view, self._owner = view, owner


def _kept(view, owner):
    """numpy drops a base that is an array itself, and with it what that refers to."""
    return np.asarray(_Kept(view, owner))


def _is_nibabel(given):
    module = sys.modules.get("nibabel")
    return module is not None and isinstance(given, module.spatialimages.SpatialImage)


def _is_sitk(given):
    module = sys.modules.get("SimpleITK")
    return module is not None and isinstance(given, module.Image)
