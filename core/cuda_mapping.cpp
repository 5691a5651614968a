// The driver's functions are asked for by name, since a program that were linked with the driver
// would not start where there is none.
#include <freeflow/core/cuda_mapping.h>

#include <cuda.h>

#include <algorithm>
#include <string>

#include <freeflow/core/cuda_runtime.h>
#include <freeflow/core/error.h>
#include <freeflow/core/cuda_check.cuh>

namespace freeflow::cuda_mapping {

namespace {

void* entry_point(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
  cuda_check(cudaGetDriverEntryPointByVersion(name, &function, 11020, cudaEnableDefault, &result));
#else
  cuda_check(cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &result));
#endif
  if (!function) throw DeviceError(std::string("this GPU's driver has no ") + name);
  return function;
}

struct Driver {
  decltype(&cuMemGetAllocationGranularity) granularity;
  decltype(&cuMemAddressReserve) reserve;
  decltype(&cuMemAddressFree) free_addresses;
  decltype(&cuMemCreate) create;
  decltype(&cuMemRelease) release;
  decltype(&cuMemMap) map;
  decltype(&cuMemUnmap) unmap;
  decltype(&cuMemSetAccess) set_access;

  Driver() {
    find(granularity, "cuMemGetAllocationGranularity");
    find(reserve, "cuMemAddressReserve");
    find(free_addresses, "cuMemAddressFree");
    find(create, "cuMemCreate");
    find(release, "cuMemRelease");
    find(map, "cuMemMap");
    find(unmap, "cuMemUnmap");
    find(set_access, "cuMemSetAccess");
  }

 private:
  template <class F>
  static void find(F& function, const char* name) {
    function = reinterpret_cast<F>(entry_point(name));
  }
};

const Driver& driver() {
  static const Driver functions;
  return functions;
}

CUmemAllocationProp on_gpu(int index) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = index;
  return properties;
}

std::size_t bytes_of(const std::vector<Stripe>& stripes) {
  std::size_t bytes = 0;
  for (const Stripe& s : stripes) bytes += s.bytes;
  return bytes;
}

/// Memory that is mapped lives until it is unmapped: the handle need not be kept.
CUresult map_stripe(CUdeviceptr at, std::size_t bytes, int gpu) {
  const CUmemAllocationProp properties = on_gpu(gpu);
  CUmemGenericAllocationHandle handle = 0;
  if (const CUresult error = driver().create(&handle, bytes, &properties, 0)) return error;
  const CUresult error = driver().map(at, bytes, 0, handle, 0);
  driver().release(handle);
  return error;
}

void unmap_stripes(CUdeviceptr begin, const Stripe* stripes, std::size_t count) {
  for (CUdeviceptr at = begin; count > 0; --count, at += stripes++->bytes)
    driver().unmap(at, stripes->bytes);
}

[[noreturn]] void fail(CUresult error) {
  throw DeviceError("CUDA: mapping memory over several GPUs failed with error " +
                    std::to_string(int(error)) + "; take one GPU (--device cuda:0)");
}

}  // namespace

void connect(const Device& device) {
  const auto for_each_pair = [&](const auto& f) {
    for (int a = device.index; a < device.index + device.count; ++a)
      for (int b = device.index; b < device.index + device.count; ++b)
        if (a != b) f(a, b);
  };
  for_each_pair([&](int a, int b) {
    int reaches = 0;
    cuda_check(cudaDeviceCanAccessPeer(&reaches, a, b));
    if (!reaches)
      throw DeviceError(
          "cuda:" + std::to_string(a) + " cannot read the memory of cuda:" + std::to_string(b) +
          ", so one registration cannot be shared by " + device.name() + "; take one GPU");
  });
  // For memory that is lent by others; what is mapped here or comes from a pool says itself who
  // reaches it.
  for_each_pair([&](int a, int b) {
    cuda_runtime::make_current(a);
    const cudaError_t error = cudaDeviceEnablePeerAccess(b, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled)
      cudaGetLastError();
    else
      cuda_check(error);
  });
  cuda_runtime::make_current(device.index);
}

std::size_t page_bytes(const Device& device) {
  std::size_t page = 1;
  for (int k = 0; k < device.count; ++k) {
    const CUmemAllocationProp properties = on_gpu(device.index + k);
    std::size_t bytes = 0;
    if (const CUresult error =
            driver().granularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
      fail(error);
    page = std::max(page, bytes);
  }
  return page;
}

void* map(const Device& device, const std::vector<Stripe>& stripes) {
  const std::size_t bytes = bytes_of(stripes);
  CUdeviceptr begin = 0;
  if (const CUresult error = driver().reserve(&begin, bytes, 0, 0, 0)) {
    if (error == CUDA_ERROR_OUT_OF_MEMORY) return nullptr;
    fail(error);
  }
  CUdeviceptr at = begin;
  std::size_t mapped = 0;
  CUresult error = CUDA_SUCCESS;
  while (mapped < stripes.size() && error == CUDA_SUCCESS) {
    const Stripe& s = stripes[mapped];
    error = map_stripe(at, s.bytes, device.index + s.gpu);
    if (error == CUDA_SUCCESS) ++mapped, at += s.bytes;
  }
  if (error == CUDA_SUCCESS) {
    std::vector<CUmemAccessDesc> everybody(std::size_t(device.count));
    for (int k = 0; k < device.count; ++k) {
      everybody[std::size_t(k)].location = on_gpu(device.index + k).location;
      everybody[std::size_t(k)].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }
    error = driver().set_access(begin, bytes, everybody.data(), everybody.size());
  }
  if (error == CUDA_SUCCESS) return reinterpret_cast<void*>(begin);
  unmap_stripes(begin, stripes.data(), mapped);
  driver().free_addresses(begin, bytes);
  if (error != CUDA_ERROR_OUT_OF_MEMORY) fail(error);
  return nullptr;
}

void unmap(void* pointer, const std::vector<Stripe>& stripes) noexcept {
  const auto begin = reinterpret_cast<CUdeviceptr>(pointer);
  unmap_stripes(begin, stripes.data(), stripes.size());
  driver().free_addresses(begin, bytes_of(stripes));
}

}  // namespace freeflow::cuda_mapping
