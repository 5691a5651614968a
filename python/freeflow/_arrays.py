"""Arrays of numpy, torch and cupy, recognised without being imported, as the compiled part takes them."""

import sys

import numpy as np

from . import _native


def library_of(array):
    """ "numpy", "torch", "cupy", or None for anything else."""
    for name, kind in (("numpy", "ndarray"), ("torch", "Tensor"), ("cupy", "ndarray")):
        module = sys.modules.get(name)
        if module is not None and isinstance(array, getattr(module, kind)):
            return name
    return None


def recognised(array, name):
    """The array, or what numpy makes of it. Raises TypeError naming the argument."""
    if np.ma.is_masked(array):
        raise TypeError(f"{name} is a masked array, whose mask is not looked at: give its astype('float32').filled(numpy.nan), or a mask beside it")
    if library_of(array) in ("numpy", "cupy") and array.dtype.kind not in "biuf":
        refuse_dtype(array, name)
    if library_of(array):
        device_of(array)
        require_memory(array, name)
        if library_of(array) == "torch" and (array.is_complex() or array.is_quantized):
            refuse_dtype(array, name)
        # torch hands such a view to nobody, numpy least of all
        return array.resolve_neg() if library_of(array) == "torch" and array.is_neg() else array
    if hasattr(array, "__dlpack__"):
        if array.__dlpack_device__()[0] == 1:
            return np.from_dlpack(array)
        raise TypeError(f"{name} is a {type(array).__name__} on a GPU: give torch.from_dlpack(...) or cupy.from_dlpack(...) of it")
    try:
        made = np.asarray(array)
    except Exception as error:
        raise TypeError(f"{name} is no array: {error}") from error
    if made.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be an image or an array of numbers, and is a {type(array).__name__}")
    return made


def require_memory(array, name):
    """torch frees the memory of a tensor that is still there where its storage is resized."""
    if library_of(array) != "torch" or array.numel() == 0:
        return
    if array.layout != sys.modules["torch"].strided:
        raise TypeError(f"{name} is a tensor of the layout {array.layout}: give its to_dense()")
    last = array.storage_offset() + sum((n - 1) * s for n, s in zip(array.shape, array.stride()))
    storage = array.untyped_storage() if hasattr(array, "untyped_storage") else array.storage()  # before torch 2
    if storage.nbytes() < (last + 1) * array.element_size():
        raise ValueError(f"{name} is a tensor whose memory has been freed")


def device_of(array):
    """ "cpu" or "cuda:1". Raises ValueError for a tensor of another device."""
    if library_of(array) == "torch" and array.is_cuda:
        return f"cuda:{array.device.index}"
    if library_of(array) == "cupy":
        return f"cuda:{array.device.id}"
    if library_of(array) == "torch" and array.device.type != "cpu":
        raise ValueError(f"a tensor lies on {array.device}, and work runs on the CPU or on CUDA GPUs: move it there first")
    return "cpu"


def current_stream(array):
    """(handle, object that keeps it alive) of the stream on which the array's library works now."""
    if library_of(array) == "torch":
        stream = sys.modules["torch"].cuda.current_stream(array.device)
        return stream.cuda_stream, stream
    stream = sys.modules["cupy"].cuda.get_current_stream()
    return stream.ptr, stream


def require_volume(array, name):
    shape = tuple(array.shape)
    if len(shape) != 3:
        raise ValueError(
            f"{name} has {len(shape)} dimensions, and a volume has 3"
            + (
                "; a 2-D image is one of shape (i, j, 1)"
                if len(shape) == 2
                else "; channels are given as a list of volumes (Image.channels)" if len(shape) == 4 else ""
            )
        )
    if 0 in shape:
        raise ValueError(f"{name} has a side of no voxels: its shape is {shape}")


def memory_axes(array):
    """The axes as they follow each other in memory, the fastest first; those of one voxel before repeated ones, as in a copy."""
    strides = array.stride() if library_of(array) == "torch" else array.strides
    return sorted(range(len(strides)), key=lambda a: (abs(strides[a]) if array.shape[a] > 1 else -1, -a))


def laid_out_as(array, like):
    """A copy without gaps whose axes follow each other in memory as those of `like`."""
    order = memory_axes(like)[::-1]
    back = [order.index(a) for a in range(len(order))]
    if library_of(array) == "torch":
        return array.permute(order).contiguous().permute(back)
    return array.transpose(order).copy(order="C").transpose(back)


