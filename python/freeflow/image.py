"""Images: an array and where it lies."""

import os

import numpy as np

from . import _arrays, _native, files, others
from ._speaking import warn

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
    lengths = np.sqrt((columns * columns).sum(axis=0))
    if not (lengths > 0).all():
        raise ValueError(f"{name} is singular: a column has no length")
    direction = _orthonormal(columns / lengths, name)  # as ITK has it, whatever the spacing is rounded to
    return lengths if spacing is None else spacing, lps[:3, 3], direction


def _orthonormal(direction, name):
    """Axes that are perpendicular but for rounding are made so, as the programs do with files."""
    deviation = np.abs(direction.T @ direction - np.eye(3)).max()
    if deviation < 1e-4:
        return direction
    if not deviation < 0.02:
        raise ValueError(f"{name} has axes that are not perpendicular (sheared): resample the image onto a grid without shear")
    warn(f"{name} has axes that are not quite perpendicular; the nearest perpendicular ones are taken")
    u, _, v = np.linalg.svd(direction)
    return u @ v


class Placement(_native.Placement):
    """Where voxels lie, and in which world by NIfTI's codes: 1 the scanner's, 2 another image's, 3 Talairach's, 4 MNI 152's. Images
    carry the code to what is made on their grid, as in core/geometry.h; what C++ gives back has lost it."""

    def __init__(self, spacing, origin_lps, direction_lps, space_code=1):
        super().__init__([float(x) for x in spacing], [float(x) for x in origin_lps], [[float(x) for x in row] for row in direction_lps])
        self.space_code = space_code


