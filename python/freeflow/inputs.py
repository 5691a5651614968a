"""What is registered: images, masks and the start, as they were given and as a registration sees them."""

import os
from dataclasses import dataclass

import numpy as np

from . import _arrays, _native, others
from .context import Context
from .image import Image, is_list_of_images, said_of_bare
from .transform import Transform


@dataclass(frozen=True)
class Counted:
    """What alone counts of an image in a pair, as nothing was said of it."""

    part: tuple | None = None  # (begin, end) of the voxels along each axis
    object: np.ndarray | None = None  # flags of the voxels

    def __eq__(self, other):
        return self.part == other.part and np.array_equal(self.object, other.object)


class Side:
    """One of the two images with its channels and its mask, as they came and as the registration sees them. Reads files;
    the work of a registration does not change it."""

    def __init__(self, given, mask, name, background=None, clip=None):
        self.name, self.warnings = name, []
        self.images = _channels(given, name)
        self.bare = self.images[0]._bare
        self.said = [sentence for image in self.images for sentence in image._said]  # of their headers, when they were read
        self.mask_path = None
        paths = [image._path for image in self.images]
        self.paths = paths if all(paths) else None
        self.missing = []
        for c, image in enumerate(self.images):
            array, missing = _arrays.without_infinities(image.array)
            if missing == np.prod(image.shape):
                raise ValueError(f"{self._name_of(c)} has no voxel with a value")
            self.missing.append(missing)
            if missing:
                self.warnings.append(f"{self._name_of(c)}: {missing} of {np.prod(image.shape)} voxels are NaN or infinite and count as outside")
            self.images[c] = Image._placed(array, image._placement, name)
        background, clip = _checked_background(background), _checked_clip(clip)
        for c, image in enumerate(self.images if clip else []):
            if _arrays.leaves_nothing(image.array, clip):
                raise ValueError(f"clip=({clip[0]:g}, {clip[1]:g}) leaves one value of {self._name_of(c)}, all of whose voxels lie to one side of it; give the range of the object")
        paddings = [_arrays.padding(image.array) if background is None else None for image in self.images]
        masked = [n > 0 and background is None and padding is None for n, padding in zip(self.missing, paddings, strict=True)]
        around = [_arrays.masked_background(i.array) if m else None for i, m in zip(self.images, masked, strict=True)]
        whole = [i if where is None else self._filled(i, where) for i, where in zip(self.images, around, strict=True)]
        self._seen = [self._seen_of(*found, background, clip) for found in zip(whole, paddings, strict=True)]
        self.part = _arrays.measured_part(self.images[0].array, paddings[0], around[0] is not None) if background is None else None
        self.background, self.clip, self.masked = background, clip, mask is not None
        self.holds_background = background is not None and any(_arrays.holds(image.array, background) for image in self.images)
        self.mask = self._mask_of(mask, self.images[0], name + "_mask")

    def _name_of(self, channel):
        return self.name if len(self.images) == 1 else f"{self.name}[{channel}]"

    def arrays(self):
        named = {f"{self.name}[{c}]" if c else self.name: image.array for c, image in enumerate(self.images)}
        if self.mask is not None:
            named[self.name + "_mask"] = self.mask.array
        return named

    def seen(self, part=None):
        """The channels as a registration sees them. part: what alone counts."""
        if part is None:
            return self._seen
        return [Image._placed(_arrays.within(i.array, part, self.name), i._placement, self.name) for i in self._seen]

    def mask_of(self, counted):
        """The mask that was given, or the object that alone counts."""
        if counted.object is None:
            return self.mask
        image = self.images[0]
        flags = _arrays.beside(counted.object, image.array)
        if _strided(flags, image.array):  # as cupy brings an array to a GPU
            flags = _arrays.laid_out_as(flags, image.array)
        return Image._placed(flags, image._placement, self.name + "_mask")

    def flags(self, counted):
        """Of the voxels that count: they have a value as a registration sees them, inside the mask. Of numpy."""
        flags = ~np.isnan(self.seen(counted.part)[0].numpy())
        mask = self.mask_of(counted)
        return flags if mask is None else flags & (mask.numpy() > 0.5)

    def number(self, counted):
        """Of the voxels that count; None: all do."""
        mask, whole = self.mask_of(counted), self.seen(counted.part)[0] is self.images[0] and not self.missing[0]
        if whole:
            return None if mask is None else int((mask.array > 0.5).sum())
        return int(self.flags(counted).sum())

    def prepared(self, context, counted):
        """For registrations on that context: the compiled part's, which keeps what a registration makes of it."""
        channels = [image._volume(context, self.name) for image in self.seen(counted.part)]
        mask = self.mask_of(counted)
        mask = None if mask is None else mask._volume(context)
        return _native.PreparedImage.make(context._native, channels, mask, self.name)

    def _filled(self, image, around):
        self.warnings.append(
            f"{self.name} has NaN around its object, which counts as its background; background=nan says that it was not measured"
        )
        return Image._placed(_arrays.filled(image.array, around), image._placement, self.name)

    def _seen_of(self, image, padding, background, clip):
        if padding is not None:
            background = padding
            self.warnings.append(
                f"{self.name} is padded with {np.format_float_positional(np.float32(background), trim='-')}, which counts as not measured; background names another value"
            )
        if background is None and clip is None:
            return image
        return Image._placed(_arrays.as_seen(image.array, background, clip, self.name), image._placement, self.name)

    def _mask_of(self, mask, image, name):
        if mask is None:
            return None
        if not isinstance(mask, (Image, str, os.PathLike)) and others.library_of(mask) is None:
            mask = _arrays.recognised(mask, name)
            _arrays.require_volume(mask, name)
            if tuple(mask.shape) != image.shape:
                raise ValueError(f"{name} has the shape {tuple(mask.shape)}, and its image {image.shape}")
            mask = Image._placed(mask, image._placement, name)  # a bare array lies on its image's grid
        mask = Image.of(mask, name)
        self.mask_path, self.said = mask._path, [*self.said, *mask._said]
        if not mask._grid(name).covers(image._grid(name)):
            if _arrays.device_of(mask.array) != "cpu":
                raise ValueError(f"{name} lies on another grid than its image: resample it first (Transform.identity().apply)")
            mask = Transform.identity().apply(
                Image._placed(mask.numpy().astype(np.float32), mask._placement),
                Image._placed(image.numpy(), image._placement),
                interpolation="nearest",
            )
            self.warnings.append(f"{name} lies on another grid than its image and was resampled to it")
        array, missing = _arrays.without_infinities(mask.array)
        if missing:
            self.warnings.append(f"{name}: {missing} of {np.prod(mask.shape)} voxels are NaN or infinite and count as outside")
        if not bool((array > 0.5).any()):
            raise ValueError(f"{name} has no voxel above 0.5 inside its image")
        if _strided(array, image.array):
            array = _arrays.laid_out_as(array, image.array)
        return Image._placed(array, image._placement, name)


