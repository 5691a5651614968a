// Suites run once per device present. With FREEFLOW_REQUIRE_CUDA=1 a missing GPU is a failure, not
// a silent skip.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <freeflow/core/context.h>
#include <freeflow/core/context_state.h>
#include <freeflow/core/device.h>
#include <freeflow/core/error.h>

namespace freeflow::test {

inline bool cuda_required() {
  const char* value = std::getenv("FREEFLOW_REQUIRE_CUDA");
  return value && std::string(value) == "1";
}

/// Not all GPUs of a machine reach each other's memory.
inline bool can_be_used(const Device& device) {
  try {
    const Context ctx(device);
    return true;
  } catch (const DeviceError&) {
    return false;
  }
}

inline std::vector<Device> devices_to_test() {
  std::vector<Device> devices = available_devices();
  const int gpus = int(devices.size()) - 1;
  if (devices.size() > 2) devices.resize(2);
  const Device together{Device::Kind::cuda, 0, gpus < 3 ? gpus : 3};
  if (gpus > 1 && can_be_used(together)) devices.push_back(together);
  if (cuda_required() && devices.size() < 2)
    devices.push_back({Device::Kind::cuda, 0});  // constructing its context fails the test
  return devices;
}

/// How many voxels a test takes that must fill every multiprocessor: the emulated device has three.
inline std::size_t filling(const Device& device, std::size_t voxels) {
#ifdef FREEFLOW_EMULATED
  if (device.is_cuda()) return voxels / 10;
#endif
  (void)device;
  return voxels;
}

/// How many voxels a test takes that must give every warp `voxels` of them, where warps count into
/// histograms of their own (16 to a multiprocessor); on a CPU there are none.
inline std::size_t filling_warps(const Device& device, std::size_t voxels) {
#ifdef FREEFLOW_EMULATED
  return device.is_cuda() ? 16 * voxels : voxels;
#else
  return device.is_cuda() ? 16 * 132 * voxels : voxels;  // an H200's
#endif
}

/// While it lives, an emulated device has one multiprocessor, which few voxels fill.
struct OneProcessor {
  OneProcessor() { setenv(variable, "1", 1); }
  ~OneProcessor() { unsetenv(variable); }
  OneProcessor(const OneProcessor&) = delete;
  static constexpr const char* variable = "FREEFLOW_EMULATED_PROCESSORS";
};

inline std::string device_suffix(const testing::TestParamInfo<Device>& info) {
  return !info.param.is_cuda() ? "cpu" : info.param.count == 1 ? "cuda" : "gpus";
}

/// A context on a device; where that is several GPUs, they share the smallest work too.
inline Context sharing_context(const Device& device) {
  Context ctx(device);
  if (GpuGroup* const group = ctx.state()->group.get()) group->least = {1, 1};
  ctx.state()->least_shared = 0;
  return ctx;
}

/// Fixture with a context on the device under test, and one on the CPU to compare with.
class OnDevice : public testing::TestWithParam<Device> {
 protected:
  Context ctx = sharing_context(GetParam());
  Context cpu;
};

#define FREEFLOW_ON_EVERY_DEVICE(Suite)                                                          \
  INSTANTIATE_TEST_SUITE_P(Devices, Suite, testing::ValuesIn(freeflow::test::devices_to_test()), \
                           freeflow::test::device_suffix)

}  // namespace freeflow::test
