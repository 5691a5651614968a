#include <freeflow/denoise/nonlocal_means.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <freeflow/core/cancelled.h>
#include <freeflow/core/error.h>
#include <freeflow/core/for_each_voxel.h>
#include <freeflow/core/memory.h>
#include <freeflow/denoise/nonlocal_means_body.h>
#include <freeflow/denoise/numbered.h>
#include <freeflow/denoise/signed_distance.h>

namespace freeflow {

void NonlocalMeansOptions::validate() const {
  require(band > 0 && std::isfinite(band),
          "NonlocalMeansOptions::band must be a positive number of voxels");
  require(patch >= 3 && patch <= 9 && patch % 2 == 1,
          "NonlocalMeansOptions::patch must be 3, 5, 7 or 9 voxels");
  require(neighbours >= 1 && neighbours <= max_neighbours,
          "NonlocalMeansOptions::neighbours must lie between 1 and 256");
  require(iterations >= 0, "NonlocalMeansOptions::iterations must not be negative");
  require(!c1 || (*c1 > 0 && std::isfinite(*c1)), "NonlocalMeansOptions::c1 must be positive");
  require(!c2 || (*c2 > 0 && std::isfinite(*c2)), "NonlocalMeansOptions::c2 must be positive");
  require(!limit || (*limit > 0 && *limit <= 1000),
          "NonlocalMeansOptions::limit must be positive and at most 1000 voxels");
  require(!search_radius || (*search_radius >= 1 && *search_radius <= 1000),
          "NonlocalMeansOptions::search_radius must lie between 1 and 1000 voxels");
}

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point& last) {
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - last).count();
  last = now;
  return seconds;
}

Extent list_of(int count) { return {count, 1, 1}; }

/// Why: nonlocal_means.h.
double automatic_c2(int patch, double noise) {
  return std::max(0.12, 1.5 * noise * noise) * patch * patch * patch;
}

/// The band's elements in voxel order: where they are and phi there.
struct Band {
  int elements = 0;
  Buffer<std::int32_t> voxel;
  Buffer<float> value;
};

Band find_band(Context& ctx, const Volume<float>& phi, float delta) {
  const Extent n = phi.extent();
  const Extent rows{n.y, n.z, 1};
  Buffer<std::int32_t> count(ctx, rows.count());
  for_each_voxel(ctx, rows, CountBandBody{phi.view(), delta, count.data()});
  std::vector<std::int32_t> begin = count.to_host(ctx);
  Band band;
  band.elements = std::accumulate(begin.begin(), begin.end(), 0);
  std::exclusive_scan(begin.begin(), begin.end(), begin.begin(), 0);
  ctx.copy_to_device(count.data(), begin.data(), begin.size() * sizeof(std::int32_t));
  band.voxel = Buffer<std::int32_t>(ctx, std::size_t(band.elements));
  band.value = Buffer<float>(ctx, std::size_t(band.elements));
  for_each_voxel(
      ctx, rows,
      ListBandBody{phi.view(), delta, count.data(), band.voxel.data(), band.value.data()});
  return band;
}

/// The neighbours of all elements: on the device, or in host memory with one slab of rows at a time
/// on the device.
class NeighbourTable {
 public:
  NeighbourTable(Context& ctx, int rows, int neighbours, int rows_per_slab)
      : rows_(rows), neighbours_(neighbours), step_(rows_per_slab),
        index_(ctx, std::size_t(rows_per_slab) * neighbours),
        value_(ctx, std::size_t(rows_per_slab) * neighbours) {
    if (slabs() == 1) return;
    host_index_.resize(std::size_t(rows) * neighbours);
    host_value_.resize(std::size_t(rows) * neighbours);
  }

  int slabs() const { return (rows_ + step_ - 1) / step_; }

  enum Access { read = 1, write = 2 };
  /// work(first, rows, view) for each slab.
  template <class Work>
  void for_each_slab(Context& ctx, int access, const Work& work) {
    for (int first = 0; first < rows_; first += step_) {
      const int rows = std::min(step_, rows_ - first);
      const std::size_t at = std::size_t(first) * neighbours_,
                        bytes = std::size_t(rows) * neighbours_ * 4;
      if (slabs() > 1 && access & read) {
        ctx.copy_to_device(index_.data(), host_index_.data() + at, bytes);
        ctx.copy_to_device(value_.data(), host_value_.data() + at, bytes);
      }
      work(first, rows, SimilarView{index_.data(), value_.data(), neighbours_});
      if (slabs() > 1 && access & write) {
        ctx.copy_to_host(host_index_.data() + at, index_.data(), bytes);
        ctx.copy_to_host(host_value_.data() + at, value_.data(), bytes);
      }
    }
  }

