#include <freeflow/python/native/field.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <freeflow/core/error.h>

namespace nb = nanobind;

namespace freeflow::python {

namespace {

/// Millimetres in LPS of voxels along the grid's axes, and back. In double, rounded once, as the
/// programs' files have it.
Eigen::Matrix3d to_mm_lps(const Geometry& g) { return g.index_to_world().linear(); }

using Planes = nb::ndarray<nb::numpy, float, nb::ndim<4>>;
using GivenPlanes = nb::ndarray<const float, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

/// Of shape (3, slowest, ..., fastest).
Planes array_of(std::unique_ptr<std::vector<float>> planes, const Extent& n) {
  float* const data = planes->data();
  const nb::capsule owner(planes.release(), [](void* p) noexcept {
    delete static_cast<std::vector<float>*>(p);  // NOLINT(cppcoreguidelines-owning-memory)
  });
  return {data, {3, std::size_t(n.z), std::size_t(n.y), std::size_t(n.x)}, owner};
}

void require_shape(const GivenPlanes& planes, const Extent& n, const std::string& what) {
  require(planes.shape(0) == 3 && planes.shape(1) == std::size_t(n.z) &&
              planes.shape(2) == std::size_t(n.y) && planes.shape(3) == std::size_t(n.x),
          what + " has another shape than its grid");
}

/// Three planes of memory order, each component of world millimetres, x of LPS first: what a NIfTI
/// file of a displacement holds.
Planes planes_mm_lps(const PyField& f) {
  auto mm = std::make_unique<std::vector<float>>();
  on(*f.context, [&](Context& ctx) {
    const std::vector<float> u = f.field->to_host(ctx);
    const std::size_t count = f.field->extent().count();
    const Eigen::Matrix3d to_world = to_mm_lps(f.field->geometry());
    mm->resize(u.size());
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
    for (std::size_t v = 0; v < count; ++v) {
      const Eigen::Vector3d in_voxels(u[v], u[count + v], u[2 * count + v]);
      const Eigen::Vector3d vector = to_world * in_voxels;
      for (int c = 0; c < 3; ++c) (*mm)[std::size_t(c) * count + v] = float(vector[c]);
    }
  });
  return array_of(std::move(mm), f.field->extent());
}

/// The same of planes of millimetres. `planes` is of shape (3, slowest, ..., fastest) in C order.
PyField field_of_mm_lps(const SharedContext& context, const GivenPlanes& planes, const Grid& grid,
                        const std::string& what) {
  const Extent n = grid.geometry.extent;
  require_shape(planes, n, what);
  const float* const mm = planes.data();
  auto field = on(*context, [&](Context& ctx) {
    const std::size_t count = n.count();
    const Eigen::Matrix3d to_voxels = grid.geometry.world_to_index().linear();
    std::vector<float> u(3 * count);
    std::size_t nonfinite = 0;
#pragma omp parallel for schedule(static) reduction(+ : nonfinite) num_threads(ctx.threads())
    for (std::size_t v = 0; v < count; ++v) {
      const Eigen::Vector3d world_mm(mm[v], mm[count + v], mm[2 * count + v]);
      nonfinite += !world_mm.allFinite();
      const Eigen::Vector3d in_voxels = to_voxels * world_mm;
      for (int c = 0; c < 3; ++c) u[std::size_t(c) * count + v] = float(in_voxels[c]);
    }
    require(nonfinite == 0, what + " has numbers that are not finite");
    auto made = std::make_shared<DisplacementField>(ctx, grid.geometry, u);
    ctx.synchronize();
    return made;
  });
  return {context, std::move(field), grid.axes};
}

/// The planes as the field has them, in voxels, and a field of such ones: what pickle keeps.
Planes planes_in_voxels(const PyField& f) {
  auto u = std::make_unique<std::vector<float>>();
  on(*f.context, [&](Context& ctx) { *u = f.field->to_host(ctx); });
  return array_of(std::move(u), f.field->extent());
}

PyField field_of_voxels(const SharedContext& context, const GivenPlanes& planes, const Grid& grid,
                        const std::string& what) {
  require_shape(planes, grid.geometry.extent, what);
  auto field = on(*context, [&](Context& ctx) {
    const std::vector<float> u(planes.data(), planes.data() + planes.size());
    auto made = std::make_shared<DisplacementField>(ctx, grid.geometry, u);
    ctx.synchronize();
    return made;
  });
  return {context, std::move(field), grid.axes};
}

/// The planes where they are: (3, slowest, ..., fastest), in voxels along the axes of memory,
/// fastest first.
nb::ndarray<nb::array_api, float, nb::ndim<4>> dlpack(nb::handle self) {
  auto& f = nb::cast<PyField&>(self);
  on(*f.context, [](Context& ctx) { ctx.synchronize(); });
  const Device& device = f.context->context.device();
  const Extent n = f.field->extent();
  const std::size_t shape[] = {3, std::size_t(n.z), std::size_t(n.y), std::size_t(n.x)};
  // A transform's fields are const; who writes here changes the transform, and the docs say so.
  auto* const data = const_cast<float*>(f.field->view().data);  // NOLINT
  return {data,
          4,
          shape,
          self,
          nullptr,
          nb::dtype<float>(),
          device.is_cuda() ? nb::device::cuda::value : nb::device::cpu::value,
          device.index};
}

}  // namespace

void bind_field(nb::module_& m) {
  nb::class_<PyField>(m, "Field")
      .def_static("of_mm_lps", &field_of_mm_lps, nb::arg("context"), nb::arg("planes"),
                  nb::arg("grid"), nb::arg("what"))
      .def_static("of_voxels", &field_of_voxels, nb::arg("context"), nb::arg("planes"),
                  nb::arg("grid"), nb::arg("what"))
      .def_prop_ro("context", [](const PyField& f) { return f.context; })
      .def_prop_ro("grid", &PyField::grid)
      .def("planes_mm_lps", &planes_mm_lps)
      .def("planes_in_voxels", &planes_in_voxels)
      .def("dlpack", &dlpack);
}

}  // namespace freeflow::python
