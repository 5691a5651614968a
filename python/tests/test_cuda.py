"""On a GPU: the same bits, arrays of torch and cupy that stay where they are, streams, memory. FREEFLOW_REQUIRE_CUDA=1 makes a missing
GPU a failure."""

import gc
import os
import time

import numpy as np
import pytest
from phantom import AFFINE, brain, labels

import freeflow

pytestmark = pytest.mark.cuda
if "cuda:0" not in freeflow.available_devices():
    if os.environ.get("FREEFLOW_REQUIRE_CUDA") == "1":
        pytest.fail("FREEFLOW_REQUIRE_CUDA=1, and there is no GPU", pytrace=False)
    pytest.skip("no GPU", allow_module_level=True)


@pytest.fixture(params=["torch", "cupy"])
def library(request):
    return pytest.importorskip(request.param)


def on_gpu(library, array):
    return library.as_tensor(array, device="cuda") if library.__name__ == "torch" else library.asarray(array)


def to_host(array):
    """With the axes in memory as they are there."""
    return array.cpu().numpy() if hasattr(array, "cpu") else array.get(order="A")


def pointer(array):
    return array.data_ptr() if hasattr(array, "data_ptr") else array.data.ptr


@pytest.mark.parametrize("model", ["flow", "ffd", "affine", "fluid"])
def test_same_bits_as_the_cpu(model):
    fixed, moving = freeflow.Image(brain(0), AFFINE), freeflow.Image(brain(1), AFFINE)
    cpu, gpu = (freeflow.register(fixed, moving, model, levels=2, device=d) for d in ("cpu", "cuda"))
    assert np.array_equal(cpu.transform.displacement(fixed), gpu.transform.displacement(fixed))
    assert np.array_equal(cpu.warped.numpy(), gpu.warped.numpy()) and isinstance(gpu.warped.array, np.ndarray)
    assert np.array_equal(cpu.inverse_warped.numpy(), gpu.inverse_warped.numpy())


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_stay_on_the_gpu(library, order):
    arrays = [on_gpu(library, np.ascontiguousarray(brain(s))) for s in (0, 1)]
    if order == "F":
        arrays = [
            a.permute(2, 1, 0).contiguous().permute(2, 1, 0) if library.__name__ == "torch" else library.asfortranarray(a) for a in arrays
        ]
    fixed, moving = (freeflow.Image(a, AFFINE) for a in arrays)
    context = freeflow.Context(
        "cuda", stream=library.cuda.current_stream() if library.__name__ == "torch" else library.cuda.get_current_stream()
    )
    volume = fixed._volume(context)
    assert pointer(library.from_dlpack(volume.dlpack())) == pointer(arrays[0])  # in place
    result = freeflow.register(fixed, moving, levels=2)
    assert type(result.warped.array) is type(arrays[0]) and result.transform.device == "cuda:0"
    assert tuple(result.warped.array.shape) == tuple(arrays[0].shape)
    host = freeflow.register(*(freeflow.Image(to_host(a), AFFINE) for a in arrays), levels=2, device="cpu")
    assert np.array_equal(to_host(result.warped.array), host.warped.numpy())
    field = library.from_dlpack(result.transform)
    assert field.shape[0] == 3 and pointer(field) != 0
    out = result.transform.apply(freeflow.Image(on_gpu(library, np.ascontiguousarray(labels(1))), AFFINE))
    assert str(out.array.dtype).endswith("int16") and type(out.array) is type(arrays[0])
    assert np.array_equal(to_host(out.array), host.transform.apply(freeflow.Image(np.ascontiguousarray(labels(1)), AFFINE)).numpy())


def test_what_is_queued_before_is_seen(library):
    """The array is written by kernels that may still wait when register() is called, on the default stream and on another."""
    host = [np.ascontiguousarray(brain(s)) for s in (0, 1)]
    expected = freeflow.register(*host, levels=1, iterations=2, device="cpu").transform.numpy()
    base = [on_gpu(library, array) for array in host]
    streams = [library.cuda.Stream()] if library.__name__ == "cupy" else [library.cuda.current_stream(), library.cuda.Stream()]
    for stream in streams:
        if library.__name__ == "torch":
            stream.wait_stream(library.cuda.current_stream())
        else:
            library.cuda.Device().synchronize()
        with stream if library.__name__ == "cupy" else library.cuda.stream(stream):
            big = on_gpu(library, np.ones((3000, 3000), np.float32))
            arrays = [b * 0 for b in base]
            for _ in range(30):
                big = big @ big * 1e-4
            arrays = [a + b + 0 * big[0, 0] for a, b in zip(arrays, base)]
            result = freeflow.register(*arrays, levels=1, iterations=2)
            got = result.transform.numpy()
        assert np.array_equal(got, expected)