class Inputs:
    """The two images of a registration. What was read for another one may be given again."""

    def __init__(self, fixed, moving):
        self._fixed, self._moving = fixed, moving
        if len(fixed.images) != len(moving.images):
            raise ValueError(
                f"fixed has {len(fixed.images)} channels and moving {len(moving.images)}; each is compared with the one of its place"
            )
        places = [(side.name, side.bare, side.images[0]._placement) for side in (fixed, moving)]
        self.said, self.warnings = fixed.said + moving.said, fixed.warnings + moving.warnings + said_of_bare(places)
        self._compare_sizes()
        self._compare_clips()
        if fixed.background is not None and not (fixed.holds_background or moving.holds_background):
            self.warnings.append(f"background={fixed.background:g} is the value of no voxel")
        self._counted = {"fixed": Counted(), "moving": Counted()}
        if not (fixed.part and moving.part) or fixed.part[1] or moving.part[1]:
            for side in (fixed, moving):
                if side.part and not side.masked:
                    self._leave_unmeasured_out(side, side.part[0])

    def _compare_sizes(self):
        """As apps/image_sizes.h."""
        fixed, moving = (float(max(np.multiply(i.shape, i.spacing_mm))) for i in (self.fixed[0], self.moving[0]))
        if not 1 / 8 < fixed / moving < 8:
            self.warnings.append(f"fixed is {fixed:.3g} mm long and moving {moving:.3g}: are the lengths of one in another unit?")

    def _compare_clips(self):
        """As apps/images.cpp: CT whose numbers begin at 0, or another modality, beside CT. How much lies below says nothing: that is air."""
        if self._fixed.clip is None:
            return
        low, high = self._fixed.clip
        for c, pair in enumerate(zip(self.fixed, self.moving, strict=True)):
            shares = [_arrays.share_above(image.array, high) for image in pair]
            if abs(shares[0] - shares[1]) > 0.3:
                names = (self._fixed._name_of(c), self._moving._name_of(c))
                cut = " and ".join(f"{100 * share:.0f} % of {name}" for share, name in zip(shares, names, strict=True))
                self.warnings.append(f"clip=({low:g}, {high:g}) cuts {cut} at its upper end: are their numbers in one unit?")

    def _leave_unmeasured_out(self, side, part):
        """As apps/images.cpp: nothing was measured around a field of view, nor beyond a plane in which one image alone ends."""
        self._counted[side.name] = Counted(part)
        grid = zip(part, side.images[0].shape, "xyz", strict=True)
        words = ", ".join(f"{begin} to {end - 1} of {n} along {axis}" for (begin, end), n, axis in grid if (begin, end) != (0, n))
        self.warnings.append(
            f"{side.name} ends in a plane within its grid: only its voxels {words} count as measured; {side.name}_mask says otherwise"
        )

    def leave_stripped_out(self, context):
        """As apps/stripped_images.cpp: beside an image that shows more an object counts without the background that it was given."""
        if self._fixed.background is not None or self._fixed.masked or self._moving.masked:
            return
        seen = {name: side.seen(self.counted(name).part)[0] for name, side in self.sides.items()}
        volume = {name: _arrays.content(image.array) * np.prod(image.spacing_mm) for name, image in seen.items()}
        smaller, larger = sorted(volume, key=volume.get)
        if not volume[larger] > _native.stripped_volume_ratio * volume[smaller]:
            return
        cpu = Context("cpu", threads=context.threads)
        volumes = (Image._placed(seen[n].numpy(), seen[n]._placement)._volume(cpu) for n in (smaller, larger))
        found = _native.stripped_object(context._native, *volumes)
        if found is None:
            return
        self._counted[smaller] = Counted(self.counted(smaller).part, found)
        self.warnings.append(
            f"{smaller} shows an object without what surrounds it in {larger} (a brain without its skull?), so its background"
            f" does not count; {smaller}_mask says otherwise"
        )

    def counted(self, name):
        """Of a side, what alone counts of it in this pair (Counted)."""
        return self._counted[name]

    def seen(self, name):
        """The first channel of a side as a registration sees it: without padding, clipped."""
        return self.sides[name].seen(self.counted(name).part)[0]

    def counts(self, name):
        """Flags of a side's voxels that count: of those inside the mask what was measured (Image); None: all do."""
        side, image = self.sides[name], self.sides[name].images[0]
        if self.seen(name) is image:
            return side.mask_of(self.counted(name))
        flags = side.flags(self.counted(name))
        if _strided(flags, image.array):
            flags = _arrays.laid_out_as(flags, image.array)
        return Image._placed(flags, image._placement, name + "_mask")

    sides = property(lambda self: {"fixed": self._fixed, "moving": self._moving})
    fixed = property(lambda self: self._fixed.images)
    moving = property(lambda self: self._moving.images)
    fixed_mask = property(lambda self: self._fixed.mask_of(self.counted("fixed")))
    moving_mask = property(lambda self: self._moving.mask_of(self.counted("moving")))

    @property
    def paths(self):
        images = {name: side.paths for name, side in self.sides.items() if side.paths}
        return images | {f"{name}_mask": side.mask_path for name, side in self.sides.items() if side.mask_path}

    @property
    def options(self):
        """How the images were seen, in the programs' words."""
        side, found = self._fixed, {}
        if side.background is not None:
            found["background"] = np.format_float_positional(side.background, trim="-")
        if side.clip is not None:
            found["clip"] = ",".join(np.format_float_positional(value, trim="-") for value in side.clip)
        return found

    def arrays(self):
        return {**self._fixed.arrays(), **self._moving.arrays()}


