"""Where work runs."""

import operator
import os
import threading

from . import _arrays, _native

_kept = threading.local()


def _let_idle_threads_go():
    """OpenMP's own call before a fork: it keeps threads for the next work, and a child, which has them not, waits for them for ever.
    They start again when there is work. Nothing happens where the OpenMP lacks the call (libgomp before GCC 9)."""
    try:
        import ctypes

        ctypes.CDLL(_native.__file__).omp_pause_resource_all(2)  # hard: none are left
    except (ImportError, OSError, AttributeError):
        pass


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_let_idle_threads_go)


def _handle(stream):
    """(integer, object to keep alive) of a CUDA stream of torch, cupy, or anything that says __cuda_stream__."""
    if stream is None or isinstance(stream, int):
        return stream, None
    for attribute in ("cuda_stream", "ptr"):
        if isinstance(getattr(stream, attribute, None), int):
            return getattr(stream, attribute), stream
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1], stream
    raise TypeError(f"stream is a {type(stream).__name__}: give torch.cuda.current_stream(), a cupy stream, or the handle as an integer")


def _whole(threads):
    try:
        if not isinstance(threads, bool):
            return operator.index(threads)
    except TypeError:
        pass
    raise TypeError(f"threads must be a whole number, and is {threads!r}")


class Context:
    """A device with its memory, on which registrations run one at a time.

    device: "auto" (the first GPU, else the CPU), "cpu", "cuda" or "cuda:1".
    threads: of the CPU, 0 for all; results do not depend on it.
    stream: a CUDA stream of yours on that GPU (torch.cuda.current_stream(), cupy.cuda.get_current_stream(), an integer
        handle), so that your work and FreeFlow's follow each other without waiting. It is kept alive. Default: CUDA's
        default stream, which torch and cupy work on unless told otherwise.

    A context keeps GPU memory for its next registration; it is given back when the context and all that was made with
    it are gone. Threads may share one: they take turns.
    """

    def __init__(self, device="auto", *, threads=0, stream=None):
        if not isinstance(device, str):
            device = str(device)  # torch.device
        owner = getattr(stream, "device", None)
        index = getattr(owner, "index", None)
        threads = _whole(threads)
        handle, keeper = _handle(stream)
        if handle is not None and handle < 0:
            raise ValueError(f"stream {handle} is no handle of a CUDA stream")
        self._native = _native.Context.make(device, threads, handle, keeper)
        if index is not None and self._native.is_cuda and index != self._native.index:
            raise ValueError(f"stream is one of cuda:{index}, and device is {self.device}")

    @property
    def device(self):
        """ "cpu" or "cuda:0"."""
        return self._native.device

    @property
    def description(self):
        """The hardware's name."""
        return self._native.description

    @property
    def threads(self):
        """Of the CPU."""
        return self._native.threads

    @property
    def stream(self):
        """The handle of the CUDA stream; 0 on the CPU."""
        return self._native.stream

    @property
    def statistics(self):
        """dict: bytes_in_use and peak_bytes of the device, without arrays that are used in place."""
        return self._native.statistics

    def synchronize(self):
        """Waits for all that is queued."""
        self._native.synchronize()

    def __repr__(self):
        return f"freeflow.Context({self.device!r})"


def _gpu_context(device, stream=None, keeper=None):
    """One per thread, GPU and stream, kept: its memory pool and kernels are warm."""
    contexts = _kept.__dict__.setdefault("contexts", {})
    key = (device, stream)
    if key not in contexts:
        made = Context.__new__(Context)
        made._native = _native.Context.make(device, 0, stream, keeper)
        contexts[key] = made
    return contexts[key]


def context_for(arrays, context, device, threads):
    """The context that was given, else one where the arrays lie. arrays: {argument: array}."""
    places = {}
    for name, array in arrays.items():
        places.setdefault(_arrays.device_of(array), name)
    if len(places) > 1:
        (one, first), (other, second) = list(places.items())[:2]
        raise ValueError(f"{first} lies on {one} and {second} on {other}: bring them to one device")
    place, name = next(iter(places.items()))
    if context is not None:
        if not isinstance(context, Context):
            raise TypeError(f"context must be a freeflow.Context, and is a {type(context).__name__}")
        if device != "auto":
            raise ValueError("context and device exclude each other: the context has its device")
        if threads:
            raise ValueError("context and threads exclude each other: freeflow.Context(device, threads=...) has its own")
        if place not in ("cpu", context.device):
            raise ValueError(f"{name} lies on {place}, but context is of {context.device}: copy it there, or take a context of {place}")
        return context
    if not isinstance(device, str):
        device = str(device)
    if place != "cpu":
        if device not in ("auto", "cuda", place):
            raise ValueError(f"{name} lies on {place}, but device is {device}: copy it there, or leave device out")
        stream, keeper = _arrays.current_stream(next(iter(arrays.values())))
        return _gpu_context(place, stream, keeper)
    if device == "cpu" or threads or "cuda" not in "".join(_native.available_devices()):
        return Context(device, threads=threads)
    return _gpu_context("cuda:0" if device in ("auto", "cuda") else device)