def test_results_outlive_what_made_them(library):
    def warped():
        arrays = [on_gpu(library, np.ascontiguousarray(brain(s))) for s in (0, 1)]
        return freeflow.register(*arrays, levels=1, iterations=2).warped.array

    kept = warped()
    expected = to_host(kept).copy()
    gc.collect()
    junk = [on_gpu(library, np.full(brain(0).shape, 9, np.float32)) for _ in range(20)]
    assert np.array_equal(to_host(kept), expected) and junk


def test_padding_background_and_clip_where_the_array_lies(library):
    padded = [np.where(np.arange(36)[:, None, None] < 3, np.float32(-2000), np.ascontiguousarray(brain(s))) for s in (0, 1)]
    arguments = {"levels": 1, "iterations": 2, "clip": (5, 90)}
    for more in ({}, {"background": -2000}):
        host = freeflow.register(*padded, **arguments, **more, device="cpu")
        gpu = freeflow.register(*(on_gpu(library, a) for a in padded), **arguments, **more)
        assert gpu.transform.device == "cuda:0" and np.array_equal(gpu.transform.numpy(), host.transform.numpy())


def test_a_cohort_on_the_gpu_has_the_bits_of_separate_registrations(library):
    template, *others = (on_gpu(library, np.ascontiguousarray(brain(s))) for s in (0, 1, 2))
    many = list(freeflow.register_many([(template, other) for other in others], levels=2, iterations=4))
    for other, result in zip(others, many, strict=True):
        alone = freeflow.register(template, other, levels=2, iterations=4)
        assert np.array_equal(result.transform.numpy(), alone.transform.numpy())
        assert np.array_equal(result.transform.inverse().numpy(), alone.transform.inverse().numpy())
        assert result.report["similarity"] == alone.report["similarity"]


def test_devices_that_do_not_fit_are_refused(library):
    gpu, cpu = on_gpu(library, np.ascontiguousarray(brain(0))), brain(1)
    with pytest.raises(ValueError, match="fixed lies on cuda:0 and moving on cpu"):
        freeflow.register(gpu, cpu)
    with pytest.raises(ValueError, match="fixed lies on cuda:0, but device is cpu"):
        freeflow.register(gpu, gpu, device="cpu")
    with pytest.raises(ValueError, match="lies on cuda:0, but context is of cpu"):
        freeflow.register(gpu, gpu, context=freeflow.Context("cpu"))
    with pytest.raises((ValueError, freeflow.DeviceError), match="cuda:55"):
        freeflow.Context("cuda:55")


def test_a_stream_of_another_device_is_refused():
    torch = pytest.importorskip("torch")
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    with pytest.raises(ValueError, match="stream is one of cuda:1"):
        freeflow.Context("cuda:0", stream=torch.cuda.Stream("cuda:1"))


def test_memory_does_not_grow():
    torch = pytest.importorskip("torch")
    arrays = [on_gpu(torch, np.ascontiguousarray(brain(s))) for s in (0, 1)]

    def free():
        gc.collect()
        torch.cuda.synchronize()
        return torch.cuda.mem_get_info()[0]

    for n in range(1000):
        result = freeflow.register(*arrays, levels=1, iterations=1, linear="none", start="none")
        result.warped, result.inverse_warped
        if n == 50:
            before = free()
    assert before - free() < 8 << 20


def test_no_more_copies_than_the_library_makes():
    """Bytes between host and GPU in a warm registration of tensors, counted by torch's profiler (CUPTI)."""
    torch = pytest.importorskip("torch")
    arrays = [on_gpu(torch, np.ascontiguousarray(brain(s))) for s in (0, 1)]

    def work():
        return freeflow.register(*arrays, levels=2, iterations=3).warped.array

    work()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        work()
        torch.cuda.synchronize()
    copies = [e for e in profile.events() if "HtoD" in e.name or "DtoH" in e.name]
    if not profile.events():
        pytest.skip("the profiler sees nothing here")
    seconds = sum(e.device_time_total for e in copies) * 1e-6
    print(f"{len(copies)} copies, {seconds * 1e6:.0f} us in all")
    assert seconds < 2e-3 + len(copies) * 5e-6  # numbers, never volumes (a volume here takes some 20 us from pageable memory)


def test_time_of_tensors_against_the_librarys_own():
    torch = pytest.importorskip("torch")
    shape = (160, 192, 224)
    coarse = [np.ascontiguousarray(np.kron(brain(s, (40, 48, 56)), np.ones((4, 4, 4), np.float32))) for s in (0, 1)]
    tensors = [on_gpu(torch, a) for a in coarse]
    assert tensors[0].shape == shape
    times = []
    for _ in range(4):
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = freeflow.register(*tensors)
        result.warped.array.sum().item()
        whole = time.perf_counter() - start
        own = sum(result.report["seconds"][k] for k in ("linear", "nonrigid", "inverting")) + result.report.get("start", {}).get(
            "seconds", 0
        )
        times.append((whole, own))
    print("seconds, whole and the library's own:", [(round(a, 4), round(b, 4)) for a, b in times])
    assert min(a - b for a, b in times[1:]) < 0.02
