"""Denoising of surfaces."""

import numpy as np

from . import _arrays, _native
from ._speaking import warn
from .context import context_for
from .image import Image
from .progress import callback_of


class Surface:
    """A denoised surface. distance: Image, signed, mm, negative inside; level_set: Image, its zero the surface before
    distances were made new; mask: Image of uint8, 1 inside; report: dict."""

    def __init__(self, distance, level_set, report):
        self.distance, self.level_set, self.report = distance, level_set, report

    def __repr__(self):
        return f"<freeflow.Surface, distance {self.distance!r}>"

    @property
    def mask(self):
        """Image of uint8, 1 inside."""
        array = self.distance.array <= 0
        array = array.byte() if _arrays.library_of(array) == "torch" else array.astype("uint8")
        return Image._placed(array, self.distance._placement)


def denoise_surface(surface, *, kind=None, label=None, iso=None, context=None, device="auto", threads=0, progress=None, **options):
    """Smooths the noise and the staircase of a segmented surface by nonlocal means, without shrinking it or rounding its
    folds: what nlmdenoise does.

    surface: an Image, path, or array (see register): a mask or labels (integers, bools), a signed distance (mm,
        negative inside; of another level set the distance to its zero is taken, with a warning), or a grey image.
    kind: "labels", "sdf" or "image". Default: labels for integers and bools, image where iso is given, else sdf.
    label: which label to take; without it all above 0.
    iso: of a grey image, the value at the surface; inside is brighter.
    options: band, patch, neighbours, iterations, c1, c2, limit, search_radius, keep_volume, strategy (nlmdenoise --help).
    """
    image = Image.of(surface, "surface")
    kind = kind or _kind_of(image.array, label, iso)
    if kind not in ("labels", "sdf", "image"):
        raise ValueError(f"kind {kind!r} is not one of labels, sdf, image")
    if (label is not None and kind != "labels") or (iso is not None and kind != "image"):
        raise ValueError(f"{'label' if label is not None else 'iso'} does not go with kind={kind!r}")
    if kind == "image" and iso is None:
        raise ValueError("a grey image needs iso, the value at the surface")
    context = context_for({"surface": image.array}, context, device, threads)
    array = _inside(image.array, label) if kind == "labels" else image.array
    array = _arrays.in_file_order(array)  # in which neighbours are visited shows in the result
    seen = Image._placed(array, image._placement, "surface")
    volume = seen._volume(context, "surface")
    if kind != "sdf":
        volume = _native.signed_distance(volume, 0.5 if kind == "labels" else float(iso), True)
    else:
        _require_both_signs(array)
        slope = _arrays.slope_at_zero(array, image.spacing_mm)
        if not 0.5 < slope < 1.5:
            warn(f"surface changes by {slope:g} per mm at its surface, a distance by 1: it was computed again from its zero")
            volume = _native.signed_distance(volume, 0.0, False)
    callback, close = callback_of(progress)
    try:
        distance, level_set, report = _native.denoise(volume, options, callback)
    finally:
        close()
    made = [Image._placed(_arrays.from_native(v, image.array), image._placement) for v in (distance, level_set)]
    return Surface(*made, report)


def _kind_of(array, label, iso):
    if iso is not None:
        return "image"
    if label is not None:
        return "labels"
    floating = array.is_floating_point() if _arrays.library_of(array) == "torch" else array.dtype.kind == "f"
    return "sdf" if floating else "labels"


def _inside(array, label):
    inside = array == label if label is not None else array > 0
    if not bool(inside.any()):
        raise ValueError(f"surface has no voxel {'of label ' + str(label) if label is not None else 'above 0'}")
    if bool(inside.all()):
        raise ValueError("every voxel of surface is inside: there is no surface in it")
    return inside.float() if _arrays.library_of(inside) == "torch" else inside.astype(np.float32, order="K")


def _require_both_signs(array):
    if not (bool((array < 0).any()) and bool((array > 0).any())):
        raise ValueError(
            "surface holds values of one sign, and signed distances have both: a mask is of integers or bools, or " "kind='labels'"
        )
