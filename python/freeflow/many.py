"""Many registrations, one after the other."""

import os
import time

from . import _arrays
from ._native import DeviceError, RegistrationError
from .context import Context, context_for
from .image import Image
from .inputs import Inputs, Side
from .registration import Call

_OF_A_PAIR = (ValueError, TypeError, OSError, MemoryError, RegistrationError, DeviceError)


def register_many(pairs, model="flow", *, keep_going=False, context=None, device="auto", threads=0, progress=None, **arguments):
    """Registers one pair after the other and yields a Registration for each, with one context and its memory. The bits are
    those of register().

    While a pair is computed the next one is read on a thread. An image that two pairs in succession have, the same
    object or path with the same mask on the same side, is read once and keeps its pyramid: a template's, say. Images in
    memory must stay as they are meanwhile.

    pairs: an iterable of (fixed, moving), or of dicts of register()'s arguments (fixed, moving, fixed_mask, init ...).
    keep_going: a pair that fails yields its exception, and the next one follows; else it is raised.
    progress: a function (done, result), called after each pair; True: tqdm where it is installed.
    """
    shared = context or (Context(device, threads=threads) if device != "auto" or threads else None)
    tell = progress if callable(progress) else None
    return _run(_counted(pairs, progress), {"model": model, **arguments}, keep_going, _Places(shared), tell)


def _counted(pairs, progress):
    if progress is not True:
        return pairs
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return pairs
    return tqdm(pairs, desc="registrations")


def _run(pairs, arguments, keep_going, places, tell):
    from concurrent.futures import ThreadPoolExecutor

    pairs, reader, kept = iter(pairs), _Reader(arguments), _Kept()
    with ThreadPoolExecutor(1, "freeflow-reading") as thread:
        done, reading = 0, reader.begin(pairs, thread)
        while reading is not None:
            result = following = images = None  # those of the pair before, before the next ones take memory
            try:
                call, inputs, seconds = reading()
                following = reader.begin(pairs, thread)
                context = places.context(inputs)
                start = time.perf_counter()
                inputs.leave_stripped_out(context)
                looked = time.perf_counter()
                images = kept.prepared(inputs, context)
                seconds = {"reading": seconds + time.perf_counter() - looked, "stripped": looked - start}
                result = call.run(inputs, images, context, seconds)
            except _OF_A_PAIR as error:
                if not keep_going:
                    raise
                result, following = error.with_traceback(None), following or reader.begin(pairs, thread)
            done += 1
            if tell:
                tell(done, result)
            reading = following
            yield result


class _Reader:
    """Pairs as registrations take them. A side that is the one of the pair before is not read again."""

    def __init__(self, arguments):
        self._arguments, self._before = arguments, {}

    def begin(self, pairs, thread):
        """What gives (call, inputs, seconds) of the next pair or raises what is wrong with it; None after the last."""
        try:
            pair = next(pairs)
            if not isinstance(pair, (dict, tuple, list)) or not (isinstance(pair, dict) or len(pair) == 2):
                raise ValueError(f"a pair is (fixed, moving) or a dict of register()'s arguments, and one of pairs is a {_what(pair)}")
            given = dict(pair) if isinstance(pair, dict) else dict(zip(("fixed", "moving"), pair))
        except StopIteration:
            return None
        except Exception as error:
            return _raising(error)
        given = {**self._arguments, **given}
        if _on_gpu(given):  # there is nothing to read, and its stream is this thread's
            return lambda: self._read(given)
        return thread.submit(self._read, given).result

    def _read(self, given):
        start = time.perf_counter()
        sides = {}
        for name in ("fixed", "moving"):
            if given.get(name) is None:
                raise TypeError(f"a pair has no {name} image")
            sides[name] = given.pop(name), given.pop(name + "_mask", None)
        shared = {name: given.pop(name, None) for name in ("background", "clip")}
        call = Call(**given)
        inputs = Inputs(**{name: self._side(name, *side, shared) for name, side in sides.items()})
        return call, inputs, time.perf_counter() - start

    def _side(self, name, images, mask, shared):
        key = (_identity(images), _identity(mask), repr(shared))
        if name not in self._before or self._before[name][0] != key:
            self._before.pop(name, None)
            # Objects are kept, so that no other one takes their identity.
            self._before[name] = (key, Side(images, mask, name, **shared), images, mask)
        return self._before[name][1]


def _what(pair):
    return f"{type(pair).__name__} of {len(pair)}" if isinstance(pair, (tuple, list)) else type(pair).__name__


def _raising(error):
    def give():
        raise error

    return give


def _identity(given):
    if isinstance(given, (list, tuple)):
        return tuple(map(_identity, given))
    if isinstance(given, (str, os.PathLike)):
        return os.path.abspath(given)
    return (id(given), id(given.array)) if isinstance(given, Image) else id(given)


def _on_gpu(given):
    for name in ("fixed", "moving", "fixed_mask", "moving_mask"):
        images = given.get(name)
        for image in images if isinstance(images, (list, tuple)) else [images]:
            array = image.array if isinstance(image, Image) else image
            if getattr(array, "is_cuda", False) or _arrays.library_of(array) == "cupy":
                return True
    return False


class _Places:
    """The context of each pair: one for all whose images lie in host memory."""

    def __init__(self, given):
        self._given, self._of_host = given, None

    def context(self, inputs):
        arrays = inputs.arrays()
        if self._given or any(_arrays.device_of(array) != "cpu" for array in arrays.values()):
            return context_for(arrays, self._given, "auto", 0)
        self._of_host = self._of_host or context_for(arrays, None, "auto", 0)
        return self._of_host


class _Kept:
    """The images of the pair before as they were prepared."""

    def __init__(self):
        self._before = {}

    def prepared(self, inputs, context):
        sides, before = inputs.sides, self._before
        self._before = {
            name: kept
            for name, kept in before.items()
            if kept[0] is sides[name] and kept[1] is context._native and kept[2] == inputs.counted(name)
        }
        for name, side in sides.items():
            if name not in self._before:
                counted = inputs.counted(name)
                self._before[name] = (side, context._native, counted, side.prepared(context, counted))
        return [self._before[name][3] for name in sides]
