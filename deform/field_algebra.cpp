#include <freeflow/deform/field_algebra.h>

#include <limits>
#include <utility>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/field_algebra_body.h>

namespace freeflow {

namespace {

int planes_in(const DisplacementField&) { return 3; }
int planes_in(const Volume<float>&) { return 1; }

template <class Values>
Values combine(Context& ctx, double a, const Values& x, double b, const Values* y) {
  require_on_device(ctx, x);
  if (y) {
    require_on_device(ctx, *y);
    require(same_grid(x.geometry(), y->geometry()),
            "the two do not share a grid: resample one to the other's");
  }
  Values out(ctx, x.geometry());
  const Extent n = out.extent();
  for (std::size_t plane = 0; plane < std::size_t(planes_in(out)); ++plane) {
    const std::size_t first = plane * n.count();
    for_each_voxel(ctx, n,
                   LinearCombinationBody{x.view().data + first,
                                         y ? y->view().data + first : nullptr,
                                         float(a),
                                         float(b),
                                         {out.view().data + first, n}});
  }
  return out;
}

}  // namespace

DisplacementField linear_combination(Context& ctx, double a, const DisplacementField& x, double b,
                                     const DisplacementField& y) {
  return combine(ctx, a, x, b, &y);
}
Volume<float> linear_combination(Context& ctx, double a, const Volume<float>& x, double b,
                                 const Volume<float>& y) {
  return combine(ctx, a, x, b, &y);
}
DisplacementField scale(Context& ctx, double factor, const DisplacementField& x) {
  return combine<DisplacementField>(ctx, factor, x, 0, nullptr);
}
Volume<float> scale(Context& ctx, double factor, const Volume<float>& x) {
  return combine<Volume<float>>(ctx, factor, x, 0, nullptr);
}

double mean_length_mm(Context& ctx, const DisplacementField& u, const Volume<float>* mask) {
  require_on_device(ctx, u);
  if (mask) {
    require_on_device(ctx, *mask);
    require(same_grid(mask->geometry(), u.geometry()), "the mask does not lie on the field's grid");
  }
  const Eigen::Vector3d sides = u.geometry().spacing;
  const std::size_t n = u.extent().count();
  const Buffer<double> sums(ctx, 2);
  const MeanLengthBody body{{},
                            u.view(),
                            mask ? mask->view().data : nullptr,
                            {float(sides.x()), float(sides.y()), float(sides.z())}};
  reduce(ctx, n, 2, body, ReduceWorkspace(ctx, n, 2), sums.data());
  const std::vector<double> s = sums.to_host(ctx);
  return s[1] > 0 ? s[0] / s[1] : 0.0;
}

Logarithm logarithm(Context& ctx, const DisplacementField& u, const LogarithmOptions& options) {
  require(options.max_iterations >= 0, "LogarithmOptions::max_iterations must not be negative");
  Logarithm best{u.clone(ctx), {}};  // to first order
  DisplacementField v = u.clone(ctx);
  double last = std::numeric_limits<double>::max();
  for (int k = 0;; ++k) {
    const DisplacementField back = exponential(ctx, v, exponential_squarings, -1);
    const InverseResidual residual = inverse_residual(ctx, u, back);
    if (!(residual.mean_voxels < last)) return best;
    best = {v.clone(ctx), residual};
    if (k == options.max_iterations || residual.mean_voxels < options.tolerance_voxels) return best;
    last = residual.mean_voxels;
    v = add(ctx, v, compose(ctx, u, back));
  }
}

}  // namespace freeflow
