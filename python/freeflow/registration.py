"""Registrations."""
import json
import os
import time
import warnings

import numpy as np

from . import _arrays, _native, files, outputs
from ._native import RegistrationError
from .context import Context, context_for
from .image import Image
from .progress import callback_of
from .transform import Transform, write_field

_LINEAR = ("rigid", "similarity", "scaled", "affine")
_NONRIGID = ("flow", "ffd", "fluid", "demons")


def register(fixed, moving, model="flow", *, similarity=None, fixed_mask=None, moving_mask=None, init="identity", background=None,
             clip=None, interpolation="linear", context=None, device="auto", threads=0, progress=None, **options):
    """Finds a transform so that moving(transform(x)) matches fixed(x): what fluidreg (flow, fluid, demons), ffdreg (ffd)
    and linreg (rigid, similarity, scaled, affine) do, with the same bits.

    fixed, moving: an Image, a path, a nibabel or SimpleITK image, an array (numpy, torch, cupy), or a list of them:
        channels, each compared with the other side's of the same place. Arrays on a GPU stay there.
    model: "flow" (greedy compositive flow, topology kept), "ffd" (B-splines), "fluid", "demons", "rigid" (6 parameters),
        "similarity" (7), "scaled" (9), "affine" (12).
    similarity: "auto", "nmi", "mi", "cr", "ssd", "lncc", "mind", or a sum such as "lncc+0.3nmi"; default: the model's.
    fixed_mask, moving_mask: voxels above 0.5 count; on the grids of their images.
    init: where to start: "identity", "center" (the grids' middles meet), "moments" (centres of mass), or a Transform.
    background: the value of voxels that were not measured; CT's padding below -1500 is found by itself.
    clip: (low, high), to which intensities are cut while registering. Both of images in host memory.
    interpolation: "linear" or "cubic", of the warped images.
    context, device, threads: where; by default where the arrays lie, numpy's on the first GPU if there is one.
    progress: True (tqdm where it is installed), or a function (stage, level, levels, iteration, iterations, cost) that
        may raise to stop. Ctrl-C stops at the next iteration. Other Python threads run meanwhile.
    options: levels, iterations (one value or one per level, coarse to fine), linear, start, channel_weights, bins,
        spacing, sigma_update, ...: as the programs' --help has them, with _ for -; `lambda_` for --lambda. Lengths are
        numbers (voxels) or words such as "3mm". freeflow.option_names(model) lists them.

    Raises ValueError or TypeError naming the argument, RegistrationError where images have no content or do not overlap,
    DeviceError, KeyboardInterrupt.
    """
    if model not in _LINEAR + _NONRIGID:
        raise ValueError(f"model {model!r} is not one of {', '.join(_NONRIGID + _LINEAR)}")
    if interpolation not in ("linear", "cubic"):
        raise ValueError(f"interpolation {interpolation!r} is not one of linear, cubic")
    start = time.perf_counter()
    inputs = _Inputs(fixed, moving, fixed_mask, moving_mask, background, clip)
    context = context_for(inputs.arrays(), context, device, threads)
    if similarity is not None:
        options["similarity"] = similarity
    affine, field = _start_of(init, inputs, context)
    if field is not None and model in _LINEAR:
        raise ValueError("init has a displacement field, and a linear registration starts from an affine")
    volumes = inputs.volumes(context)
    callback, close = callback_of(progress)
    reading = time.perf_counter() - start
    try:
        if model in _LINEAR:
            forward, back, report = _native.register_linear(context._native, *volumes, model, options, affine, callback)
        else:
            forward, back, report = _native.register_nonrigid(context._native, *volumes, model, options, affine, field, callback)
    finally:
        close()
    inputs.warnings += _said_of_rotation(np.array(affine), np.array(forward.affine_part_lps))
    for sentence in inputs.warnings + report["warnings"]:
        warnings.warn(sentence, stacklevel=2)
    report["seconds"] = {"reading": reading, **report["seconds"]}
    return Registration(inputs, context, forward, back, _opened(model, options, context, inputs, report), interpolation)


