#include <freeflow/python/native/transform.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <freeflow/core/error.h>
#include <freeflow/python/native/observer.h>
#include <freeflow/transform/resample.h>
#include <freeflow/transform/transform_operations.h>

namespace nb = nanobind;

namespace freeflow::python {

Eigen::Affine3d affine_of(const Matrix& rows, const std::string& what) {
  Eigen::Affine3d affine;
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t c = 0; c < 4; ++c)
      affine.matrix()(Eigen::Index(r), Eigen::Index(c)) = rows[r][c];
  require(affine.matrix().allFinite(), what + " has numbers that are not finite");
  require(affine.matrix().row(3) == Eigen::RowVector4d(0, 0, 0, 1),
          what + " has a last row other than 0 0 0 1");
  require(std::abs(affine.linear().determinant()) > 1e-12, what + " is singular");
  return affine;
}

Matrix matrix_of(const Eigen::Affine3d& affine) {
  Matrix rows{};
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t c = 0; c < 4; ++c)
      rows[r][c] = affine.matrix()(Eigen::Index(r), Eigen::Index(c));
  return rows;
}

namespace {

using Points = nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

std::vector<Eigen::Vector3d> points_of(const Points& array) {
  std::vector<Eigen::Vector3d> points(array.shape(0));
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i] = {array.data()[3 * i], array.data()[3 * i + 1], array.data()[3 * i + 2]};
  return points;
}

nb::ndarray<nb::numpy, double, nb::shape<-1, 3>> array_of(
    const std::vector<Eigen::Vector3d>& points) {
  auto numbers = std::make_unique<std::vector<double>>();
  for (const Eigen::Vector3d& p : points) numbers->insert(numbers->end(), {p.x(), p.y(), p.z()});
  double* const data = numbers->data();
  const nb::capsule owner(numbers.release(), [](void* p) noexcept {
    delete static_cast<std::vector<double>*>(p);  // NOLINT(cppcoreguidelines-owning-memory)
  });
  return {data, {points.size(), 3}, owner};
}

PyTransform transform_of(const SharedContext& context, const Matrix& affine_lps) {
  return {context, {}, Transform(affine_of(affine_lps, "affine")), {}};
}

/// x -> affine(x + u(x)), the field where it is.
PyTransform with_field(const PyField& f, const Matrix& affine_lps) {
  // Transforms never write to their fields.
  auto* const planes = const_cast<float*>(f.field->view().data);  // NOLINT
  DisplacementField lent(
      f.field->geometry(),
      Buffer<float>::lent(f.context->context, planes, 3 * f.field->extent().count(), f.field));
  return {f.context, {}, Transform(std::move(lent), affine_of(affine_lps, "affine")), {f.axes}};
}

Interpolation interpolation_of(const std::string& word) {
  if (word == "linear") return Interpolation::linear;
  if (word == "cubic") return Interpolation::cubic;
  if (word == "nearest") return Interpolation::nearest;
  throw InvalidArgument("interpolation '" + word + "' is not one of linear, cubic, nearest");
}

PyVolume<float> apply(const PyTransform& t, const PyVolume<float>& image, const Grid& grid,
                      const std::string& interpolation, float fill) {
  const Interpolation by = interpolation_of(interpolation);
  return {t.context,
          on(*t.context,
             [&](Context& ctx) {
               return resample(ctx, image.voxels, t.chain, grid.geometry, by, fill);
             }),
          grid.axes};
}

/// What a registration writes as its warped image: of x -> affine(x + u(x)), u on the very grid.
PyVolume<float> warped(const PyTransform& t, const PyVolume<float>& image, const Grid& grid,
                       const std::string& interpolation, float fill) {
  const Interpolation by = interpolation_of(interpolation);
  const bool affine = t.chain.is_affine();
  const DisplacementField* const field = affine ? nullptr : t.chain.links()[0].field.get();
  const Eigen::Affine3d& world = affine ? t.chain.first() : t.chain.links()[0].after;
  return {t.context,
          on(*t.context,
             [&](Context& ctx) {
               return warp(ctx, image.voxels, grid.geometry, world, field, by, fill);
             }),
          grid.axes};
}

PyVolume<std::int32_t> apply_labels(const PyTransform& t, const PyVolume<std::int32_t>& labels,
                                    const Grid& grid, const std::string& interpolation,
                                    std::int32_t outside) {
  require(interpolation == "nearest" || interpolation == "vote",
          "interpolation '" + interpolation + "' of labels is not one of nearest, vote");
  const auto by = interpolation == "vote" ? LabelInterpolation::vote : LabelInterpolation::nearest;
  return {t.context,
          on(*t.context,
             [&](Context& ctx) {
               return resample_labels(ctx, labels.voxels, t.chain, grid.geometry, by, outside);
             }),
          grid.axes};
}