def in_file_order(array):
    """With the first axis the fastest in memory, as files have volumes: itself, or a copy."""
    if library_of(array) == "torch":
        return array.permute(2, 1, 0).contiguous().permute(2, 1, 0)
    return sys.modules[library_of(array)].asfortranarray(array)


def _is_dense(shape, strides, itemsize):
    expected = itemsize
    for stride, side in sorted((s, n) for s, n in zip(strides, shape) if n > 1):
        if stride != expected:
            return False
        expected *= side
    return True


def refuse_dtype(array, name):
    raise TypeError(f"{name} has the dtype {array.dtype}; voxels are real numbers: float32 is used in place, others are converted")


def dense(array, kind, name):
    """The array itself where it is of that type ("float32", "int32") and without gaps, in whatever order; else a copy whose axes keep
    their order, which is that of the array's grid."""
    if library_of(array) == "torch":
        require_memory(array, name)
        made = array.detach().to(getattr(sys.modules["torch"], kind))
        without_gaps = _is_dense(made.shape, made.stride(), 1)
    else:
        if array.dtype.kind not in "biuf":
            refuse_dtype(array, name)
        made = array.astype(kind, order="K", copy=False)
        without_gaps = _is_dense(made.shape, made.strides, made.itemsize)
    # Where voxels are repeated torch converts them into an order of its own.
    return made if without_gaps and memory_axes(made) == memory_axes(array) else laid_out_as(made, array)


def to_native(array, placement, context, name, labels=False):
    """A volume of the compiled part that refers to the array, or to a copy on the context's GPU."""
    kind = _native.LabelVolume if labels else _native.Volume
    array = dense(array, "int32" if labels else "float32", name)
    if library_of(array) == "numpy":
        handed = array
    elif device_of(array) == "cpu":
        handed = array.__dlpack__()
    else:
        # What is queued on the array's stream is done before what the context queues.
        handed = array.__dlpack__(stream=context.stream or None) if device_of(array) == context.device else array.__dlpack__()
    return kind.of_array(context._native, handed, placement, name)


def from_native(volume, like):
    """An array of the library of `like`, where the volume is; of numpy and of torch on the CPU where `like` is one of those."""
    library = library_of(like)
    if library == "numpy" or library is None:
        return volume.numpy()
    if library == "torch":
        torch = sys.modules["torch"]
        return torch.from_dlpack(volume.dlpack()) if like.is_cuda else torch.from_numpy(volume.numpy())
    return sys.modules["cupy"].from_dlpack(volume.dlpack())


def to_numpy(array):
    library = library_of(array)
    if library == "torch":
        require_memory(array, "the image")
        return array.detach().cpu().numpy()
    if library == "cupy":
        return array.get()
    return np.asarray(array)


def smallest(array):
    """The smallest finite value, as a float; 0 where there is none."""
    library = library_of(array)
    if library == "torch":
        finite = array[array.isfinite()] if array.is_floating_point() else array
        return float(finite.min()) if finite.numel() else 0.0
    module = sys.modules[library]
    if array.dtype.kind == "f":
        low = float(module.fmin.reduce(array, axis=None)) if library == "numpy" else float(module.nanmin(array))
        if np.isfinite(low):
            return low
        array = array[module.isfinite(array)]
    return float(array.min()) if array.size else 0.0


def _finite(array):
    """Where float32, by which voxels are registered, has a number for them."""
    with np.errstate(over="ignore"):
        converted = _as_float32(array)
    return converted.isfinite() if library_of(array) == "torch" else sys.modules[library_of(array)].isfinite(converted)


def without_infinities(array):
    """Voxels that are infinite, or beyond float32, count as those without a value (NaN), as the programs read them. (array, how many
    have no value)"""
    torch = library_of(array) == "torch"
    if not (array.is_floating_point() if torch else array.dtype.kind == "f"):
        return array, 0
    finite = _finite(array)
    missing = int(np.prod(tuple(array.shape))) - int(finite.sum())
    if missing and bool((~finite & (array == array)).any()):  # NaN is not
        array = array.clone() if torch else array.copy(order="K")
        array[~finite] = float("nan")
    return array, missing


def _is_unsigned(array):
    if library_of(array) == "torch":
        return str(array.dtype).startswith(("torch.bool", "torch.uint"))
    return array.dtype.kind in "bu"


