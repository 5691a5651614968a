"""What is registered: images, masks and the start, as they were given and as a registration sees them."""

import os

import numpy as np

from . import _arrays
from .image import Image
from .transform import Transform


class Inputs:
    """What is registered: images as they came, and as the registration sees them."""

    def __init__(self, fixed, moving, fixed_mask, moving_mask, background, clip):
        self.warnings = []
        self.fixed = _channels(fixed, "fixed")
        self.moving = _channels(moving, "moving")
        if len(self.fixed) != len(self.moving):
            raise ValueError(
                f"fixed has {len(self.fixed)} channels and moving {len(self.moving)}; each is compared with the one of its place"
            )
        named = {"fixed": [image._path for image in self.fixed], "moving": [image._path for image in self.moving]}
        self.paths = {side: paths for side, paths in named.items() if all(paths)}
        self.missing = {}
        for side, name in ((self.fixed, "fixed"), (self.moving, "moving")):
            for c, image in enumerate(side):
                array, self.missing[name, c] = _arrays.without_infinities(image.array)
                if self.missing[name, c] == np.prod(image.shape):
                    raise ValueError(f"{name} has no voxel with a value")
                side[c] = Image._placed(array, image._placement, name)
        clip = _checked_clip(clip)
        self._seen_fixed = [self._seen(i, "fixed", background, clip) for i in self.fixed]
        self._seen_moving = [self._seen(i, "moving", background, clip) for i in self.moving]
        self.fixed_mask = self._mask(fixed_mask, self.fixed[0], "fixed_mask")
        self.moving_mask = self._mask(moving_mask, self.moving[0], "moving_mask")

    def arrays(self):
        named = {"fixed": self.fixed[0].array, "moving": self.moving[0].array}
        for name in ("fixed", "moving"):
            for c, image in enumerate(getattr(self, name)):
                if c:
                    named[f"{name}[{c}]"] = image.array
            mask = getattr(self, name + "_mask")
            if mask is not None:
                named[name + "_mask"] = mask.array
        return named

    def volumes(self, context):
        channels = [
            [image._volume(context, name) for image in side] for side, name in ((self._seen_fixed, "fixed"), (self._seen_moving, "moving"))
        ]
        masks = [None if mask is None else mask._volume(context) for mask in (self.fixed_mask, self.moving_mask)]
        return (*channels, *masks)

    def _seen(self, image, name, background, clip):
        if _arrays.device_of(image.array) != "cpu":
            if background is not None or clip is not None:
                raise ValueError(
                    f"background and clip are of images in host memory, and {name} lies on a GPU: "
                    "set its voxels to NaN, or clamp them, there"
                )
            return image
        voxels = image.numpy()
        value = background
        if value is None:
            value = find_padding(voxels)
            if value is not None:
                self.warnings.append(f"{name} is padded with {value:.0f}, which counts as not measured; background names another value")
        if value is None and clip is None:
            return image
        seen = voxels.astype(np.float32, order="K", copy=True)
        if clip is not None:
            np.clip(seen, *clip, out=seen)
        if value is not None:
            seen[voxels == np.float32(value)] = np.nan
        return Image._placed(seen, image._placement, name)

    def _mask(self, mask, image, name):
        if mask is None:
            return None
        if not isinstance(mask, (Image, str, os.PathLike)) and _arrays.library_of(mask):
            _arrays.require_volume(mask, name)
            if tuple(mask.shape) != image.shape:
                raise ValueError(f"{name} has the shape {tuple(mask.shape)}, and its image {image.shape}")
            mask = Image._placed(mask, image._placement, name)  # a bare array lies on its image's grid
        mask = Image.of(mask, name)
        if not mask._grid(name).covers(image._grid(name)):
            if _arrays.device_of(mask.array) != "cpu":
                raise ValueError(f"{name} lies on another grid than its image: resample it first (Transform.identity().apply)")
            mask = Transform.identity().apply(
                Image._placed(mask.numpy().astype(np.float32), mask._placement),
                Image._placed(image.numpy(), image._placement),
                interpolation="nearest",
            )
            self.warnings.append(f"{name} lies on another grid than its image and was resampled to it")
        if not bool((mask.array > 0.5).any()):
            raise ValueError(f"{name} has no voxel above 0.5 inside its image")
        array = mask.array
        if _strided(array, image.array):
            array = _as_laid_out(array, image.array)
        return Image._placed(array, image._placement, name)


def _channels(given, name):
    if (
        isinstance(given, (list, tuple))
        and given
        and all(
            isinstance(g, (Image, str, os.PathLike)) or hasattr(g, "__array__") or hasattr(g, "__dlpack__") or hasattr(g, "GetSpacing")
            for g in given
        )
    ):
        images = [Image.of(g, f"{name}[{c}]" if len(given) > 1 else name) for c, g in enumerate(given)]
    else:
        images = [Image.of(given, name)]
    for c, image in enumerate(images[1:], 1):
        if not image._grid(name).covers(images[0]._grid(name)):
            raise ValueError(f"{name}[{c}] lies on another grid than {name}[0], another channel of the same image; resample it first")
        array = image.array
        if _strided(array, images[0].array):
            array = _as_laid_out(array, images[0].array)
        images[c] = Image._placed(array, images[0]._placement, name)
    return images


def _order(array):
    strides = array.stride() if _arrays.library_of(array) == "torch" else array.strides
    return sorted(range(3), key=lambda a: (abs(strides[a]) if array.shape[a] > 1 else 0, -a))


def _strided(array, like):
    """Whether the axes follow each other otherwise in memory."""
    return _order(array) != _order(like)


def _as_laid_out(array, like):
    order = _order(like)[::-1]
    back = [order.index(a) for a in range(3)]
    if _arrays.library_of(array) == "torch":
        return array.permute(order).contiguous().permute(back)
    return array.transpose(order).copy(order="C").transpose(back)


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


def find_padding(voxels):
    """What apps/intensities.h says of CT's padding."""
    if voxels.dtype == bool or voxels.dtype.kind == "u":
        return None
    least = np.float32(_arrays.smallest(voxels))
    if not least < -1500:
        return None
    others = voxels[voxels > least]
    share = np.count_nonzero(voxels == least) / voxels.size
    alone = others.size > 0 and np.float32(others.min()) - least >= 400
    return float(least) if alone and share >= 1e-3 else None


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
        affine[:3, 3] = _center_of_mass(inputs.moving[0], inputs.moving_mask) - _center_of_mass(inputs.fixed[0], inputs.fixed_mask)
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
    weights = np.where(counts, voxels - voxels[counts].min(), 0)
    mass = weights.sum()
    if not mass > 0:
        return middle(image)
    sums = [(weights.sum(axis=tuple(b for b in range(3) if b != a)) * np.arange(n)).sum() for a, n in enumerate(image.shape)]
    return _world(image, np.array(sums) / mass)
