"""Labels: arrays of integers, carried along unmixed, and the number that stands where there is none."""

import sys

import numpy as np

from . import _arrays


def is_labels(array):
    if _arrays.library_of(array) == "torch":
        return not array.is_floating_point() and not array.is_complex()
    return array.dtype.kind in "biu"


def number(fill):
    try:
        return float(fill)
    except (TypeError, ValueError) as error:
        raise TypeError(f"fill must be a number or 'min', and is {fill!r}") from error


def label_of(fill, array):
    """As an int that the array's type holds; 0 is the default and goes with all."""
    if fill == "min":
        raise ValueError("fill 'min' is of images; labels take an integer")
    if not number(fill).is_integer():
        raise ValueError(f"fill {fill} is no label; give an integer")
    label = int(fill)
    kind = str(array.dtype).removeprefix("torch.")
    low, high = (0, 1) if kind == "bool" else (np.iinfo(kind).min, np.iinfo(kind).max)
    if not low <= label <= high:
        raise ValueError(f"fill {fill} does not fit into labels of {kind}; give another value, or labels of a type that holds it")
    return label


def numbered(array, background):
    """Labels as int32: themselves, or where they do not fit their places among the values. (numbers, values, background's)"""
    library = _arrays.library_of(array)
    wide = str(array.dtype) == "torch.int64" if library == "torch" else array.dtype.name in ("int64", "uint32", "uint64")
    if not wide:
        return array, None, background
    low, high = min(int(array.min()), background), max(int(array.max()), background)
    if -(2**31) <= low and high < 2**31:
        return array, None, background
    module = sys.modules[library]
    if library == "torch":
        values = module.cat([array.reshape(-1), array.new_full((1,), background)]).unique()
        numbers = module.searchsorted(values, array.contiguous()).int()
    else:
        values = module.unique(module.append(array.ravel(order="K"), array.dtype.type(background)))
        numbers = module.searchsorted(values, array).astype(np.int32)
    return numbers, values, int((values == background).nonzero()[0][0])


def named(array, values, like):
    if _arrays.library_of(like) == "torch":
        return array.to(like.dtype) if values is None else values[array.long()]
    return array.astype(like.dtype, copy=False) if values is None else values[array]