class _Inputs:
    """What is registered: images as they came, and as the registration sees them."""

    def __init__(self, fixed, moving, fixed_mask, moving_mask, background, clip):
        self.warnings = []
        self.fixed = _channels(fixed, "fixed")
        self.moving = _channels(moving, "moving")
        if len(self.fixed) != len(self.moving):
            raise ValueError(f"fixed has {len(self.fixed)} channels and moving {len(self.moving)}; each is compared with the one of its place")
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
        channels = [[image._volume(context, name) for image in side]
                    for side, name in ((self._seen_fixed, "fixed"), (self._seen_moving, "moving"))]
        masks = [None if mask is None else mask._volume(context) for mask in (self.fixed_mask, self.moving_mask)]
        return (*channels, *masks)

    def _seen(self, image, name, background, clip):
        if _arrays.device_of(image.array) != "cpu":
            if background is not None or clip is not None:
                raise ValueError(f"background and clip are of images in host memory, and {name} lies on a GPU: set its voxels to NaN, "
                                 "or clamp them, there")
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
            mask = Transform.identity().apply(Image._placed(mask.numpy().astype(np.float32), mask._placement), Image._placed(image.numpy(), image._placement),
                                              interpolation="nearest")
            self.warnings.append(f"{name} lies on another grid than its image and was resampled to it")
        if not bool((mask.array > 0.5).any()):
            raise ValueError(f"{name} has no voxel above 0.5 inside its image")
        array = mask.array
        if _strided(array, image.array):
            array = _as_laid_out(array, image.array)
        return Image._placed(array, image._placement, name)


def _channels(given, name):
    if isinstance(given, (list, tuple)) and given and all(
            isinstance(g, (Image, str, os.PathLike)) or hasattr(g, "__array__") or hasattr(g, "__dlpack__") or hasattr(g, "GetSpacing") for g in given):
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


def _start_of(init, inputs, context):
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
        affine[:3, 3] = _middle(inputs.moving[0]) - _middle(inputs.fixed[0])
    elif init == "moments":
        affine[:3, 3] = _center_of_mass(inputs.moving[0], inputs.moving_mask) - _center_of_mass(inputs.fixed[0], inputs.fixed_mask)
    elif init != "identity":
        raise ValueError(f"init {init!r} is not one of 'identity', 'center', 'moments'; files: freeflow.Transform.read(...)")
    return affine.tolist(), None


def _said_of_rotation(start, found):
    """As the programs say it: mirrored data match best turned."""
    u, _, v = np.linalg.svd(found[:3, :3] @ np.linalg.inv(start[:3, :3]))
    degrees = np.degrees(np.arccos(np.clip((np.trace(u @ v) - 1) / 2, -1, 1)))
    if degrees <= 90:
        return []
    return [f"the images match best turned by {degrees:.0f} degrees: does one lie mirrored, or say wrongly where left and up are?"]


def _world(image, index):
    direction = np.array(image._placement.direction_lps) * np.array(image._placement.spacing)
    return direction @ np.asarray(index, float) + image._placement.origin_lps


def _middle(image):
    return _world(image, [0.5 * (n - 1) for n in image.shape])


def _center_of_mass(image, mask):
    voxels = image.numpy().astype(np.float64)
    counts = np.isfinite(voxels)
    if mask is not None:
        counts &= mask.numpy() > 0.5
    weights = np.where(counts, voxels - voxels[counts].min(), 0)
    mass = weights.sum()
    if not mass > 0:
        return _middle(image)
    sums = [(weights.sum(axis=tuple(b for b in range(3) if b != a)) * np.arange(n)).sum() for a, n in enumerate(image.shape)]
    return _world(image, np.array(sums) / mass)


def _geometry(image, missing):
    p = image._placement
    return {"size": list(image.shape), "spacing_mm": list(p.spacing), "origin_mm_lps": list(p.origin_lps),
            "direction_lps": [list(row) for row in p.direction_lps], "voxels_without_value": missing}


def _opened(model, options, context, inputs, report):
    """The report with what every program's opens with."""
    opening = {"program": "freeflow.register", "version": _native.version, "options": {"model": model, **options},
               "device": {"name": context.device, "description": context.description, "threads": context.threads},
               "fixed": _geometry(inputs.fixed[0], inputs.missing["fixed", 0]), "moving": _geometry(inputs.moving[0], inputs.missing["moving", 0])}
    sentences = inputs.warnings + report.pop("warnings")
    return {**opening, "warnings": sentences, **report}