class Image:
    """A volume in the world.

    array: of shape (i, j, k); numpy, torch, cupy, or what DLPack or numpy understands. float32 without gaps is used
        where it lies, in C or Fortran order or any other; other types and strides are copied when work needs them. NaN
        and infinite voxels have no value: they count as outside.
    affine_ras: 4x4, voxel index (i, j, k, 1) to millimetres with axes to the right, front and top, as nibabel's
        `affine`. Without it voxels are 1 mm and (0, 0, 0) lies in the origin.
    """

    _path = None  # of the file that it was read from
    _said = ()  # what was warned of its header
    _bare = False  # an array that was given for an image, without a word of its place

    def __init__(self, array, affine_ras=None, *, name="array"):
        if isinstance(array, Image):
            raise TypeError(f"{name} is an Image, which knows its place: take it as it is")
        if others.library_of(array):
            raise TypeError(f"{name} is a {type(array).__name__}, which knows its place: freeflow.Image.of(...) takes it with that")
        array = _arrays.recognised(array, name)
        _arrays.require_volume(array, name)
        self.array = array
        self._name = name
        self._placement = Placement(*placement_of(np.eye(4) if affine_ras is None else affine_ras, "affine_ras"))

    def __getstate__(self):
        return {**self.__dict__, "_placement": numbers_of(self._placement)}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._placement = Placement(*state["_placement"])

    @classmethod
    def _placed(cls, array, placement, name="array"):
        image = cls.__new__(cls)
        image.array = array
        image._name = name
        image._placement = placement
        return image

    @classmethod
    def channels(cls, array, affine_ras=None):
        """The images of an array of shape (channels, i, j, k), such as a network's features, or of a file or a nibabel, SimpleITK,
        ITK, ANTsPy, MONAI or TorchIO image with several values per voxel (4-D, RGB), which knows its place: a list for register() and
        apply()."""
        if isinstance(array, (list, tuple)) and any(isinstance(a, Image) for a in array):
            raise TypeError("array is a list of Images, which know their places: register() takes such a list as it is")
        library, path = others.library_of(array), isinstance(array, (str, os.PathLike))
        if library is None and not path:
            array = _arrays.recognised(array, "array")
            if len(array.shape) != 4:
                raise ValueError(f"array has {len(array.shape)} dimensions, and channels of volumes have 4: (channel, i, j, k)")
            return [cls(array[c], affine_ras) for c in range(array.shape[0])]
        if affine_ras is not None:
            raise TypeError("affine_ras is of arrays: an image has its own")
        whole = cls._of_file(os.fspath(array), channels=True) if path else cls._of_library(array, library, "array", channels=True)
        return [cls._placed(volume, whole._placement) for volume in whole.array]

    @classmethod
    def read(cls, path):
        """NIfTI (.nii, .nii.gz), and by SimpleITK or nibabel, where they are installed, what these read."""
        image = cls._of_file(os.fspath(path))
        image._path = os.path.abspath(path)
        return image

    @classmethod
    def _of_file(cls, path, channels=False):
        whole = cls._read_file(path, channels)
        sides = tuple(whole.array.shape)[-3:]
        if min(sides) == 1:  # such as one slice of a DICOM series
            raise OSError(f"cannot read '{path}': it is a 2-D image ({' x '.join(map(str, sides))} voxels); a volume is needed")
        return whole

    @classmethod
    def _read_file(cls, path, channels):
        if not path.lower().endswith((".nii", ".nii.gz")):
            given = files.read_by_others(path)
            return cls._of_library(given, others.library_of(given), "image", channels)
        array, affine, spacing, space_code, said = files.read_nifti_image(path, channels)
        warn(*said)
        image = cls._of_affine(array, affine, os.path.basename(path), spacing, space_code)
        image._said = tuple(said)
        return image

    @classmethod
    def _of_affine(cls, array, affine, name, spacing=None, space_code=1):
        """The header's own voxel size in place of the columns' lengths where they agree: fewer roundings."""
        image = cls.__new__(cls)
        image.array, image._name = array, name
        lengths = np.sqrt((np.asarray(affine)[:3, :3] ** 2).sum(axis=0))
        spacing = np.asarray(spacing, np.float64)
        agrees = spacing.shape == (3,) and np.allclose(spacing, lengths, rtol=1e-5, atol=0)
        image._placement = Placement(*placement_of(affine, f"the affine of {name}", spacing if agrees else None), space_code)
        return image

    @classmethod
    def of(cls, given, name="image"):
        """An Image of an Image, a path, a nibabel, SimpleITK, ITK, ANTsPy, MONAI or TorchIO image, or an array (voxels of 1 mm)."""
        if isinstance(given, cls):
            _arrays.require_memory(given.array, name)
            return given
        if isinstance(given, (str, os.PathLike)):
            return cls.read(given)
        if isinstance(given, (list, tuple)) and not given:
            raise ValueError(f"{name} is an empty list: give an image, or some")
        library = others.library_of(given)
        if library is not None:
            return cls._of_library(given, library, name)
        made = cls(given, name=name)
        made._bare = True
        return made

    @classmethod
    def _of_library(cls, given, library, name, channels=False):
        if library == "nibabel":
            array, affine, spacing, space_code, said = others.of_nibabel(given, name, channels)
            image = cls._of_affine(array, affine, name, spacing, space_code)
            image._said = tuple(said)
        elif library in ("monai", "torchio"):
            image = cls._of_affine(*others.of_tensor(given, library, name, channels), name)
        else:
            array, spacing, origin, direction = others.of_itk(given, library, name, channels)
            image = cls.__new__(cls)
            image.array, image._name = array, name
            image._placement = Placement(spacing, origin, _orthonormal(direction, name))
        for volume in image.array if channels else [image.array]:
            _arrays.require_volume(volume, name)
        return image

    @property
    def shape(self):
        """Voxels along i, j and k."""
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
        if copy:  # numpy relies on it
            return np.array(self.numpy(), dtype=dtype)
        array = self.numpy()
        made = array if dtype is None else array.astype(dtype, copy=False)
        if copy is False and (made is not array or _arrays.device_of(self.array) != "cpu"):
            raise ValueError("numpy cannot have these voxels without a copy: they are of another type, or lie on a GPU")
        return made

    def to_nibabel(self):
        """nibabel.Nifti1Image of the voxels as they are."""
        return others.to_nibabel(self.numpy(), self.affine_ras, self._placement.space_code)

    def to_sitk(self):
        """SimpleITK.Image; a copy."""
        return others.to_sitk(self.numpy(), self._placement)

    def to_ants(self):
        """ANTsPy's image; a copy, of floats where ANTsPy lacks the type."""
        return others.to_ants(self.numpy(), self._placement)

    def to_monai(self):
        """monai.data.MetaTensor of shape (1, i, j, k); the voxels of a tensor stay where they are."""
        return others.to_monai(self.array, self.affine_ras)

    def to_torchio(self):
        """torchio.ScalarImage; the voxels of a tensor stay where they are."""
        return others.to_torchio(self.array, self.affine_ras)

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

    def _place(self, name="like"):
        """(grid, placement) of what is made on its grid."""
        return self._grid(name), self._placement


def is_list_of_images(given):
    """Whether it is several images, arrays or paths, and not numbers in lists."""
    return (
        isinstance(given, (list, tuple))
        and bool(given)
        and all(
            isinstance(g, (Image, str, os.PathLike)) or hasattr(g, "__array__") or hasattr(g, "__dlpack__") or bool(others.library_of(g))
            for g in given
        )
    )


def numbers_of(placement):
    """What a Placement is made of again."""
    space_code = getattr(placement, "space_code", 1)
    return list(placement.spacing), list(placement.origin_lps), [list(row) for row in placement.direction_lps], space_code


def said_of_bare(things):
    """What there is to warn of where an array without a place meets what has one: [sentence]. Of (name, bare, placement)s."""
    for name, bare, _ in things:
        for other, also_bare, placement in things:
            if bare and not also_bare and not _is_default(placement):
                return [
                    f"{name} is an array without a place and {other} has one: its voxels are taken to be of 1 mm, the first in the"
                    " origin; freeflow.Image(array, affine_ras) says where it lies"
                ]
    return []


def _is_default(placement):
    return (
        list(placement.spacing) == [1, 1, 1]
        and not any(placement.origin_lps)
        and np.array_equal(placement.direction_lps, np.diag([-1, -1, 1]))
    )


def grid_like(array, placement, name):
    return _native.Grid.make([int(n) for n in array.shape], _arrays.memory_axes(array), placement, name)
