#include <freeflow/similarity/mutual_information.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/row_cells.h>
#include <freeflow/deform/warp.h>
#include <freeflow/similarity/mutual_information_body.h>

namespace freeflow {

/// The CPU sweeps a piece of a row several times: each loop on its own vectorises, the body as a
/// whole does not.
template <>
void for_each_voxel(backend::Cpu cpu, Extent extent,
                    const ParzenForceBody<InformationPoint>& body) {
  for_each_piece(cpu, extent, RowCells::longest, [&](int x, int y, int z, int n) {
    const ParzenForceBody<InformationPoint> local = body;
    const std::size_t first = local.at.fixed_bin.offset(x, y, z);
    RowCells cells;
    cells.locate(local.at.moving.extent, n, [&](int i) { return local.at.point(x + i, y, z); });
    cells.fetch(local.at.moving.data);
    RowGradients samples;
    cells.with_gradient(samples);
    float slope[RowCells::longest];
#pragma GCC ivdep
    for (int i = 0; i < n; ++i) slope[i] = local.at.slope_at(first + i, samples.value[i]);
#pragma GCC ivdep
    for (int i = 0; i < n; ++i)
      local.at.write(local.force, first + i, slope[i], samples[i].gradient);
  });
}

MutualInformation::MutualInformation(const MutualInformationOptions& o)
    : options_(o), shape_{o.fixed_bins, o.moving_bins, o.estimator} {
  require(o.fixed_bins >= 8 && o.fixed_bins <= 256 && o.moving_bins >= 8 && o.moving_bins <= 256,
          "the number of bins must lie between 8 and 256");
  JointHistogram::check(o.scheme, shape_);
  require(o.sampling != Interpolation::nearest, "the moving image is sampled linear or cubic");
  require(!samples_cubic() || o.estimator != Estimator::partial_volume,
          "the partial_volume estimator's weights are trilinear; sample linear, or estimate by "
          "parzen, parzen_both or hard");
}

void MutualInformation::set_ranges(const IntensityRange& fixed, const IntensityRange& moving) {
  fixed_range_ = fixed;
  moving_range_ = moving;
}

MutualInformation::Table MutualInformation::make_table(Context& ctx, double unit) const {
  return {Buffer<std::uint64_t>(ctx, shape_.bins()),
          Buffer<std::uint64_t>(ctx, shape_.fixed_bins + shape_.moving_bins),
          Buffer<double>(ctx, 4), unit};
}

MutualInformation::Counter MutualInformation::make_counter(Context& ctx, bool with_sum) const {
  return {JointHistogram(ctx, options_.scheme, shape_, fixed_bin_.extent().count()),
          Buffer<std::uint64_t>(ctx, shape_.bins()),
          Buffer<std::uint64_t>(ctx, with_sum ? shape_.bins() : 0)};
}

void MutualInformation::prepare(Context& ctx, const ImagePair& images) {
  require_on_device(ctx, images.fixed, images.moving);
  map_ = images.fixed_to_moving;
  fixed_bin_ = Volume<std::uint16_t>(ctx, images.fixed.geometry());
  moving_in_bins_ = Volume<float>(ctx, images.moving.geometry());
  counters_.clear();
  slopes_.clear();
  counters_.push_back(make_counter(ctx, false));
  for (Context& part : ctx.parts()) {
    if (ctx.sharing() > 1) counters_.push_back(make_counter(part, true));
    slopes_.push_back({Buffer<float>(part, shape_.bins()), Buffer<float>(part, 4 * shape_.bins())});
  }
  counted_ = make_table(ctx, double(shape_.unit()));
  if (smooths()) smoothed_ = make_table(ctx, 36);
  warped_ = warps_first(ctx) ? Volume<float>(ctx, images.fixed.geometry()) : Volume<float>();
  work_ = ReduceWorkspace(ctx, shape_.bins(), 4);
  const int nf = shape_.fixed_bins, nm = shape_.moving_bins;
  for_each_voxel(ctx, fixed_bin_.extent(),
                 FixedBinBody{images.fixed.view(), fixed_bin_.view(), fixed_range_.low,
                              float(nf - 1) / (fixed_range_.high - fixed_range_.low), nf});
  for_each_voxel(ctx, moving_in_bins_.extent(),
                 MovingBinBody{images.moving.view(), moving_in_bins_.view(), moving_range_.low,
                               float(nm - 3) / (moving_range_.high - moving_range_.low), nm});
  coefficients_ = samples_cubic() ? moving_in_bins_.clone(ctx) : Volume<float>();
  if (samples_cubic()) bspline_prefilter(ctx, coefficients_.view());
}

void MutualInformation::measure(Context& ctx, Table& t) const {
  const int nf = shape_.fixed_bins, nm = shape_.moving_bins;
  for_each_voxel(ctx, Extent{nf + nm, 1, 1},
                 MarginalBody{t.histogram.data(), t.marginals.data(), nf, nm});
  reduce(ctx, shape_.bins(), 4, EntropySumBody{{}, t.histogram.data(), t.marginals.data(), nf, nm},
         work_, t.sums.data());
}

bool MutualInformation::warps_first(const Context& ctx) const {
  return ctx.device().is_cuda() &&
         (options_.estimator == Estimator::parzen || options_.estimator == Estimator::parzen_both);
}

namespace {

/// The planes of a volume that lies under a slab of so many slices.
template <class T>
VolumeView<T> slices_of(const VolumeView<T>& whole, int first, int slices) {
  const Extent n{whole.extent.x, whole.extent.y, slices};
  return {whole.data + whole.offset(0, 0, first), n};
}

}  // namespace

void MutualInformation::begin(Context&) {
  for (Counter& counter : counters_) counter.any = false;
}

VolumeView<const std::uint16_t> MutualInformation::fixed_bins_of(
    int first, const FieldView<const float>& u) const {
  return slices_of(fixed_bin_.view(), first, u.extent.z);
}

void MutualInformation::count(Context& ctx, int part, int first, FieldView<const float> u) {
  count(ctx, counters_[counters_.size() > 1 ? 1 + std::size_t(part) : 0], first, u);
}

void MutualInformation::count(Context& ctx, Counter& counter, int first, FieldView<const float> u) {
  const VolumeView<const std::uint16_t> fixed = fixed_bins_of(first, u);
  const VolumeView<const float> moving = std::as_const(moving_in_bins_).view();
  const VolumeView<const float> coefficients = std::as_const(coefficients_).view();
  std::uint64_t* const sum =
      counter.sum.size() > 0 ? counter.sum.data() : counted_.histogram.data();
  std::uint64_t* const counts = counter.any ? counter.of_slab.data() : sum;
  if (warps_first(ctx)) {
    const VolumeView<float> warped = slices_of(warped_.view(), first, u.extent.z);
    if (samples_cubic())
      warp_values_cubic(ctx, moving, coefficients, map_, u, warped, first);
    else
      warp_values(ctx, moving, map_, u, warped, first);
    counter.histogram.count(ctx, SampledPair{fixed.data, warped.data, fixed.extent.count()},
                            counts);
  } else {
    counter.histogram.count(ctx, WarpedPair{fixed, moving, map_, u, coefficients, first}, counts);
  }
  if (counter.any)
    for_each_voxel(ctx, Extent{int(shape_.bins()), 1, 1}, AddCountsBody{counts, sum});
  counter.any = true;
}

void MutualInformation::add_up(Context& ctx) {
  if (counters_.front().any) return;
  counted_.histogram.fill_zero(ctx);
  for (const Counter& counter : counters_)
    if (counter.any)
      for_each_voxel(ctx, Extent{int(shape_.bins()), 1, 1},
                     AddCountsBody{counter.sum.data(), counted_.histogram.data()});
}

void MutualInformation::conclude(Context& ctx, double* cost) {
  add_up(ctx);
  measure(ctx, counted_);
  differentiate(ctx, cost);
  if (!counters_.front().any) hand_out_slopes(ctx);
}

void MutualInformation::hand_out_slopes(Context& ctx) {
  const std::size_t bytes = shape_.bins() * sizeof(float);
  for (std::size_t gpu = 1; gpu < slopes_.size(); ++gpu) {
    ctx.copy_on_device(slopes_[gpu].values.data(), slopes_[0].values.data(), bytes);
    ctx.copy_on_device(slopes_[gpu].polynomials.data(), slopes_[0].polynomials.data(), 4 * bytes);
  }
}

void MutualInformation::differentiate(Context& ctx, double* cost) {
  const int nf = shape_.fixed_bins, nm = shape_.moving_bins;
  const Extent bins{nm, nf, 1};
  if (smooths()) {
    for_each_voxel(ctx, bins,
                   BothWindowsBody{counted_.histogram.data(), smoothed_.histogram.data(), nf, nm});
    measure(ctx, smoothed_);
  }
  const Table& t = smooths() ? smoothed_ : counted_;
  Slopes& slopes = slopes_.front();
  const bool both =
      options_.estimator == Estimator::hard || options_.estimator == Estimator::parzen_both;
  const InformationCostBody value{counted_.sums.data(), options_.measure, cost};
  for_each_voxel(ctx, bins,
                 SlopeBody{t.histogram.data(),
                           t.marginals.data(),
                           t.sums.data(),
                           options_.measure,
                           nf,
                           t.unit,
                           value,
                           {slopes.values.data(), bins}});
  for_each_voxel(
      ctx, bins,
      SlopePolynomialBody{{slopes.values.data(), bins},
                          both,
                          reinterpret_cast<SlopePolynomial*>(slopes.polynomials.data())});
}

template <class F>
void MutualInformation::with_point(const Context& ctx, int first, FieldView<const float> u,
                                   F&& f) const {
  const Slopes& slopes = slopes_[std::size_t(ctx.gpu())];
  const InformationPoint linear{fixed_bins_of(first, u),
                                moving_in_bins_.view(),
                                {map_, u, first},
                                slopes.values.data(),
                                reinterpret_cast<const SlopePolynomial*>(slopes.polynomials.data()),
                                shape_.moving_bins};
  if (samples_cubic())
    f(CubicInformationPoint{linear, coefficients_.view()});
  else
    f(linear);
}

double MutualInformation::range() const {
  if (options_.measure == Information::nmi) return 1;
  return std::log(double(std::min(options_.fixed_bins, options_.moving_bins)));
}

void MutualInformation::force(Context& ctx, int first, FieldView<const float> u,
                              FieldView<float> out) {
  with_point(ctx, first, u, [&]<class Point>(const Point& at) {
    if constexpr (std::is_same_v<Point, InformationPoint>)
      if (options_.estimator == Estimator::partial_volume)
        return for_each_voxel(ctx, u.extent, PartialVolumeForceBody{at, out});
    for_each_voxel(ctx, u.extent, ParzenForceBody<Point>{at, out});
  });
}

void MutualInformation::evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force,
                                 double* cost) {
  const FieldView<const float> whole{u.data, fixed_bin_.extent()};
  begin(ctx);
  count(ctx, counters_.front(), 0, whole);
  if (force.data) {
    conclude(ctx, cost);
    this->force(ctx, 0, whole, force);
  } else {
    measure(ctx, counted_);
    for_each_voxel(ctx, Extent{1, 1, 1},
                   InformationCostBody{counted_.sums.data(), options_.measure, cost});
  }
}

void MutualInformation::intensity_derivative(Context& ctx, FieldView<const float> u,
                                             VolumeView<float> derivative, double* cost) {
  require(options_.estimator != Estimator::partial_volume,
          "the partial-volume estimate has no derivative by intensity; use parzen");
  const FieldView<const float> whole{u.data, fixed_bin_.extent()};
  begin(ctx);
  count(ctx, counters_.front(), 0, whole);
  conclude(ctx, cost);
  const float bins_per_unit =
      float(shape_.moving_bins - 3) / (moving_range_.high - moving_range_.low);
  with_point(ctx, 0, whole, [&]<class Point>(const Point& at) {
    for_each_voxel(ctx, fixed_bin_.extent(),
                   IntensityDerivativeBody<Point>{at, bins_per_unit, derivative});
  });
}

EntropyValues MutualInformation::entropies(Context& ctx) const {
  const std::vector<double> sums = counted_.sums.to_host(ctx);
  const Entropies h = Entropies::from(sums.data());
  return {h.fixed, h.moving, h.joint, h.mass / counted_.unit};
}

}  // namespace freeflow