class Registration:
    """What a registration found.

    transform: of fixed points to moving points (Transform); transform.inverse() is the registration's own inverse.
    report: dict with the programs' keys: per level and iteration the cost, seconds, log-Jacobian statistics, folds,
        inverse residual, overlap, warnings.
    """

    def __init__(self, inputs, context, forward, back, report, interpolation):
        self._inputs, self._context, self._interpolation = inputs, context, interpolation
        self.transform = Transform(forward, back)
        self.report = report
        self._warped = self._inverse_warped = None

    @property
    def fixed(self):
        return self._inputs.fixed[0]

    @property
    def moving(self):
        return self._inputs.moving[0]

    def _carry(self, way, images, like):
        """way: a method of the compiled transform, which the programs' images have their bits of."""
        grid = like._grid("fixed")
        return [Image._placed(_arrays.from_native(way(i._volume(self._context), grid, self._interpolation, _arrays.smallest(i.array)), i.array),
                              like._placement) for i in images]

    @property
    def warped_channels(self):
        """Every channel of the moving image on the fixed grid: Images."""
        if self._warped is None:
            self._warped = self._carry(self.transform._native.warped, self._inputs.moving, self.fixed)
        return self._warped

    @property
    def warped(self):
        """The moving image on the fixed grid (Image); outside is its smallest value. Computed when asked for."""
        return self.warped_channels[0]

    @property
    def inverse_warped_channels(self):
        if self._inverse_warped is None:
            back = self.transform._inverse
            self._inverse_warped = self._carry(back.warped if back.is_affine else back.apply, self._inputs.fixed, self.moving)
        return self._inverse_warped

    @property
    def inverse_warped(self):
        """The fixed image on the moving grid (Image). Computed when asked for."""
        return self.inverse_warped_channels[0]

    def jacobian(self, *, log=True):
        """Image on the fixed grid: the logarithm of the Jacobian determinant, NaN where that is not positive."""
        return self.transform.jacobian(self.fixed, log=log)

    def plot(self, path=None, *, axis=2, index=None):
        """A figure of matplotlib, and a file where a path is given: fixed, moving, warped, a checkerboard of fixed and
        warped, the deformed grid and the log-Jacobian, in the slice `index` (the middle) across array axis `axis`."""
        from .plot import registration_figure
        return registration_figure(self, path, axis, index)

    def save(self, prefix, *, what="all"):
        """Writes as the programs do, all files or none: PREFIX0GenericAffine.mat, PREFIX1Warp.nii.gz,
        PREFIX1InverseWarp.nii.gz, PREFIXWarped.nii.gz, PREFIXInverseWarped.nii.gz, PREFIXreport.json (linear models: no
        warps). what: "all", or some of "warp,inverse,warped,inversewarped,report". Missing folders are made. Returns the
        paths."""
        chosen = outputs.chosen(what)
        with outputs.OutputSet(os.fspath(prefix)) as out:
            parts = self.transform._native.parts()
            center = _middle(self.fixed) if len(parts) > 1 else self.report["linear"]["center_mm_lps"]
            files.write_itk_affine(out.file("0GenericAffine.mat"), np.array(parts[-1]), center)
            if len(parts) > 1 and "warp" in chosen:
                write_field(out.file("1Warp.nii.gz"), parts[1])
            if len(parts) > 1 and "inverse" in chosen:
                write_field(out.file("1InverseWarp.nii.gz"), self.transform._inverse.parts()[1])
            for word, name, images in (("warped", "Warped", "warped_channels"), ("inversewarped", "InverseWarped", "inverse_warped_channels")):
                if word in chosen:
                    for c, image in enumerate(getattr(self, images)):
                        image.write(out.file(f"{name}{c + 1 if c else ''}.nii.gz"))
            if "report" in chosen:
                with open(out.file("report.json"), "w", encoding="utf-8") as file:
                    json.dump(self.report, file, indent=1, default=str)
            return out.commit()

    def __repr__(self):
        return f"<freeflow.Registration {self.report['options']['model']}, fixed {self.fixed!r}>"


def register_many(pairs, model="flow", *, keep_going=False, context=None, device="auto", threads=0, progress=None, **arguments):
    """Registers one pair after the other and yields a Registration for each, with one context and its memory.

    pairs: an iterable of (fixed, moving), or of dicts of register()'s arguments (fixed, moving, fixed_mask, init ...).
    keep_going: a pair that fails yields its exception, and the next one follows; else it is raised.
    progress: a function (done, result), called after each pair; True: tqdm where it is installed.
    """
    pairs = list(pairs) if not hasattr(pairs, "__len__") else pairs
    shared = context or (Context(device, threads=threads) if device != "auto" or threads else None)
    return _run_many(_counted(pairs, progress), model, keep_going, shared, progress if callable(progress) else None, arguments)


def _counted(pairs, progress):
    if progress is not True:
        return pairs
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return pairs
    return tqdm(pairs, desc="registrations")


def _run_many(pairs, model, keep_going, context, tell, arguments):
    for done, pair in enumerate(pairs, 1):
        given = dict(pair) if isinstance(pair, dict) else dict(zip(("fixed", "moving"), pair, strict=True))
        try:
            result = register(model=model, context=context, **{**arguments, **given})
        except (ValueError, TypeError, OSError, RegistrationError) as error:
            if not keep_going:
                raise
            result = error
        if tell:
            tell(done, result)
        yield result