auto map(const PyTransform& t, const Points& points) {
  const auto from = points_of(points);
  return array_of(on(*t.context, [&](Context& ctx) { return map_points(ctx, t.chain, from); }));
}

nb::tuple map_back(const PyTransform& t, const Points& points) {
  const auto from = points_of(points);
  const MappedBack back =
      on(*t.context, [&](Context& ctx) { return map_points_back(ctx, t.chain, from); });
  return nb::make_tuple(array_of(back.points), back.largest_residual_mm, back.unsolved_points);
}

PyTransform inverse(const PyTransform& t) {
  return observed(nb::none(), [&](PyObserver& watch) -> PyTransform {
    Transform chain = on(*t.context, [&](Context& ctx) {
      return invert(ctx, on_ranges(ctx, t.chain), watch.stop_request()).transform;
    });
    return {t.context, {}, std::move(chain), {t.axes.rbegin(), t.axes.rend()}};
  });
}

/// First this, then the other.
PyTransform then(const PyTransform& first, const PyTransform& second) {
  PyTransform both = first;
  both.chain.then(second.chain);
  both.axes.insert(both.axes.end(), second.axes.begin(), second.axes.end());
  both.kept.insert(both.kept.end(), second.kept.begin(), second.kept.end());
  if (first.chain.is_affine())
    both.context = second.context;
  else if (second.context != both.context)
    both.kept.push_back(second.context);
  return both;
}

PyVolume<float> jacobian(const PyTransform& t, const Grid& grid, bool log) {
  return {t.context,
          on(*t.context,
             [&](Context& ctx) {
               return log ? log_jacobian(ctx, t.chain, grid.geometry)
                          : jacobian_determinant(ctx, t.chain, grid.geometry);
             }),
          grid.axes};
}

PyField composed(const PyTransform& t, const Grid& grid) {
  auto field = on(*t.context, [&](Context& ctx) {
    return std::make_shared<DisplacementField>(compose(ctx, t.chain, grid.geometry));
  });
  return {t.context, std::move(field), grid.axes};
}

/// The affine before each field, the field, and so on: what files are written from.
nb::list parts(const PyTransform& t) {
  nb::list out;
  out.append(matrix_of(t.chain.first()));
  for (std::size_t k = 0; k < t.axes.size(); ++k) {
    const Transform::Link& link = t.chain.links()[k];
    out.append(PyField{t.context, link.field, t.axes[k]});
    out.append(matrix_of(link.after));
  }
  return out;
}

}  // namespace

void bind_transform(nb::module_& m) {
  nb::class_<PyTransform>(m, "Transform")
      .def_static("of_affine", &transform_of, nb::arg("context"), nb::arg("affine_lps"))
      .def_static("of_field", &with_field, nb::arg("field"), nb::arg("affine_lps"))
      .def_prop_ro("context", [](const PyTransform& t) { return t.context; })
      .def_prop_ro("is_affine", [](const PyTransform& t) { return t.chain.is_affine(); })
      .def_prop_ro("affine_part_lps",
                   [](const PyTransform& t) { return matrix_of(affine_part(t.chain)); })
      .def_prop_ro("grid",
                   [](const PyTransform& t) -> nb::object {
                     if (t.chain.is_affine()) return nb::none();
                     return nb::cast(Grid{t.chain.links()[0].field->geometry(), t.axes[0]});
                   })
      .def("apply", &apply, nb::arg("image"), nb::arg("grid"), nb::arg("interpolation"),
           nb::arg("fill"))
      .def("warped", &warped, nb::arg("image"), nb::arg("grid"), nb::arg("interpolation"),
           nb::arg("fill"))
      .def("apply_labels", &apply_labels, nb::arg("labels"), nb::arg("grid"),
           nb::arg("interpolation"), nb::arg("outside"))
      .def("map", &map, nb::arg("points_lps"))
      .def("map_back", &map_back, nb::arg("points_lps"))
      .def("inverse", &inverse)
      .def("then", &then, nb::arg("other"))
      .def("jacobian", &jacobian, nb::arg("grid"), nb::arg("log"))
      .def("composed", &composed, nb::arg("grid"))
      .def("parts", &parts);
}

}  // namespace freeflow::python
