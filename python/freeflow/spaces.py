"""What there is to warn of where a transform meets grids and points that may be of another space, in lists of sentences. As
apps/regtool/chain_checks.cpp and points.cpp, which refuse some of it."""

import os
import re

import numpy as np

from . import _arrays

_MOST_PER_AXIS = 24


def _voxel_to_world(placement):
    affine = np.eye(4)
    affine[:3, :3] = np.array(placement.direction_lps) * np.array(placement.spacing)
    affine[:3, 3] = placement.origin_lps
    return affine


def _mapped(affine, points):
    affine = np.asarray(affine)
    return points @ affine[:3, :3].T + affine[:3, 3]


def _sample_of(grid):
    """Points all over a grid, in LPS."""
    along = [(np.arange(min(n, _MOST_PER_AXIS)) + 0.5) * n / min(n, _MOST_PER_AXIS) - 0.5 for n in grid.shape]
    index = np.stack(np.meshgrid(*along, indexing="ij"), axis=-1).reshape(-1, 3)
    return _mapped(_voxel_to_world(grid.placement), index)


def _inside(points, grid):
    index = _mapped(np.linalg.inv(_voxel_to_world(grid.placement)), points)
    return ((index >= -0.5) & (index < np.array(grid.shape) - 0.5)).all(axis=1)


def said_of_another_space(native, grid):
    """Of a grid that the first field of a transform hardly covers, nor lies within it."""
    field = native.grid
    if field is None:
        return []
    points = _mapped(native.parts()[0], _sample_of(grid))
    covered = _inside(points, field).mean()
    of_field = _sample_of(field)
    within = ((of_field >= points.min(axis=0)) & (of_field <= points.max(axis=0))).all(axis=1).mean()
    if max(covered, within) >= 0.01:
        return []
    return [
        f"the transform's field covers {100 * covered:.2g} % of like, so it is of another space: name the image that it was made for,"
        " and list the transforms in their order"
    ]


def said_of_points_beyond(native, points_lps):
    """Of points where a transform starts."""
    if native.grid is None:
        return []
    beyond = len(points_lps) - int(_inside(_mapped(native.parts()[0], points_lps), native.grid).sum())
    if not beyond:
        return []
    return [f"{beyond} of the {len(points_lps)} points lie beyond the field's grid, where nothing is displaced"]


def said_of_nothing(image, made, fill):
    """Of an image that was carried along, as nothing of it arrived."""
    if not _arrays.holds_only(made.array, fill) or _arrays.holds_only(image.array, fill):
        return []
    return [f"nothing of image but the fill, {fill:g}, comes to lie on the grid: is the transform of these images, and a chain in its order?"]


def said_of_order(grids, grids_of_first):
    """Of a product of transforms, by the (grid, placement)s at the ends of both: one that is known to fit the other way round alone."""
    if not all([*grids, *grids_of_first]):
        return []
    (start, _), (end, _) = grids
    (first_start, _), (first_end, _) = grids_of_first
    if start.covers(first_end) or not first_start.covers(end):
        return []
    return ["`a @ b` applies b first, but here b begins on the grid where a ends: is `b @ a` meant?"]


def _bids_ends(path):
    """(the space whose points a transform takes, the one where they come to lie) by its name, as apps/bids.cpp; None where that does
    not say. A transform of images takes points the other way than it says."""
    name = "_" + os.path.basename(path).split(".")[0]
    said = [re.search(f"_{key}-([0-9A-Za-z+]+)_", name) for key in ("from", "to", "mode")]
    if not name.endswith("_xfm") or not all(said):
        return None
    start, end, mode = (match[1] for match in said)
    return {"image": (end, start), "points": (start, end)}.get(mode)


def said_of_bids_names(one, following):
    """Of two transforms that follow each other in a list."""
    first, second = _bids_ends(one), _bids_ends(following)
    if not (first and second) or first[1] == second[0]:
        return []
    return [f"by their names '{one}' ends at points of {first[1]} and '{following}' begins at points of {second[0]}; check the order"]