 private:
  int rows_, neighbours_, step_;
  Buffer<std::int32_t> index_;
  Buffer<float> value_;
  std::vector<std::int32_t> host_index_;
  std::vector<float> host_value_;
};

/// One denoising: what its stages share.
class Denoiser {
 public:
  Denoiser(Context& ctx, const Volume<float>& distance, const NonlocalMeansOptions& options,
           NonlocalMeansObserver& observer)
      : ctx_(ctx), distance_(distance), options_(options), observer_(observer),
        unit_(std::cbrt(distance.geometry().spacing.prod())) {}

  NonlocalMeansResult run() {
    auto last = Clock::now();
    refuse_nan();
    make_band();
    estimate_noise();
    plan();
    search();
    ctx_.synchronize();
    result_.search_seconds = seconds_since(last);
    iterate();
    ctx_.synchronize();
    result_.iteration_seconds = seconds_since(last);
    for_each_voxel(ctx_, list_of(band_.elements),
                   ScatterBody{band_.voxel.data(), band_.value.data(),
                               float(result_.shift_mm / unit_), farthest(), phi_.view().data});
    for_each_voxel(ctx_, phi_.extent(), ScaleBody{phi_.view(), float(unit_), phi_.view()});
    result_.distance = signed_distance(ctx_, phi_, 0, Inside::below);
    if (options_.limit) hold_to_limit();
    result_.level_set = std::move(phi_);
    ctx_.synchronize();
    result_.distance_seconds = seconds_since(last);
    return std::move(result_);
  }

 private:
  void stop_if_asked() const {
    if (observer_.stop_requested()) throw Cancelled{};
  }

  float farthest() const {
    return options_.limit ? float(*options_.limit) : std::numeric_limits<float>::max();
  }

  void refuse_nan() {
    const std::size_t n = distance_.extent().count();
    const Buffer<double> count(ctx_, 1);
    reduce(ctx_, n, 1, NanCountBody{{}, distance_.view().data}, ReduceWorkspace(ctx_, n, 1),
           count.data());
    const double missing = count.to_host(ctx_)[0];
    require(missing == 0,
            "the distance is not a number in " + std::to_string(std::int64_t(missing)) +
                " voxels; give it a value everywhere, any large one far from the surface");
  }

  void make_band() {
    const Geometry& g = distance_.geometry();
    const int side = options_.patch;
    require(g.extent.x >= side && g.extent.y >= side && g.extent.z >= side,
            "the patch of " + std::to_string(side) + "^3 voxels is larger than the volume of " +
                std::to_string(g.extent.x) + "x" + std::to_string(g.extent.y) + "x" +
                std::to_string(g.extent.z) + "; lower NonlocalMeansOptions::patch");
    phi_ = Volume<float>(ctx_, g);
    for_each_voxel(ctx_, g.extent, ScaleBody{distance_.view(), float(1 / unit_), phi_.view()});
    const double delta = std::max(options_.band, g.spacing.maxCoeff() / unit_);
    limit_ = float(delta + side);
    result_.band_mm = delta * unit_;
    band_ = find_band(ctx_, phi_, float(delta));
    result_.band_elements = band_.elements;
    require(band_.elements > 0, "the band is empty: no voxel lies within " +
                                    std::to_string(result_.band_mm) +
                                    " mm of the surface; widen it by NonlocalMeansOptions::band");
    require(band_.elements >= options_.neighbours,
            "the band has only " + std::to_string(band_.elements) + " elements, fewer than the " +
                std::to_string(options_.neighbours) +
                " neighbours; lower NonlocalMeansOptions::neighbours or widen "
                "NonlocalMeansOptions::band");
  }

  /// The median of NoiseBody's sizes as the standard deviation of a normal distribution; chosen on
  /// the host, so every device agrees.
  void estimate_noise() {
    const Buffer<float> size(ctx_, std::size_t(band_.elements));
    for_each_voxel(ctx_, list_of(band_.elements),
                   NoiseBody{phi_.view(), band_.voxel.data(), size.data()});
    std::vector<float> known = size.to_host(ctx_);
    std::erase_if(known, [](float v) { return !(v >= 0); });
    if (known.empty()) return;
    const auto middle = known.begin() + std::ptrdiff_t(known.size() / 2);
    std::nth_element(known.begin(), middle, known.end());
    constexpr double median_of_normal = 0.67448975;
    noise_ = *middle / (median_of_normal * std::sqrt(NoiseBody::variance));
    result_.noise_mm = noise_ * unit_;
  }

