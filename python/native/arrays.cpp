#include <freeflow/python/native/arrays.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include <freeflow/core/error.h>

namespace nb = nanobind;

namespace freeflow::python {

namespace {

/// Memory that any host code reaches: plain, page-locked, or managed by CUDA.
bool on_host(int device_type) {
  return device_type == nb::device::cpu::value || device_type == nb::device::cuda_host::value;
}

std::string device_name(int device_type, int index) {
  if (on_host(device_type)) return "the CPU";
  if (device_type == nb::device::cuda::value || device_type == nb::device::cuda_managed::value)
    return "cuda:" + std::to_string(index);
  return "device type " + std::to_string(device_type) + " of DLPack";
}

/// Copies to a GPU and waits, since the array may change as soon as the caller has it back.
template <class T>
Volume<T> uploaded(PyContext& context, const Geometry& geometry, const T* host) {
  return on(context, [&](Context& ctx) {
    Buffer<T> voxels(ctx, geometry.extent.count());
    ctx.copy_to_device(voxels.data(), host, voxels.size() * sizeof(T));
    ctx.synchronize();
    return Volume<T>(geometry, std::move(voxels));
  });
}

}  // namespace

Grid grid_of(const std::array<std::int64_t, 3>& shape, const MemoryAxes& axes,
             const Placement& placement, const std::string& what) {
  Grid grid;
  grid.axes = axes;
  int sides[3];
  for (std::size_t m = 0; m < 3; ++m) {
    const auto a = std::size_t(axes[m]);
    require(shape[a] > 0 && shape[a] <= INT32_MAX,
            what + " has a side of " + std::to_string(shape[a]) + " voxels");
    sides[m] = int(shape[a]);
    grid.geometry.spacing[Eigen::Index(m)] = placement.spacing[a];
    for (std::size_t row = 0; row < 3; ++row)
      grid.geometry.direction(Eigen::Index(row), Eigen::Index(m)) = placement.direction_lps[row][a];
    grid.geometry.origin[Eigen::Index(m)] = placement.origin_lps[m];
  }
  grid.geometry.extent = {sides[0], sides[1], sides[2]};
  grid.geometry.validate(what.c_str());
  return grid;
}

std::array<std::size_t, 3> array_shape(const Grid& grid) {
  std::array<std::size_t, 3> shape{};
  for (int m = 0; m < 3; ++m)
    shape[std::size_t(grid.axes[std::size_t(m)])] = std::size_t(grid.geometry.extent[m]);
  return shape;
}

Placement placement_of(const Grid& grid) {
  Placement placement{};
  for (std::size_t m = 0; m < 3; ++m) {
    const auto a = std::size_t(grid.axes[m]);
    placement.spacing[a] = grid.geometry.spacing[Eigen::Index(m)];
    for (std::size_t row = 0; row < 3; ++row)
      placement.direction_lps[row][a] = grid.geometry.direction(Eigen::Index(row), Eigen::Index(m));
    placement.origin_lps[m] = grid.geometry.origin[Eigen::Index(m)];
  }
  return placement;
}

MemoryAxes memory_axes(const std::array<std::int64_t, 3>& shape,
                       const std::array<std::int64_t, 3>& strides, const std::string& what) {
  MemoryAxes axes{2, 1, 0};  // a side of one voxel may have any stride: then as in C order
  std::stable_sort(axes.begin(), axes.end(), [&](int a, int b) {
    const auto stride = [&](int axis) {
      return shape[std::size_t(axis)] == 1 ? 0 : strides[std::size_t(axis)];
    };
    return stride(a) < stride(b);
  });
  std::int64_t dense = 1;
  for (const int a : axes) {
    const auto axis = std::size_t(a);
    require(shape[axis] == 1 || strides[axis] == dense,
            what + " is a view with gaps or turned axes; copy it first");
    dense *= shape[axis];
  }
  return axes;
}

template <class T>
PyVolume<T> volume_of(const SharedContext& context, const AnyArray<T>& array,
                      const Placement& placement, const std::string& what) {
  std::array<std::int64_t, 3> shape{}, strides{};
  for (std::size_t a = 0; a < 3; ++a) {
    shape[a] = std::int64_t(array.shape(a));
    strides[a] = array.stride(a);
  }
  const Grid grid = grid_of(shape, memory_axes(shape, strides, what), placement, what);
  const Device& device = context->context.device();
  const bool here = device.is_cuda()
                        ? !on_host(array.device_type()) && array.device_id() == device.index
                        : on_host(array.device_type());
  if (device.is_cuda() && on_host(array.device_type()))
    return {context, uploaded(*context, grid.geometry, array.data()), grid.axes};
  require(here, what + " lies on " + device_name(array.device_type(), array.device_id()) +
                    ", but the work is to run on " + device.name() +
                    ": copy the array there, or take a context of its device");
  // The library takes images by const reference and never writes to them.
  auto* const data = const_cast<T*>(array.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  Buffer<T> lent = Buffer<T>::lent(context->context, data, grid.geometry.extent.count(),
                                   std::make_shared<AnyArray<T>>(array));
  return {context, Volume<T>(grid.geometry, std::move(lent)), grid.axes};
}

template PyVolume<float> volume_of(const SharedContext&, const AnyArray<float>&, const Placement&,
                                   const std::string&);
template PyVolume<std::int32_t> volume_of(const SharedContext&, const AnyArray<std::int32_t>&,
                                          const Placement&, const std::string&);

}  // namespace freeflow::python