def _channels(given, name):
    if is_list_of_images(given):
        images = [Image.of(g, f"{name}[{c}]" if len(given) > 1 else name) for c, g in enumerate(given)]
    else:
        images = [Image.of(given, name)]
    for c, image in enumerate(images[1:], 1):
        if not image._grid(name).covers(images[0]._grid(name)):
            raise ValueError(f"{name}[{c}] lies on another grid than {name}[0], another channel of the same image; resample it first")
        array = image.array
        if _strided(array, images[0].array):
            array = _arrays.laid_out_as(array, images[0].array)
        images[c] = Image._placed(array, images[0]._placement, name)
        images[c]._path, images[c]._said = image._path, image._said
    return images


def _strided(array, like):
    """Whether the axes follow each other otherwise in memory."""
    return _arrays.memory_axes(array) != _arrays.memory_axes(like)


def _checked_background(background):
    if background is None:
        return None
    try:
        return np.float32(float(background))
    except (TypeError, ValueError) as error:
        raise TypeError(f"background must be a number, and is {background!r}") from error


def _checked_clip(clip):
    if clip is None:
        return None
    try:
        low, high = (float(x) for x in clip)
    except (TypeError, ValueError) as error:
        raise TypeError("clip must be two numbers, (low, high)") from error
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(f"clip must be (low, high) with low < high, and is {clip}")
    return np.float32(low), np.float32(high)