def padding(array):
    """What apps/intensities.h says of padding: its value, or None. The array stays where it is."""
    if _is_unsigned(array):
        return None
    least = np.float32(smallest(array))
    if not least < 0:
        return None
    array = _as_float32(array)
    padded = array == float(least)
    others = array[array > float(least)]  # NaN is not
    if int(padded.sum()) < 1e-3 * int(np.prod(tuple(array.shape))) or 0 in others.shape:
        return None
    low, high = np.float32(float(others.min())), np.float32(float(others.max()))
    if least < -1500:
        return least if low >= -1500 and low - least >= 400 else None
    if not (low >= 0 and high > low and low - least >= np.float32(0.1) * (high - low)):
        return None
    without = np.where(to_numpy(padded), np.float32(np.nan), to_numpy(array))
    return least if masked_background(without) is None else None


def masked_background(array):
    """What registration/levels/masked_background.h says of NaN around an object: where it is (a numpy array), or None."""
    found = _native.masked_background(np.asfortranarray(to_numpy(_as_float32(array))))
    return None if found is None else found.astype(bool)


def holds(array, value):
    """Whether a voxel has this value, which may be NaN."""
    array = _as_float32(array)
    return bool(((array != array) if np.isnan(value) else (array == float(value))).any())


def holds_only(array, value):
    """Whether no voxel has another value; NaN is none."""
    array = _as_float32(array)
    return not bool(((array == array) & (array != float(np.float32(value)))).any())


def leaves_nothing(array, clip):
    """Whether a clip leaves one value, as all voxels lie to one side of it."""
    array = _as_float32(array)
    return not bool((array > float(clip[0])).any()) or not bool((array < float(clip[1])).any())


def share_above(array, limit):
    """Of the voxels with a value, the share above a limit."""
    array = _as_float32(array)
    return int((array > float(np.float32(limit))).sum()) / max(int((array == array).sum()), 1)


def content(array):
    """How many voxels have a value, other than the corners' where those have one. The array stays where it is."""
    corners = array[tuple(slice(None, None, max(int(n) - 1, 1)) for n in array.shape)]
    corners = corners[corners == corners]  # NaN is not
    held = array == array
    if len(corners) > 0 and bool((corners == corners[0]).all()):
        held &= array != corners[0]
    return int(held.sum())


def looks_like_labels(array):
    """What apps/regtool/series_resampler.cpp says of whole numbers of several kinds (here 1000 at most), of which most are like their
    neighbours: an image has noise. What is as the first voxel, or 0, is background and says nothing. The array stays where it is."""
    array = _as_float32(array)
    module = sys.modules[library_of(array)]
    if not bool(((array == module.floor(array)) & module.isfinite(array)).all()):
        return False
    here, following = _neighbours(array)
    return int((here == following).sum()) > 0.6 * len(here) and 2 <= len(module.unique(here)) <= 1000


def looks_like_an_image(array):
    """The other way round, of integers: several kinds, of which most are unlike their neighbours. A mask is neither."""
    here, following = _neighbours(_as_float32(array))
    return int((here == following).sum()) <= 0.6 * len(here) and 2 <= len(sys.modules[library_of(here)].unique(here))


def _neighbours(array):
    """Of voxels that follow each other along the first axis, where neither is background: (the one, the next)."""
    counts = (array != 0) & (array != float(array[0, 0, 0]))
    both = counts[:-1] & counts[1:]
    return array[:-1][both], array[1:][both]


def slope_at_zero(array, spacing_mm):
    """What apps/surface_input.cpp says of a distance: the mean length of its gradient, per mm, where it changes sign; 1 where it does
    not. In host memory."""
    d = to_numpy(_as_float32(array))
    if min(d.shape) < 3:
        return 1.0
    inner, following = slice(1, -1), slice(2, None)
    inside = d < 0
    crossed = np.zeros([n - 2 for n in d.shape], bool)
    for axis in range(3):
        crossed |= inside[inner, inner, inner] != inside[tuple(following if a == axis else inner for a in range(3))]
    at = np.argwhere(crossed) + 1
    ahead, behind = (np.stack([d[tuple((at + step).T)] for step in sign * np.eye(3, dtype=int)], axis=1) for sign in (1, -1))
    with np.errstate(invalid="ignore"):
        length = np.linalg.norm((ahead.astype(np.float64) - behind) / (2 * np.asarray(spacing_mm)), axis=1)
    length = length[np.isfinite(length)]
    return float(length.mean()) if len(length) else 1.0


def filled(array, where):
    """A copy with the smallest value there, where it lies."""
    least = smallest(array)
    array = array.clone() if library_of(array) == "torch" else array.copy(order="K")
    array[beside(where, array)] = least
    return array


def beside(found, array):
    """A numpy array, where another one lies and of its library."""
    library = library_of(array)
    if library == "torch":
        return sys.modules["torch"].from_numpy(found).to(array.device)
    return sys.modules[library].asarray(found)


