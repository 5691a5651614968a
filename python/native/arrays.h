// Arrays of numpy, torch, cupy and others as volumes, and back. An array is indexed (i, j, k) as
// its affine says; a volume has one axis fastest in memory. So that either order is used in place,
// the volume's axes are the array's in the order of memory, and its geometry's columns go along.
#pragma once

#include <array>
#include <memory>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <freeflow/core/volume.h>
#include <freeflow/python/native/context.h>

namespace freeflow::python {

/// The array's axis that each axis of memory is, fastest first: {0, 1, 2} in Fortran order,
/// {2, 1, 0} in C order.
using MemoryAxes = std::array<int, 3>;

/// A grid as arrays on it lie in memory.
struct Grid {
  Geometry geometry;  ///< axes in the order of memory
  MemoryAxes axes = {0, 1, 2};
};

/// Where an array's voxels lie, in the order of its own axes.
struct Placement {
  std::array<double, 3> spacing, origin_lps;
  std::array<std::array<double, 3>, 3> direction_lps;  ///< rows; columns are the array's axes
};

/// Throws InvalidArgument, naming `what`, for sizes or a placement that no volume has.
Grid grid_of(const std::array<std::int64_t, 3>& shape, const MemoryAxes& axes,
             const Placement& placement, const std::string& what);
/// In the order of the array's axes.
std::array<std::size_t, 3> array_shape(const Grid& grid);
Placement placement_of(const Grid& grid);

template <class T>
using AnyArray = nanobind::ndarray<const T, nanobind::ndim<3>>;

/// The order of a dense array's axes in memory. Throws InvalidArgument for an array with gaps,
/// overlaps or steps backwards.
MemoryAxes memory_axes(const std::array<std::int64_t, 3>& shape,
                       const std::array<std::int64_t, 3>& strides, const std::string& what);

template <class T>
struct PyVolume {
  SharedContext context;
  Volume<T> voxels;
  MemoryAxes axes = {0, 1, 2};

  Grid grid() const { return {voxels.geometry(), axes}; }
};

/// The array where it lies, kept alive by the volume; a copy on the context's GPU of one in host
/// memory. Throws InvalidArgument for an array of another device.
template <class T>
PyVolume<T> volume_of(const SharedContext& context, const AnyArray<T>& array,
                      const Placement& placement, const std::string& what);

void bind_volume(nanobind::module_& m);

}  // namespace freeflow::python
