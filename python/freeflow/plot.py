"""Pictures of a registration; needs matplotlib."""

import numpy as np


def _slice(array, axis, index):
    return np.take(array, index, axis=axis).T


def _checkerboard(one, other, squares=8):
    i, j = np.indices(one.shape)
    side = max(1, max(one.shape) // squares)
    return np.where((i // side + j // side) % 2 == 0, one, other)


def _window(values):
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return 0, 1
    low, high = np.percentile(finite, (1, 99))
    return (low, high) if high > low else (low, low + 1)


def registration_figure(result, path=None, axis=2, index=None):
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plot() needs matplotlib: pip install matplotlib") from error
    if axis not in (0, 1, 2):
        raise ValueError(f"axis {axis!r} is not one of 0, 1, 2")
    index = result.fixed.shape[axis] // 2 if index is None else index
    if not 0 <= index < result.fixed.shape[axis]:
        raise ValueError(f"index {index} is not a slice of axis {axis}, which has {result.fixed.shape[axis]}")
    fixed, warped = (_slice(i.numpy().astype(float), axis, index) for i in (result.fixed, result.warped))
    moving = result.moving.numpy().astype(float)
    moving = _slice(moving, axis, min(index, moving.shape[axis] - 1))
    log_jacobian = _slice(result.jacobian().numpy(), axis, index)
    figure = Figure(figsize=(11, 7.4), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 3).ravel()
    for panel, title, picture in (
        (panels[0], "fixed", fixed),
        (panels[1], "moving", moving),
        (panels[2], "warped", warped),
        (panels[3], "fixed and warped", _checkerboard(fixed, warped)),
    ):
        low, high = _window(picture)
        panel.imshow(picture, cmap="gray", origin="lower", vmin=low, vmax=high)
        panel.set_title(title)
    _draw_grid(panels[4], result, axis, index)
    bound = max(0.1, float(np.nanmax(np.abs(log_jacobian))))
    shown = panels[5].imshow(log_jacobian, cmap="RdBu_r", origin="lower", vmin=-bound, vmax=bound)
    panels[5].set_title("log Jacobian")
    figure.colorbar(shown, ax=panels[5], shrink=0.8)
    for panel in panels:
        panel.set_axis_off()
    if path is not None:
        figure.savefig(path, dpi=110)
    return figure


def _draw_grid(panel, result, axis, index):
    """Where the voxels of the slice go, in voxels of the fixed grid; the affine is left out, as it moves all alike."""
    across = [a for a in range(3) if a != axis]
    affine = np.linalg.inv(result.transform.affine_ras)
    moved = result.transform.displacement(result.fixed)
    index_to_world = result.fixed.affine_ras
    grid = np.stack(np.meshgrid(*[np.arange(n) for n in result.fixed.shape], indexing="ij"), axis=-1)
    plane = np.take(grid, index, axis=axis)
    world = plane @ index_to_world[:3, :3].T + index_to_world[:3, 3] + np.take(moved, index, axis=axis)
    world = world @ affine[:3, :3].T + affine[:3, 3]
    back = np.linalg.inv(index_to_world)
    voxels = world @ back[:3, :3].T + back[:3, 3]
    x, y = voxels[..., across[0]], voxels[..., across[1]]
    step = max(1, max(x.shape) // 32)
    for k in range(0, x.shape[0], step):
        panel.plot(x[k], y[k], color="0.2", linewidth=0.6)
    for k in range(0, x.shape[1], step):
        panel.plot(x[:, k], y[:, k], color="0.2", linewidth=0.6)
    panel.set_aspect("equal")
    panel.set_title("deformed grid")