def _as_float32(array):
    """Itself where it is."""
    if library_of(array) == "torch":
        return array.detach().float()
    return array.astype(np.float32, order="K", copy=False)


def as_seen(array, background, clip, name):
    """A copy as a registration looks at it, where it lies: voxels of the value `background` are NaN, the others cut to `clip`."""
    seen = dense(array, "float32", name)
    without = None if background is None else seen == float(background)
    if library_of(array) == "torch":
        seen = seen.clamp(*map(float, clip)) if clip else seen.clone()
    else:
        seen = seen.clip(*clip) if clip else seen.copy(order="K")
    if without is not None:
        seen[without] = float("nan")
    return seen


def measured_part(array, padding=None, cut_out=False):
    """What apps/measured_part.h says of an image that ends in planes within its grid, or fills a box in it, which is a field of view:
    ((begin, end) along each axis, whether it fills them), or None. padding: its value, where there is some; cut_out: whether NaN lies
    around an object. The array stays where it is."""
    array = _as_float32(array)
    if padding is None:
        return _part_of_unpadded(array, cut_out)
    inner = _box_of(_profiles(array, float(padding)))
    found = inner and _part_of_unpadded(array[tuple(slice(*ends) for ends in inner)], cut_out)
    if not found:
        return None
    box, fills = found
    return tuple((first + begin, first + end) for (first, _), (begin, end) in zip(inner, box)), fills


def _part_of_unpadded(array, cut_out):
    background = _background_of_a_side(array, cut_out)
    if background is None:
        return None
    profiles = _profiles(array, background)
    box = _filled_box(array, profiles)
    if box:
        return box, True
    ends = [(_plane_at(counts), _plane_at(counts[::-1])) for counts in profiles]
    planes = sum(end > 0 for both in ends for end in both)
    box = tuple((first, len(counts) - last) for (first, last), counts in zip(ends, profiles))
    return (box, False) if 1 <= planes <= 2 else None


def _profiles(array, background):
    """How many voxels of each slice across an axis are not background, which may be NaN."""
    content = array == array if np.isnan(background) else array != background
    return [np.array(content.sum(tuple(a for a in range(3) if a != axis)).tolist()) for axis in range(3)]


def _box_of(profiles):
    """The smallest box about all that holds something; None where nothing does."""
    if not profiles[0].any():
        return None
    return tuple((int(held[0]), int(held[-1]) + 1) for held in map(np.flatnonzero, profiles))


_EMPTY = 3  # slices beyond an end


def _filled_box(array, profiles):
    """What differs from the background, where that fills a box of many values within the grid."""
    filled, least_share_of_grid = 0.85, 0.1
    box = _box_of(profiles)
    if not box or all(begin < _EMPTY and n - end < _EMPTY for (begin, end), n in zip(box, array.shape)):
        return None
    volume = np.prod([end - begin for begin, end in box])
    if profiles[0].sum() < filled * volume or volume < least_share_of_grid * np.prod(array.shape):
        return None
    x, y, z = ((begin + end) // 2 for begin, end in box)
    row = array[box[0][0]:box[0][1], y, z]
    solid = 2 * int((row == array[x, y, z]).sum()) > len(row)
    return None if solid else box


def _background_of_a_side(array, may_be_nan):
    """The value that fills a side of the grid, as far as two corners and the middle show."""
    for axis in range(3):
        for end in (0, -1):
            corners_and_middle = []
            for at in ([0, 0, 0], [n // 2 for n in array.shape], [-1, -1, -1]):
                at[axis] = end
                corners_and_middle.append(float(array[tuple(at)]))
            if len(set(corners_and_middle)) == 1 or (may_be_nan and np.isnan(corners_and_middle).all()):
                return corners_and_middle[0]
    return None


def _plane_at(counts):
    """The first slice that holds something, where the object ends there in a plane; else 0."""
    first = int(np.argmax(counts > 0))
    plane = first >= _EMPTY and len(counts) - first >= 2 and min(counts[first : first + 2]) >= 0.5 * counts.max()
    return first if plane else 0


def within(array, part, name):
    """A copy where it lies, whose voxels beyond that part are NaN."""
    seen = dense(array, "float32", name)
    seen = seen.clone() if library_of(array) == "torch" else seen.copy(order="K")
    for axis, (begin, end) in enumerate(part):
        for beyond in (slice(None, begin), slice(end, None)):
            seen[(slice(None),) * axis + (beyond,)] = float("nan")
    return seen
