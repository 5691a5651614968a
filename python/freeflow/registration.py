"""Registrations."""

import os
import time
import warnings

import numpy as np

from . import _arrays, _native, files, outputs
from ._native import RegistrationError
from .context import Context, context_for
from .image import Image
from .inputs import Inputs, middle, said_of_rotation, start_of
from .progress import callback_of
from .transform import Transform, write_field

_LINEAR = ("rigid", "similarity", "scaled", "affine")
_NONRIGID = ("flow", "ffd", "fluid", "demons")


def register(
    fixed,
    moving,
    model="flow",
    *,
    similarity=None,
    fixed_mask=None,
    moving_mask=None,
    init="identity",
    background=None,
    clip=None,
    interpolation="linear",
    context=None,
    device="auto",
    threads=0,
    progress=None,
    **options,
):
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
    inputs = Inputs(fixed, moving, fixed_mask, moving_mask, background, clip)
    context = context_for(inputs.arrays(), context, device, threads)
    if similarity is not None:
        options["similarity"] = similarity
    if isinstance(init, Transform) and not init.is_affine and model in _LINEAR:
        raise ValueError("init has a displacement field, and a linear registration starts from an affine")
    affine, field = start_of(init, inputs, context)
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
    inputs.warnings += said_of_rotation(np.array(affine), np.array(forward.affine_part_lps))
    for sentence in inputs.warnings + report["warnings"]:
        warnings.warn(sentence, stacklevel=2)
    report["seconds"] = {"reading": reading, **report["seconds"]}
    return Registration(inputs, context, forward, back, _opened(model, options, context, inputs, report), interpolation)


def _geometry(image, missing):
    p = image._placement
    return {
        "size": list(image.shape),
        "spacing_mm": list(p.spacing),
        "origin_mm_lps": list(p.origin_lps),
        "direction_lps": [list(row) for row in p.direction_lps],
        "voxels_without_value": missing,
    }


def _opened(model, options, context, inputs, report):
    """The report with what every program's opens with."""
    opening = {
        "program": "freeflow.register",
        "version": _native.version,
        "options": {"model": model, **options},
        "device": {"name": context.device, "description": context.description, "threads": context.threads},
        "fixed": _geometry(inputs.fixed[0], inputs.missing["fixed", 0]),
        "moving": _geometry(inputs.moving[0], inputs.missing["moving", 0]),
    }
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
        return [
            Image._placed(
                _arrays.from_native(way(i._volume(self._context), grid, self._interpolation, _arrays.smallest(i.array)), i.array),
                like._placement,
            )
            for i in images
        ]

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
            center = middle(self.fixed) if len(parts) > 1 else self.report["linear"]["center_mm_lps"]
            files.write_itk_affine(out.file("0GenericAffine.mat"), np.array(parts[-1]), center)
            if len(parts) > 1 and "warp" in chosen:
                write_field(out.file("1Warp.nii.gz"), parts[1])
            if len(parts) > 1 and "inverse" in chosen:
                write_field(out.file("1InverseWarp.nii.gz"), self.transform._inverse.parts()[1])
            for word, name, images in (
                ("warped", "Warped", "warped_channels"),
                ("inversewarped", "InverseWarped", "inverse_warped_channels"),
            ):
                if word in chosen:
                    for c, image in enumerate(getattr(self, images)):
                        image.write(out.file(f"{name}{c + 1 if c else ''}.nii.gz"))
            if "report" in chosen:
                out.write_report({**self.report, "inputs": {"folder": os.getcwd(), **self._inputs.paths}})
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