  PatchView patches() const {
    const int length = options_.patch * options_.patch * options_.patch;
    return {patches_.data(), band_.elements, length, PatchView::stride_of(length)};
  }

  /// How many rows of neighbours fit beside the rest, and what all takes.
  void plan() {
    const int n = band_.elements, m = options_.neighbours;
    const PatchView p = patches();
    const std::size_t volume = distance_.extent().count() * sizeof(float),
                      per_row = std::size_t(m) * 8;
    const std::size_t search =
        options_.search_radius ? volume : search_bytes(ctx_, options_.strategy, n, p.length, n, m);
    const std::size_t fixed =
        std::size_t(n) * p.stride * sizeof(float) + search + std::size_t(n) * 16;
    std::size_t budget = options_.memory_bytes ? options_.memory_bytes : free_bytes(ctx_) / 4 * 3;
    rows_per_slab_ = n;
    if (fixed + per_row * n > budget) {
      const std::size_t room = budget > fixed ? budget - fixed : 0;
      rows_per_slab_ =
          int(std::min(std::size_t(n), std::max<std::size_t>(room / per_row / 128 * 128, 128)));
    }
    result_.slabs = (n + rows_per_slab_ - 1) / rows_per_slab_;
    const std::size_t at_search = 2 * volume + fixed + per_row * rows_per_slab_;
    // The distance is made beside phi; where the surface is held also beside the marks and the last
    // distance.
    result_.predicted_bytes =
        std::max(at_search, (options_.limit ? 2 : 0) * volume +
                                predict_surface_bytes(ctx_, distance_.geometry()));
    const std::size_t held = 2 * volume + std::size_t(n) * 16;
    require_free(
        ctx_, result_.predicted_bytes - std::min(held, result_.predicted_bytes), "the denoising",
        "close other programs, take a smaller NonlocalMeansOptions::band or a coarser grid");
    observer_.on_band(n, result_.predicted_bytes, result_.slabs);
    stop_if_asked();
  }

  BandGeometry band_geometry() const {
    const Geometry& g = distance_.geometry();
    return {
        band_.voxel.data(),
        g.extent,
        {float(g.spacing[0] / unit_), float(g.spacing[1] / unit_), float(g.spacing[2] / unit_)}};
  }

  void search() {
    const int n = band_.elements;
    const PatchView p{nullptr, n, patches().length, patches().stride};
    patches_ = Buffer<float>(ctx_, std::size_t(n) * p.stride);
    for_each_voxel(
        ctx_,
        Extent{p.stride, std::min(n, PatchBody::rows), (n + PatchBody::rows - 1) / PatchBody::rows},
        PatchBody{phi_.view(), band_.voxel.data(), n, options_.patch, p.stride, limit_,
                  patches_.data()});
    table_.emplace(ctx_, n, options_.neighbours, rows_per_slab_);
    Buffer<std::int32_t> element;
    if (options_.search_radius) {
      element = Buffer<std::int32_t>(ctx_, distance_.extent().count());
      element.fill_zero(ctx_);
      for_each_voxel(ctx_, list_of(n), ElementMapBody{band_.voxel.data(), element.data()});
    }
    table_->for_each_slab(
        ctx_, NeighbourTable::write, [&](int first, int rows, const SimilarView& found) {
          const auto progress = [&](double share) {
            observer_.on_search((first + share * rows) / n);
            stop_if_asked();
          };
          if (options_.search_radius)
            for_each_voxel(ctx_, list_of(rows),
                           WindowSearchBody{patches(), band_geometry(), element.data(),
                                            float(*options_.search_radius), first, found});
          else
            find_similar(ctx_, options_.strategy, patches(), first, rows, found, progress);
          ctx_.synchronize();
          progress(1);
        });
    patches_ = {};
  }