def start_of(init, inputs, context):
    """(rows of the affine in LPS, field or None)"""
    affine = np.eye(4)
    if isinstance(init, Transform):
        parts = init._native.parts()
        if len(parts) == 1:
            return parts[0], None
        if len(parts) > 3 or not np.array_equal(parts[0], np.eye(4)):
            raise ValueError("init must be an affine, or a displacement field followed by an affine")
        if init.device != context.device:
            raise ValueError(f"init lies on {init.device}, and the work runs on {context.device}: read it with that context")
        return parts[2], parts[1]
    if not isinstance(init, str):
        raise TypeError(f"init must be 'identity', 'center', 'moments' or a freeflow.Transform, and is a {type(init).__name__}")
    if init == "center":
        affine[:3, 3] = middle(inputs.moving[0]) - middle(inputs.fixed[0])
    elif init == "moments":
        fixed, moving = inputs.seen("fixed"), inputs.seen("moving")
        affine[:3, 3] = _center_of_mass(moving, inputs.moving_mask) - _center_of_mass(fixed, inputs.fixed_mask)
    elif init != "identity":
        raise ValueError(f"init {init!r} is not one of 'identity', 'center', 'moments'; files: freeflow.Transform.read(...)")
    return affine.tolist(), None


def said_of_rotation(start, found):
    """As the programs say it: mirrored data match best turned."""
    u, _, v = np.linalg.svd(found[:3, :3] @ np.linalg.inv(start[:3, :3]))
    degrees = np.degrees(np.arccos(np.clip((np.trace(u @ v) - 1) / 2, -1, 1)))
    if degrees <= 90:
        return []
    return [f"the images match best turned by {degrees:.0f} degrees: does one lie mirrored, or say wrongly where left and up are?"]


def _world(image, index):
    direction = np.array(image._placement.direction_lps) * np.array(image._placement.spacing)
    return direction @ np.asarray(index, float) + image._placement.origin_lps


def middle(image):
    return _world(image, [0.5 * (n - 1) for n in image.shape])


def _center_of_mass(image, mask):
    voxels = image.numpy().astype(np.float64)
    counts = np.isfinite(voxels)
    if mask is not None:
        counts &= mask.numpy() > 0.5
    weights = np.where(counts, voxels - np.min(voxels, where=counts, initial=np.inf), 0)
    mass = weights.sum()
    if not mass > 0:
        return middle(image)
    sums = [(weights.sum(axis=tuple(b for b in range(3) if b != a)) * np.arange(n)).sum() for a, n in enumerate(image.shape)]
    return _world(image, np.array(sums) / mass)
