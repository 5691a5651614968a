"""Registrations."""

import difflib
import inspect
import os
import time

import numpy as np

from . import _arrays, _native, files, outputs
from ._speaking import warn
from .context import Context, context_for
from .image import Image
from .inputs import Inputs, Side, middle, said_of_rotation, start_of
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

    fixed, moving: an Image, a path, an image of nibabel, SimpleITK, ITK or ANTsPy, an array (numpy, torch, cupy), or a list:
        channels, each compared with the other side's of the same place. Arrays on a GPU stay there.
    model: "flow" (greedy compositive flow, topology kept), "ffd" (B-splines), "fluid", "demons", "rigid" (6 parameters),
        "similarity" (7), "scaled" (9), "affine" (12).
    similarity: "auto", "nmi", "mi", "cr", "ssd", "lncc", "mind", or a sum such as "lncc+0.3nmi"; default: the model's.
    fixed_mask, moving_mask: voxels above 0.5 count; on the grids of their images.
    init: where to start: "identity", "center" (the grids' middles meet), "moments" (centres of mass), or a Transform.
    background: the value of voxels that were not measured; padding far below all else is found by itself. nan:
        NaN around an object is not its background either.
    clip: (low, high), to which intensities are cut while registering.
    interpolation: "linear" or "cubic", of the warped images.
    context, device, threads: where; by default where the arrays lie, numpy's on the first GPU if there is one.
    progress: True (tqdm where it is installed), or a function (stage, level, levels, iteration, iterations, cost) that
        may raise to stop. Ctrl-C stops at the next iteration. Other Python threads run meanwhile.
    options: levels (without it those of few voxels are left out), iterations (one value, or one per level, coarse to
        fine, none left out then), linear, start, channel_weights, bins, spacing, sigma_update, ...: as the
        programs' --help has them, with _ for -; `lambda_` for --lambda. Lengths are numbers (voxels) or words such as
        "3mm".
        freeflow.option_names(model) lists them.

    Raises ValueError or TypeError naming the argument, RegistrationError where images have no content or do not overlap,
    DeviceError, KeyboardInterrupt.
    """
    start = time.perf_counter()
    call = Call(model, similarity=similarity, init=init, interpolation=interpolation, progress=progress, **options)
    sides = Side(fixed, fixed_mask, "fixed", background, clip), Side(moving, moving_mask, "moving", background, clip)
    inputs = Inputs(*sides)
    context = context_for(inputs.arrays(), context, device, threads)
    read = time.perf_counter()
    inputs.leave_stripped_out(context)
    looked = time.perf_counter()
    images = [side.prepared(context, inputs.counted(name)) for name, side in inputs.sides.items()]
    seconds = {"reading": time.perf_counter() - looked + read - start, "stripped": looked - read}
    return call.run(inputs, images, context, seconds)


def option_names(model):
    """The options that register(model=...) takes; the programs' --help explains them."""
    _require_model(model)
    return _native.option_names(model)


def _require_model(model):
    if model not in _LINEAR + _NONRIGID:
        raise ValueError(f"model {model!r} is not one of {', '.join(_NONRIGID + _LINEAR)}")


class Call:
    """What is asked of a registration, apart from its images and its device. Raises ValueError for a wrong word."""

    def __init__(self, model, *, similarity=None, init="identity", interpolation="linear", progress=None, **options):
        _require_model(model)
        if interpolation not in ("linear", "cubic"):
            raise ValueError(f"interpolation {interpolation!r} is not one of linear, cubic")
        if isinstance(init, Transform) and not init.is_affine and model in _LINEAR:
            raise ValueError("init has a displacement field, and a linear registration starts from an affine")
        _require_known(model, options)
        for name, value in options.items():
            if isinstance(value, (list, tuple)) and not value:
                raise ValueError(f"{name} is an empty list: give a value, or leave it out")
        self._model, self._init, self._interpolation, self._progress = model, init, interpolation, progress
        self._options = options if similarity is None else {**options, "similarity": similarity}

    def run(self, inputs, images, context, seconds):
        """images: the sides of the inputs, prepared on the context; seconds: of the stages before."""
        model, options = self._model, self._options
        affine, field = start_of(self._init, inputs, context)
        callback, close = callback_of(self._progress)
        try:
            if model in _LINEAR:
                forward, back, report = _native.register_linear(context._native, *images, model, options, affine, callback)
            else:
                forward, back, report = _native.register_nonrigid(context._native, *images, model, options, affine, field, callback)
        except Exception:
            warn(*inputs.warnings)  # one may say why
            raise
        finally:
            close()
        if field is None:
            of_start = said_of_rotation(np.array(affine), np.array(forward.affine_part_lps))
        else:
            of_start = ["init gives a displacement, so there is no linear stage"]
        said = inputs.warnings + of_start
        report["warnings"] = said + report["warnings"]
        warn(*report["warnings"])
        report["warnings"] = inputs.said + report["warnings"]  # which reading them has said
        report["seconds"] = {**seconds, **report["seconds"]}
        report["memory_bytes"]["peak_host"] = outputs.peak_host_bytes()
        init = self._init if isinstance(self._init, str) else "Transform"
        told = {"model": model, "init": init, "interpolation": self._interpolation, **inputs.options, **options}
        report = _opened(told, context, inputs, report)
        back = back if model in _LINEAR else _OwnInverse(back, report)
        return Registration(inputs, context, forward, back, report, self._interpolation)


def _require_known(model, options):
    """Where an option is near another word. What is not is refused with the list of options (python/native)."""
    words = [*_native.option_names(model), *inspect.signature(register).parameters]
    for name in options:
        near = [w for w in words if name in w] or difflib.get_close_matches(name, words, 1)
        if name not in words and near:
            raise ValueError(f"{name} is no option of model={model!r}: is {' or '.join(near)} meant?")


def _geometry(side, counted):
    image = side.images[0]
    p = image._placement
    part, mask, number = counted.part, side.mask_of(counted), side.number(counted)
    counts = {
        "voxels_measured": part and int(np.prod([end - begin for begin, end in part])),
        "voxels_in_mask": None if mask is None else int((mask.array > 0.5).sum()),
        "voxels_counted": None if number == np.prod(image.shape) else number,
    }
    return {
        "size": list(image.shape),
        "spacing_mm": list(p.spacing),
        "origin_mm_lps": list(p.origin_lps),
        "direction_lps": [list(row) for row in p.direction_lps],
        "voxels_without_value": side.missing[0],
        **{name: count for name, count in counts.items() if count is not None},
    }


def _opened(options, context, inputs, report):
    """The report with what every program's opens with."""
    opening = {
        "program": "freeflow.register",
        "version": _native.version,
        "options": options,
        "device": {"name": context.device, "description": context.description, "threads": context.threads},
        **{name: _geometry(side, inputs.counted(name)) for name, side in inputs.sides.items()},
    }
    weights = report.pop("channel_weights")
    if len(weights) > 1:
        opening["channels"] = [_channel(inputs, c, weight) for c, weight in enumerate(weights)]
    opening["warnings"] = report.pop("warnings")
    return {**opening, **report}


def _channel(inputs, c, weight):
    paths = {name: side.paths[c] if side.paths else None for name, side in inputs.sides.items()}
    missing = {f"{name}_voxels_without_value": side.missing[c] for name, side in inputs.sides.items()}
    return {**paths, "weight": weight, **missing}


class _OwnInverse:
    """The inverse of a displacement, computed when it is first called for; then the report tells of it."""

    def __init__(self, late, report):
        self._late, self._report, self._found = late, report, None

    def __call__(self):
        # Two threads at once may both compute it: a lock held while the context is waited for could hold up its owner.
        late = self._late
        if self._found is None:
            found, figures = late.compute()
            self._report["seconds"].update(figures.pop("seconds"))
            self._report.update(figures)
            self._found, self._late = found, None
        return self._found


class Registration:
    """What a registration found.

    transform: of fixed points to moving points (Transform); transform.inverse() is the registration's own inverse,
        computed when it or what needs it is first asked for.
    """

    def __init__(self, inputs, context, forward, back, report, interpolation):
        self._inputs, self._context, self._interpolation = inputs, context, interpolation
        of_fixed = (forward.grid, self.fixed._placement) if forward.grid else self.fixed._place("fixed")
        grids = of_fixed, self.moving._place("moving")
        self.transform = Transform(forward, back if callable(back) else lambda: back, grids=grids)
        self._report = report
        self._warped = self._inverse_warped = None

    @property
    def report(self):
        """A dict with the programs' keys: per level and iteration the cost, seconds, log-Jacobian statistics, folds, overlap,
        warnings; normalised mutual information before, after the affine and in the end, and the range of the displacement,
        which are computed when the report is first asked for; of the inverse once there is one."""
        if "similarity" not in self._report:
            start = time.perf_counter()
            images = [image._volume(self._context) for image in (self.fixed, self.moving)]
            masks = [self._inputs.counts(side) for side in ("fixed", "moving")]
            masks = [None if mask is None else mask._volume(self._context) for mask in masks]
            figures = _native.figures(self.transform._native, *images, *masks)
            self._report["seconds"]["report"] = time.perf_counter() - start
            self._report.update(figures)
        return self._report

    @property
    def fixed(self):
        """The fixed image (Image), of several channels the first."""
        return self._inputs.fixed[0]

    @property
    def moving(self):
        """The moving image (Image), of several channels the first."""
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
        """Every channel of the fixed image on the moving grid: Images."""
        if self._inverse_warped is None:
            back = self.transform._inverse()
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
        paths. Raises ValueError where one of the inputs would be replaced."""
        chosen = outputs.chosen(what)
        prefix = outputs.checked_prefix(os.fspath(prefix))
        start = time.perf_counter()
        given = self._inputs.paths.values()
        with outputs.OutputSet(prefix, [path for paths in given for path in ([paths] if isinstance(paths, str) else paths)]) as out:
            parts = self.transform._native.parts()
            center = middle(self.fixed) if len(parts) > 1 else self._report["linear"]["center_mm_lps"]
            files.write_itk_affine(out.file("0GenericAffine.mat"), np.array(parts[-1]), center)
            if len(parts) > 1 and "warp" in chosen:
                write_field(out.file("1Warp.nii.gz"), parts[1], self.fixed._placement)
            if len(parts) > 1 and "inverse" in chosen:
                write_field(out.file("1InverseWarp.nii.gz"), self.transform._inverse().parts()[1], self.fixed._placement)
            for word, name, images in (
                ("warped", "Warped", "warped_channels"),
                ("inversewarped", "InverseWarped", "inverse_warped_channels"),
            ):
                if word in chosen:
                    for c, image in enumerate(getattr(self, images)):
                        image.write(out.file(f"{name}{c + 1 if c else ''}.nii.gz"))
            if "report" in chosen:
                out.write_report(self._report_of_files(start))
            return out.commit()

    def _report_of_files(self, writing_since):
        written = time.perf_counter() - writing_since
        report = self.report
        seconds = {**report["seconds"], "writing": written}
        return {**report, "seconds": seconds, "inputs": {"folder": os.getcwd(), **self._inputs.paths}}

    def __getstate__(self):
        if self._context.device != "cpu":
            raise TypeError("a registration on a GPU cannot be pickled: save() writes it, and its transform can be")
        return {**self.__dict__, "_context": self._context.threads}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._context = Context("cpu", threads=state["_context"])

    def __repr__(self):
        return f"<freeflow.Registration {self._report['options']['model']}, fixed {self.fixed!r}>"
