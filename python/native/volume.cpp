#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <freeflow/python/native/arrays.h>
#include <freeflow/registration/levels/masked_background.h>
#include <freeflow/registration/linear/stripped.h>

namespace nb = nanobind;

namespace freeflow::python {

namespace {

std::array<std::int64_t, 3> array_strides(const Grid& grid) {
  std::array<std::int64_t, 3> strides{};
  std::int64_t stride = 1;
  for (int m = 0; m < 3; ++m) {
    strides[std::size_t(grid.axes[std::size_t(m)])] = stride;
    stride *= grid.geometry.extent[m];
  }
  return strides;
}

Geometry in_array_order(const Grid& grid) {
  Geometry g = grid.geometry;
  int sides[3];
  for (int m = 0; m < 3; ++m) {
    const int a = grid.axes[std::size_t(m)];
    sides[a] = grid.geometry.extent[m];
    g.spacing[a] = grid.geometry.spacing[m];
    g.direction.col(a) = grid.geometry.direction.col(m);
  }
  g.extent = {sides[0], sides[1], sides[2]};
  return g;
}

/// The voxels where they are, kept alive by `self`, as whoever knows DLPack takes them.
template <class T>
auto dlpack(nb::handle self) {
  auto& v = nb::cast<PyVolume<T>&>(self);
  on(*v.context, [](Context& ctx) { ctx.synchronize(); });  // whatever stream reads them next
  const Device& device = v.context->context.device();
  const Grid grid = v.grid();
  return nb::ndarray<nb::array_api, T, nb::ndim<3>>(
      v.voxels.view().data, 3, array_shape(grid).data(), self, array_strides(grid).data(),
      nb::dtype<T>(), device.is_cuda() ? nb::device::cuda::value : nb::device::cpu::value,
      device.index);
}

/// In host memory: the voxels themselves, or a copy of a GPU's.
template <class T>
auto numpy(nb::handle self) {
  using Array = nb::ndarray<nb::numpy, T, nb::ndim<3>>;
  auto& v = nb::cast<PyVolume<T>&>(self);
  const Grid grid = v.grid();
  const auto shape = array_shape(grid);
  const auto strides = array_strides(grid);
  if (!v.context->context.device().is_cuda())
    return Array(v.voxels.view().data, 3, shape.data(), self, strides.data());
  auto host = std::make_unique<std::vector<T>>(
      on(*v.context, [&](Context& ctx) { return v.voxels.to_host(ctx); }));
  T* const data = host->data();
  const nb::capsule owner(host.release(), [](void* p) noexcept {
    delete static_cast<std::vector<T>*>(p);  // NOLINT(cppcoreguidelines-owning-memory)
  });
  return Array(data, 3, shape.data(), owner, strides.data());
}

/// A flag for each voxel, as an array of that shape; None where there are none.
nb::object flags_of(std::vector<std::uint8_t> flags, const std::array<std::size_t, 3>& shape,
                    const std::array<std::int64_t, 3>& strides) {
  if (flags.empty()) return nb::none();
  auto found = std::make_unique<std::vector<std::uint8_t>>(std::move(flags));
  std::uint8_t* const data = found->data();
  const nb::capsule owner(found.release(), [](void* p) noexcept {
    delete static_cast<std::vector<std::uint8_t>*>(p);  // NOLINT(cppcoreguidelines-owning-memory)
  });
  return nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<3>>(data, 3, shape.data(), owner,
                                                                    strides.data()));
}

/// Of an image in Fortran order, in that order; None where nothing lies around an object.
nb::object background_around(
    const nb::ndarray<const float, nb::ndim<3>, nb::f_contig, nb::device::cpu>& image) {
  const Extent n{int(image.shape(0)), int(image.shape(1)), int(image.shape(2))};
  std::vector<std::uint8_t> found = [&] {
    const nb::gil_scoped_release others_run;
    return masked_background(n, image.data());
  }();
  return flags_of(std::move(found), {image.shape(0), image.shape(1), image.shape(2)},
                  {1, n.x, std::int64_t(n.x) * n.y});
}

/// Of volumes in host memory, by any device; as the image's array; None where all counts.
nb::object stripped_object_of(PyContext& context, const PyVolume<float>& image,
                              const PyVolume<float>& other) {
  const Grid grid = image.grid();
  const Geometry &here = grid.geometry, &there = other.voxels.geometry();
  std::vector<std::uint8_t> counts = on(context, [&](Context& ctx) {
    return stripped_object(ctx, {here, {image.voxels.view().data, here.extent.count()}},
                           {there, {other.voxels.view().data, there.extent.count()}});
  });
  return flags_of(std::move(counts), array_shape(grid), array_strides(grid));
}

template <class T>
void bind(nb::module_& m, const char* name) {
  nb::class_<PyVolume<T>>(m, name)
      .def_static(
          "of_array",
          [](const SharedContext& context, const AnyArray<T>& array, const Placement& placement,
             const std::string& what) { return volume_of<T>(context, array, placement, what); },
          nb::arg("context"), nb::arg("array"), nb::arg("placement"), nb::arg("what"))
      .def_prop_ro("context", [](const PyVolume<T>& v) { return v.context; })
      .def_prop_ro("grid", &PyVolume<T>::grid)
      .def("numpy", &numpy<T>)
      .def("dlpack", &dlpack<T>);
}

}  // namespace

void bind_volume(nb::module_& m) {
  nb::class_<Placement>(m, "Placement")
      .def(
          "__init__",
          [](Placement* p, const std::array<double, 3>& spacing,
             const std::array<double, 3>& origin_lps,
             const std::array<std::array<double, 3>, 3>& direction_lps) {
            new (p) Placement{spacing, origin_lps, direction_lps};
          },
          nb::arg("spacing"), nb::arg("origin_lps"), nb::arg("direction_lps"))
      .def_ro("spacing", &Placement::spacing)
      .def_ro("origin_lps", &Placement::origin_lps)
      .def_ro("direction_lps", &Placement::direction_lps);
  nb::class_<Grid>(m, "Grid")
      .def_static("make", &grid_of, nb::arg("shape"), nb::arg("axes"), nb::arg("placement"),
                  nb::arg("what"))
      .def_prop_ro("shape", &array_shape)
      .def_ro("axes", &Grid::axes)
      .def_prop_ro("placement", &placement_of)
      .def(
          "covers",
          [](const Grid& a, const Grid& b) {
            return same_grid(in_array_order(a), in_array_order(b));
          },
          nb::arg("other"));
  bind<float>(m, "Volume");
  bind<std::int32_t>(m, "LabelVolume");
  m.def("masked_background", &background_around, nb::arg("image"));
  m.def("stripped_object", &stripped_object_of, nb::arg("context"), nb::arg("image"),
        nb::arg("other"));
  m.attr("stripped_volume_ratio") = stripped_volume_ratio;
}

}  // namespace freeflow::python