  void iterate() {
    const int n = band_.elements;
    result_.c2 = options_.c2 ? *options_.c2 : automatic_c2(options_.patch, noise_);
    const float inverse_c1 = options_.c1 ? float(1 / *options_.c1) : 0.0f,
                inverse_c2 = float(1 / result_.c2);
    const ReduceWorkspace work(ctx_, std::size_t(n), 1);
    const Buffer<double> scalar(ctx_, 1);
    double largest = 0;
    table_->for_each_slab(
        ctx_, NeighbourTable::read | NeighbourTable::write,
        [&](int first, int rows, const SimilarView& found) {
          for_each_voxel(ctx_, list_of(rows),
                         WeightBody{found, band_geometry(), first, inverse_c1, inverse_c2});
          reduce(ctx_, std::size_t(rows), 1, WeightSumBody{{}, found}, work, scalar.data());
          largest = std::max(largest, scalar.to_host(ctx_)[0]);
        });
    result_.time_step = 1 / largest;
    const Buffer<float> before = band_.value.clone(ctx_);
    Buffer<float> next(ctx_, std::size_t(n));
    for (int k = 0; k < options_.iterations; ++k) {
      table_->for_each_slab(
          ctx_, NeighbourTable::read, [&](int first, int rows, const SimilarView& weights) {
            for_each_voxel(ctx_, list_of(rows),
                           HeatStepBody{weights, first, float(result_.time_step), farthest(),
                                        before.data(), band_.value.data(), next.data()});
          });
      std::swap(band_.value, next);
      observer_.on_iteration(k + 1, options_.iterations);
      stop_if_asked();
    }
    reduce(ctx_, std::size_t(n), 1, ChangeSumBody{{}, before.data(), band_.value.data()}, work,
           scalar.data());
    result_.mean_change_mm = unit_ * scalar.to_host(ctx_)[0] / n;
    reduce(ctx_, std::size_t(n), 1, ChangeMaxBody{{}, before.data(), band_.value.data()}, work,
           scalar.data());
    result_.max_change_mm = unit_ * scalar.to_host(ctx_)[0];
    if (options_.keep_volume && options_.iterations > 0) keep_volume(before);
    table_.reset();
  }

  void keep_volume(const Buffer<float>& before) {
    const std::size_t n = std::size_t(band_.elements);
    const ReduceWorkspace work(ctx_, n, ShiftBody::terms);
    const Buffer<double> sums(ctx_, ShiftBody::terms);
    reduce(ctx_, n, ShiftBody::terms, ShiftBody{{}, before.data(), band_.value.data()}, work,
           sums.data());
    const std::vector<double> s = sums.to_host(ctx_);
    if (s[2] > 0) result_.shift_mm = unit_ * (s[0] - 3 * noise_ * noise_ * s[1]) / s[2];
  }

  /// Brings the surface back where it strayed or vanished, until it did so nowhere. Marks stay, so
  /// this ends.
  void hold_to_limit() {
    const Extent n = phi_.extent();
    const float limit = farthest();
    Buffer<float> mark(ctx_, n.count());
    mark.fill_zero(ctx_);
    const VolumeView<float> marked{mark.data(), n};
    const BandGeometry band = band_geometry();
    const ReduceWorkspace work(ctx_, n.count(), 1);
    const Buffer<double> count(ctx_, 1);
    while (true) {
      for (const VolumeView<const float> after :
           {std::as_const(phi_).view(), std::as_const(result_.distance).view()})
        for_each_voxel(ctx_, n,
                       StrayBody{distance_.view(),
                                 after,
                                 {band.side[0], band.side[1], band.side[2]},
                                 limit,
                                 marked});
      reduce(ctx_, n.count(), 1, MarkCountBody{{}, mark.data()}, work, count.data());
      const auto held = std::int64_t(count.to_host(ctx_)[0]);
      if (held == result_.held_voxels) return;
      result_.held_voxels = held;
      for_each_voxel(ctx_, list_of(band_.elements),
                     HoldBody{band, marked, distance_.view(), limit + 1, phi_.view()});
      result_.distance = signed_distance(ctx_, phi_, 0, Inside::below);
      stop_if_asked();
    }
  }

  Context& ctx_;
  const Volume<float>& distance_;
  const NonlocalMeansOptions& options_;
  NonlocalMeansObserver& observer_;
  double unit_;       // mm
  double noise_ = 0;  // standard deviation, mean sides
  float limit_ = 0;
  int rows_per_slab_ = 0;
  Volume<float> phi_;
  Band band_;
  Buffer<float> patches_;
  std::optional<NeighbourTable> table_;
  NonlocalMeansResult result_;
};

}  // namespace

std::size_t predict_surface_bytes(const Context& ctx, const Geometry& grid) {
  Context rehearsal = ctx.rehearsal();
  const Volume<float> image(rehearsal, grid), phi(rehearsal, grid);
  signed_distance(rehearsal, image, 0, Inside::below);
  return rehearsal.statistics().peak_bytes;
}

NonlocalMeansResult nonlocal_means(Context& ctx, const Volume<float>& distance,
                                   const NonlocalMeansOptions& options,
                                   NonlocalMeansObserver* observer) {
  options.validate();
  check_numbered(distance.geometry(), "the volume");
  require_on_device(ctx, distance);
  NonlocalMeansObserver silent;
  return Denoiser(ctx, distance, options, observer ? *observer : silent).run();
}

}  // namespace freeflow
