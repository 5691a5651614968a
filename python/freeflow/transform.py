"""Transforms: where points of the fixed image's space lie in the moving image's."""

import os
import re

import numpy as np

from . import _arrays, _native, files
from ._labels import is_labels, label_of, named, number, numbered
from ._speaking import warn
from .context import Context, context_for
from .image import Image, Placement, flipped, is_list_of_images, numbers_of, said_of_bare
from .spaces import said_of_another_space, said_of_bids_names, said_of_nothing, said_of_order, said_of_points_beyond


def _rows(matrix):
    return [[float(x) for x in row] for row in matrix]


def _lps(matrix_ras, name):
    try:
        matrix = np.array(matrix_ras, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} is no 4x4 matrix of numbers: {error}") from error
    if matrix.shape != (4, 4):
        raise ValueError(f"{name} must be a 4x4 matrix in millimetres, and its shape is {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError(f"{name} has numbers that are not finite")
    return flipped(matrix)


class Transform:
    """A chain of affines and displacement fields that maps points of the fixed image's space to points of the moving
    image's, in world millimetres. Images and labels are pulled back through it, from the moving grid to the fixed one;
    points go forward.

    Made by register(), Transform.read(), Transform.affine() and Transform.field(). `a @ b` applies b first, then a, as
    with matrices.
    """

    __array_ufunc__ = None  # numpy shall not take `transform @ matrix` for a product of its own

    def __init__(self, native, inverse=None, steps=None, grids=(None, None)):
        self._native = native
        self._inverse = inverse  # what gives the registration's own, where there is one
        self._steps = steps or [(native, False)]  # of points: (transform, whether it is undone, that is solved for)
        self._grids = grids  # (grid, placement) of the images whose spaces it starts and ends in, where they are known

    @classmethod
    def affine(cls, matrix_ras, *, context=None):
        """Of a 4x4 matrix that maps fixed points to moving points, millimetres, RAS."""
        context = context or Context("cpu")
        return cls(_native.Transform.of_affine(context._native, _rows(_lps(matrix_ras, "matrix_ras"))))

    @classmethod
    def identity(cls):
        """x -> x: apply() then resamples alone."""
        return cls.affine(np.eye(4))

    @classmethod
    def field(cls, displacement_ras, affine_ras, *, context=None):
        """Of displacements: array of shape (i, j, k, 3), millimetres along right, front and top, added to a point of the
        fixed space; affine_ras says where the voxels lie. Zero beyond the grid. Copied."""
        displacement = _arrays.to_numpy(_arrays.recognised(displacement_ras, "displacement_ras"))
        if displacement.ndim != 4 or displacement.shape[3] != 3:
            raise ValueError(f"displacement_ras must be of shape (i, j, k, 3), and its shape is {displacement.shape}")
        grid = Image(np.broadcast_to(np.float32(0), displacement.shape[:3]), affine_ras)
        planes = np.ascontiguousarray((displacement * [-1, -1, 1]).astype(np.float32).transpose(3, 2, 1, 0))
        return cls._of_planes(planes, grid._placement, context or Context("cpu"), "displacement_ras")

    @classmethod
    def _of_planes(cls, planes, placement, context, name):
        shape = [int(n) for n in planes.shape[:0:-1]]
        grid = _native.Grid.make(shape, [0, 1, 2], placement, name)
        field = _native.Field.of_mm_lps(context._native, planes, grid, name)
        return cls(_native.Transform.of_field(field, _rows(np.eye(4))), grids=((grid, placement), None))

    @classmethod
    def read(cls, *paths, context=None):
        """Of ITK's files, as ANTs and the programs write them: a displacement field (.nii, .nii.gz), an affine (.mat,
        .txt, .tfm), or several, listed as antsApplyTransforms lists them (points go through the first one first):
        Transform.read("1Warp.nii.gz", "0GenericAffine.mat"). Other formats: `regtool convert`, composites with a field `regtool compose`."""
        if not paths:
            raise TypeError("Transform.read takes at least one path")
        context = context or Context("cpu")
        if isinstance(paths[0], (list, tuple)):
            raise TypeError("Transform.read takes each path by itself: Transform.read(*paths)")
        for one, following in zip(paths, paths[1:]):
            _require_order(os.fspath(one), os.fspath(following))
            warn(*said_of_bids_names(os.fspath(one), os.fspath(following)))
        whole = cls._read_one(os.fspath(paths[0]), context)
        for path in paths[1:]:
            whole = whole._then(cls._read_one(os.fspath(path), context))
        return whole

    @classmethod
    def _read_one(cls, path, context):
        if path.lower().endswith((".mat", ".txt", ".tfm")):
            return cls(_native.Transform.of_affine(context._native, _rows(files.read_itk_affine(path))))
        if not path.lower().endswith((".nii", ".nii.gz")):
            raise ValueError(
                f"'{path}': transforms are read from .nii, .nii.gz, .mat, .txt and .tfm; `regtool convert` makes them of others, and"
                " `regtool compose` one field of a composite"
            )
        planes, affine, spacing, space_code, said = files.read_nifti_field(path)
        warn(*said)
        where = Image._of_affine(np.broadcast_to(np.float32(0), planes.shape[:0:-1]), affine, os.path.basename(path), spacing, space_code)
        return cls._of_planes(planes, where._placement, context, f"'{path}'")

    def _then(self, other):
        native, steps = self._native.then(other._native), self._steps + other._steps
        solved = any(undone for _, undone in steps)
        return Transform(native, steps=steps if solved else None, grids=(self._grids[0], other._grids[1]))

    def __matmul__(self, other):
        if not isinstance(other, Transform):
            return NotImplemented
        if self._context.device != other._context.device and not (self.is_affine or other.is_affine):
            raise ValueError(
                f"one transform lies on {self._context.device}, the other on {other._context.device}: bring them to one device"
            )
        warn(*said_of_order(self._grids, other._grids))
        return other._then(self)

    @property
    def _context(self):
        made = Context.__new__(Context)
        made._native = self._native.context
        return made

    @property
    def device(self):
        """Where its fields lie: "cpu" or "cuda:0"."""
        return self._native.context.device

    @property
    def is_affine(self):
        """Whether there is no field in it."""
        return self._native.is_affine

    @property
    def affine_ras(self):
        """4x4: the transform without its fields, fixed point to moving point, millimetres, RAS."""
        return flipped(np.array(self._native.affine_part_lps))

    def inverse(self):
        """Moving points to fixed points; fields are inverted on grids that hold all they lead to. What a registration found has its
        own inverse, which is computed when it is first asked for."""
        there = self._native
        back = self._inverse() if self._inverse else there.inverse()
        steps = [(step, not undone) for step, undone in reversed(self._steps)]
        return Transform(back, lambda: there, steps, self._grids[::-1])

    def _placed(self, image, name):
        """The transform where the image is: affines go anywhere."""
        if self.is_affine:
            context = context_for({name: image.array}, None, "auto", 0)
            if context.device != self.device:
                return Transform(_native.Transform.of_affine(context._native, self._native.affine_part_lps), grids=self._grids)
        return self

    def _like(self, like, image, name="like"):
        """(grid, placement) to sample on, of the space that the transform starts in."""
        if like is not None:
            return Image.of(like, name)._place(name)
        if self._grids[0] is not None:
            return self._grids[0]
        if self.is_affine:
            if image is None:
                raise ValueError(f"{name} is missing: an affine has no grid of its own, so name an image that has the one you want")
            return image._place(name)
        if not np.array_equal(self._native.parts()[0], np.eye(4)):
            raise ValueError(
                f"{name} is missing: the transform's field follows an affine, so its grid is not of the space that the transform starts"
                " in; name an image of that space (of an inverse like=moving)"
            )
        grid = self._native.grid
        return grid, Placement(*numbers_of(grid.placement))

    def _image_of_grid(self, like):
        """What was named for `like`, if something was, after what there is to say of its space."""
        if like is None:
            return None
        like = Image.of(like, "like")
        warn(*said_of_another_space(self._native, like._grid()))
        return like

    def _grid_alone(self, like):
        """The same where no image is carried along."""
        like = self._image_of_grid(like)
        self._warn_of_bare(None, like)
        return like

    def _warn_of_bare(self, image, like):
        placed = [(name, i._bare, i._placement) for name, i in (("image", image), ("like", like)) if i is not None]
        own = self._grids[0][1] if self._grids[0] else self._native.grid and self._native.grid.placement
        warn(*said_of_bare([*placed, ("the transform", False, own)] if own else placed))

    def apply(self, image, like=None, *, interpolation=None, fill=0.0):
        """The image, of the moving space, on the grid of `like` (an Image, path, array ...; without it the fixed image's of a
        registration, of its inverse the moving image's; else the grid of the transform's first field where no affine
        precedes it; for an affine the image's own): result(x) = image(transform(x)), in one resampling. Of a list of
        images, such as a series that Image.channels takes apart, a list.

        interpolation: "linear" (floats unless told otherwise), "cubic" or "nearest". Integers and bools are labels unless
            told "linear" or "cubic", which give float32: labels are never mixed and keep their type, by "nearest" or by
            "vote", the label with the largest share.
        fill: of voxels that fall outside, or nearest to one without a value (NaN or infinite); "min": the image's smallest
            value, as CT wants it.
        """
        like = self._image_of_grid(like)
        if not is_list_of_images(image):
            return self._sampled(Image.of(image, "image"), like, interpolation, fill)
        volumes = [Image.of(given, f"image[{c}]") for c, given in enumerate(image)]
        return [self._sampled(volume, like, interpolation, fill) for volume in volumes]

    def _sampled(self, image, like, interpolation, fill):
        self._warn_of_bare(image, like)
        array, _ = _arrays.without_infinities(image.array)
        if array is not image.array:
            warn("image has infinite voxels, which count as outside")
            image = Image._placed(array, image._placement, "image")
        if not isinstance(interpolation, str | None):
            raise ValueError(f"interpolation must be a word, 'linear', 'cubic', 'nearest' or 'vote', and is {interpolation!r}")
        whole = is_labels(image.array)
        by = interpolation or ("nearest" if whole else "linear")
        if whole and by not in ("linear", "cubic"):
            if interpolation is None and _arrays.looks_like_an_image(image.array):
                warn(
                    "image holds integers that do not look like labels, and is carried as labels are, by the nearest voxel; name the"
                    " interpolation ('linear'), and the fill where 0 is not what lies outside"
                )
            return self._apply_labels(image, like, {"labels": "vote"}.get(by, by), label_of(fill, image.array))
        if by in ("vote", "labels"):
            raise ValueError(f"interpolation {by!r} is of labels, and image holds {image.array.dtype}: give it as integers")
        if interpolation is None and _arrays.looks_like_labels(image.array):
            warn(
                f"image looks like labels, which {by} interpolation mixes into others; give it as integers, or name the interpolation"
            )
        placed = self._placed(image, "image")
        grid, placement = placed._like(like, image)
        value = _arrays.smallest(image.array) if fill == "min" else number(fill)
        volume = placed._native.apply(image._volume(placed._context, "image"), grid, by, value)
        made = Image._placed(_arrays.from_native(volume, image.array), placement)
        warn(*said_of_nothing(image, made, value))
        return made

    def _apply_labels(self, image, like, interpolation, fill):
        placed = self._placed(image, "image")
        grid, placement = placed._like(like, image)
        numbers, values, outside = numbered(image.array, fill)
        labels = _arrays.to_native(numbers, image._placement, placed._context, "image", labels=True)
        volume = placed._native.apply_labels(labels, grid, interpolation, outside)
        array = _arrays.from_native(volume, image.array)
        made = Image._placed(named(array, values, image.array), placement)
        warn(*said_of_nothing(image, made, fill))
        return made

    def points(self, xyz, *, frame="ras"):
        """Where points of the fixed space lie in the moving space: array of shape (n, 3) or (3,), world millimetres, in
        double. frame: "ras" or "lps", of both. Of an inverse(), in a chain as well, moving points come to the fixed space: each is
        solved for in double, to a micrometre; a warning says how many have none, where tissue folds or the field ends, and by how much
        they miss."""
        points = np.asarray(_arrays.to_numpy(_arrays.recognised(xyz, "xyz")), dtype=np.float64)
        if points.ndim not in (1, 2) or points.shape[-1] != 3:
            raise ValueError(f"xyz must be of shape (n, 3), and its shape is {points.shape}")
        if not np.isfinite(points).all():
            raise ValueError("xyz has numbers that are not finite")
        if frame not in ("ras", "lps"):
            raise ValueError(f"frame {frame!r} is not one of 'ras', 'lps'")
        sign = np.array([-1.0, -1.0, 1.0]) if frame == "ras" else np.ones(3)
        mapped = np.ascontiguousarray(points.reshape(-1, 3) * sign)
        for step, undone in self._steps:
            of_start = mapped
            mapped = self._solved(step, mapped) if undone else step.map(mapped)
            warn(*said_of_points_beyond(step, mapped if undone else of_start))
        return (mapped * sign).reshape(points.shape)

    @staticmethod
    def _solved(undone, points_lps):
        mapped, farthest, unsolved = undone.map_back(points_lps)
        if unsolved:
            warn(
                f"no point was found that the transform takes to {unsolved} of {len(points_lps)} points, where it folds or its field ends; they miss by up to"
                f" {farthest:.3g} mm"
            )
        return mapped

    def jacobian(self, like=None, *, log=False):
        """An Image of det(d transform / dx), affines included; log: its logarithm, NaN where that is not positive."""
        image = self._grid_alone(like)
        grid, placement = self._like(image, image)
        volume = self._native.jacobian(grid, bool(log))
        return Image._placed(volume.numpy() if image is None else _arrays.from_native(volume, image.array), placement)

    def displacement(self, like=None, *, frame="ras"):
        """All of it as displacements on a grid: transform(x) = x + u(x). numpy, (i, j, k, 3), float32, millimetres along
        right, front and top (frame="lps": left, posterior, superior)."""
        if frame not in ("ras", "lps"):
            raise ValueError(f"frame {frame!r} is not one of 'ras', 'lps'")
        image = self._grid_alone(like)
        grid, _ = self._like(image, image)
        planes = _in_array_order(self._native.composed(grid).planes_mm_lps(), grid.axes)
        mm = planes.transpose(1, 2, 3, 0)
        return mm * np.array([-1, -1, 1], np.float32) if frame == "ras" else mm

    def numpy(self):
        """displacement() on the grid that apply() takes of itself."""
        return self.displacement()

    def __dlpack__(self, **keywords):
        return self._only_field().dlpack().__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self._only_field().dlpack().__dlpack_device__()

    def _only_field(self):
        """In place, without a copy: shape (3, slowest, ..., fastest axis of memory), components in voxels along the axes
        of memory, the fastest first. Who writes to it changes the transform."""
        parts = self._native.parts()
        if len(parts) != 3:
            raise ValueError(f"the transform has {len(parts) // 2} fields; DLPack shows the one of a transform that has one")
        return parts[1]

    def write(self, path, *, like=None):
        """An affine to .mat, .txt or .tfm (ITK's); anything to a displacement field, .nii or .nii.gz, all of it composed
        on the grid of `like`, or of itself as apply(). What a registration found is two files: Registration.save."""
        path = os.fspath(path)
        if path.lower().endswith((".mat", ".txt", ".tfm")):
            if not self.is_affine:
                raise ValueError(f"'{path}' holds an affine, and the transform has a field: write .nii.gz, or Registration.save()")
            return files.write_itk_affine(path, np.array(self._native.affine_part_lps), np.zeros(3))
        if not path.lower().endswith((".nii", ".nii.gz")):
            raise ValueError(f"'{path}': transforms are written to .nii, .nii.gz, .mat, .txt and .tfm; `regtool convert` makes others")
        grid, placement = self._like(self._grid_alone(like), None)
        write_field(path, self._native.composed(grid), placement)

    def __getstate__(self):
        """Fields bit for bit, and a registration's own inverse, which is computed for it. Back on the CPU."""
        inverse = self._inverse() if self._inverse else None
        natives = list(dict.fromkeys([self._native, inverse, *(step for step, _ in self._steps)]))  # each kept once
        kept = [None if native is None else [_kept(part) for part in native.parts()] for native in natives]
        steps = [(natives.index(step), undone) for step, undone in self._steps]
        grids = [place and _kept_grid(*place) for place in self._grids]
        return kept, natives.index(inverse), steps, grids, self._native.context.threads

    def __setstate__(self, state):
        kept, own_inverse, steps, grids, *threads = state  # none in pickles of 0.1.0
        context = Context("cpu", threads=threads[0] if threads else 0)._native
        natives = [None if of_one is None else _restored(of_one, context) for of_one in kept]
        self._native, inverse = natives[0], natives[own_inverse]
        self._inverse = None if inverse is None else lambda: inverse
        self._steps = [(natives[step], undone) for step, undone in steps]
        self._grids = tuple(kept and (_restored_grid(kept, "the image"), Placement(*kept[2])) for kept in grids)

    def __repr__(self):
        fields = len(self._native.parts()) // 2
        return f"<freeflow.Transform {'affine' if not fields else f'{fields} field' + 's' * (fields > 1)} on {self.device}>"


def _kept(part):
    """An affine's rows, or a field in numbers that pickle knows."""
    if isinstance(part, list):
        return part
    return part.planes_in_voxels(), _kept_grid(part.grid, part.grid.placement)


def _kept_grid(grid, placement):
    return list(grid.shape), list(grid.axes), numbers_of(placement)


def _restored_grid(kept, name):
    shape, axes, place = kept
    return _native.Grid.make(shape, axes, Placement(*place), name)


def _restored(parts, context):
    whole = _native.Transform.of_affine(context, parts[0])
    for (planes, kept), affine in zip(parts[1::2], parts[2::2]):
        field = _native.Field.of_voxels(context, planes, _restored_grid(kept, "the field"), "the field")
        whole = whole.then(_native.Transform.of_field(field, affine))
    return whole


def _in_array_order(planes, axes):
    """(3, slowest, ..., fastest) as (3, i, j, k), without a copy."""
    where = [0, 0, 0]
    for memory, axis in enumerate(axes):
        where[axis] = 3 - memory
    return planes.transpose(0, *where)


def write_field(path, field, placement):
    """placement: the field's own, with its space code."""
    planes = _in_array_order(field.planes_mm_lps(), field.grid.axes)
    files.write_nifti_field(path, planes.transpose(0, 3, 2, 1), placement)


_NOWHERE = (("0GenericAffine", "1Warp"), ("0GenericAffine", "1InverseWarp"), ("1InverseWarp", "0GenericAffine"))


def _require_order(one, following):
    """As regtool's chains: files of one registration, listed the other way round, lead nowhere."""
    first, second = (re.fullmatch(r"(.*?)(0GenericAffine|1Warp|1InverseWarp)\.(?:mat|txt|tfm|nii|nii\.gz)", path) for path in (one, following))
    if first and second and first[1] == second[1] and (first[2], second[2]) in _NOWHERE:
        warp, inverse, affine = (repr(first[1] + name) for name in ("1Warp.nii.gz", "1InverseWarp.nii.gz", "0GenericAffine.mat"))
        raise ValueError(
            f"'{one}' before '{following}' leads nowhere: from the fixed space to the moving one it is Transform.read({warp}, {affine}),"
            f" and back Transform.read({inverse}) @ Transform.read({affine}).inverse()"
        )
