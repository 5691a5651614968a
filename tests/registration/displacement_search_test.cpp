// The displacements that cells choose against a plain search of them all, in whole numbers.
#include <freeflow/registration/search/displacement_search.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

using Vec = Eigen::Vector3i;
using Fields = std::vector<Eigen::Vector3d>;  // a vector for each cell

/// Random descriptors, some of whose channels are missing; beyond `until` all are.
std::vector<MindRecord> records(const Extent& n, unsigned seed, int until) {
  std::mt19937 random(seed);
  std::vector<MindRecord> all;
  for (std::size_t i = 0; i < n.count(); ++i) {
    MindRecord r{};
    for (std::uint32_t& four : r.channels) four = std::uint32_t(random());
    r.present = random() % 4 > 0 ? MindRecord::all : std::uint32_t(random()) & MindRecord::all;
    if (int(i) % n.x >= until) r.present = 0;
    all.push_back(r);
  }
  return all;
}

struct Channel {
  std::vector<MindRecord> fixed, moving;
  double weight;
};

/// What the header says, cell by cell.
struct Oracle {
  Extent grid, cells;
  int width;
  SearchWindow window;
  Vec margin;
  Eigen::Vector3d voxel_mm;
  std::vector<Channel> channels;

  std::vector<Vec> displacements() const {
    std::vector<Vec> all;
    for (int z = -window.reach[2]; z <= window.reach[2]; ++z)
      for (int y = -window.reach[1]; y <= window.reach[1]; ++y)
        for (int x = -window.reach[0]; x <= window.reach[0]; ++x)
          all.emplace_back(window.step * Vec(x, y, z));
    return all;
  }
  std::size_t offset(const Vec& c) const { return cells.offset(c.x(), c.y(), c.z()); }
  template <class F>
  void each_cell(F&& f) const {
    for (int z = 0; z < cells.z; ++z)
      for (int y = 0; y < cells.y; ++y)
        for (int x = 0; x < cells.x; ++x) f(Vec(x, y, z));
  }

  MindRecord at(const std::vector<MindRecord>& v, const Vec& p) const {
    const bool inside =
        (p.array() >= 0).all() && p.x() < grid.x && p.y() < grid.y && p.z() < grid.z;
    return inside ? v[grid.offset(p.x(), p.y(), p.z())] : MindRecord{};
  }
  /// The mean square over the channels of eight voxels, and how many those are.
  std::array<std::uint64_t, 2> squares(const Channel& in, const Vec& cell, const Vec& d) const {
    std::uint64_t sum = 0, number = 0;
    for (int i = 0; i < 8; ++i) {
      const Vec p = margin + width * cell + width / 2 * Vec(i & 1, i >> 1 & 1, i >> 2 & 1);
      const MindRecord f = at(in.fixed, p), m = at(in.moving, p + d);
      for (int k = 0; k < MindRecord::count; ++k) {
        if (!(f.present & m.present & 1u << k)) continue;
        const int a = int(f.channels[k / 4] >> 8 * (k % 4) & 255u),
                  b = int(m.channels[k / 4] >> 8 * (k % 4) & 255u);
        sum += std::uint64_t((a - b) * (a - b));
        ++number;
      }
    }
    return {number > 0 ? sum / number : 0, number};
  }
  /// What is missing counts as the mean of the cell's costs.
  std::vector<std::uint64_t> costs_of(const Channel& in, const Vec& cell, const Vec& middle) const {
    std::vector<std::array<std::uint64_t, 2>> all;
    std::uint64_t total = 0, number = 0;
    for (const Vec& d : displacements()) {
      all.push_back(squares(in, cell, middle + d));
      total += all.back()[0] * all.back()[1];
      number += all.back()[1];
    }
    const std::uint64_t mean = number > 0 ? total / number : 0;
    std::vector<std::uint64_t> costs;
    costs.reserve(all.size());
    for (const auto& [square, known] : all)
      costs.push_back((square * known + mean * (96 - known)) / 96);
    return costs;
  }
  std::vector<std::uint64_t> costs(const Vec& cell, const Vec& middle) const {
    std::vector<std::uint64_t> sum = costs_of(channels[0], cell, middle);
    double taken = channels[0].weight;
    for (std::size_t c = 1; c < channels.size(); ++c) {
      taken += channels[c].weight;
      const auto share = std::uint64_t(std::lround(65536 * channels[c].weight / taken));
      const std::vector<std::uint64_t> further = costs_of(channels[c], cell, middle);
      for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] = (sum[i] * (65536 - share) + further[i] * share + 32768) >> 16;
    }
    return sum;
  }

  Fields mean_about(const Fields& of) const {
    Fields mean;
    each_cell([&](const Vec& c) {
      Eigen::Vector3d sum = Eigen::Vector3d::Zero();
      double number = 0;
      each_cell([&](const Vec& other) {
        if ((other - c).cwiseAbs().maxCoeff() > 1) return;
        sum += of[offset(other)];
        number += 1;
      });
      mean.push_back(sum / number);
    });
    return mean;
  }

  /// about: the first s; none: what costs alone choose.
  Fields search(const std::vector<double>& weights, const Fields* about) const {
    Fields smooth, middle(cells.count(), Eigen::Vector3d::Zero());
    if (about) {
      smooth = *about;
      for (std::size_t i = 0; i < middle.size(); ++i)
        middle[i] = ((*about)[i].array() + 0.5).floor();
    }
    std::vector<std::vector<std::uint64_t>> all;
    double contrast = 0;  // the mean of the costs' means less their least
    each_cell([&](const Vec& c) {
      all.push_back(costs(c, middle[offset(c)].cast<int>()));
      std::uint64_t total = 0, least = 65535;
      for (const std::uint64_t cost : all.back()) total += cost, least = std::min(least, cost);
      const std::uint64_t mean = total / all.back().size();
      contrast += double(mean) - double(least);
    });
    contrast /= double(cells.count());
    const auto turn = [&](double weight) {
      Fields chosen;
      each_cell([&](const Vec& c) {
        double best = std::numeric_limits<double>::infinity();
        Eigen::Vector3d found;
        std::size_t i = 0;
        for (const Vec& d : displacements()) {
          const Eigen::Vector3d to = middle[offset(c)] + d.cast<double>();
          double score = double(all[offset(c)][i++]);
          if (weight > 0)
            score += weight * contrast *
                     ((to - smooth[offset(c)]).cwiseProduct(voxel_mm) /
                      (window.step * std::cbrt(voxel_mm.prod())))
                         .squaredNorm();
          if (score > best || (score == best && !(to.norm() < found.norm()))) continue;
          best = score;
          found = to;
        }
        chosen.push_back(found);
      });
      smooth = mean_about(chosen);
    };
    if (!about) turn(0);
    for (const double weight : weights) turn(weight);
    return smooth;
  }
};

class CellSearch : public OnDevice {
 protected:
  void expect_as(const Oracle& in, const std::vector<double>& weights, const Fields* about) {
    Geometry cells = plain_geometry(in.cells);
    std::vector<Buffer<MindRecord>> kept;
    SearchImages images{{}, {in.margin.x(), in.margin.y(), in.margin.z()}, in.voxel_mm};
    for (const Channel& c : in.channels) {
      const VolumeView<const MindRecord> fixed{kept.emplace_back(ctx, c.fixed).data(), in.grid},
          moving{kept.emplace_back(ctx, c.moving).data(), in.grid};
      images.channels.push_back({fixed, moving, c.weight});
    }
    const DisplacementSearch search(ctx, cells, in.width, in.window, in.channels.size());
    DisplacementField start(ctx, cells);
    if (about)
      start = DisplacementField(ctx, cells, field_planes(in.cells, [&](int x, int y, int z) {
                                  return (*about)[in.cells.offset(x, y, z)];
                                }));
    const std::vector<float> found = (about ? search.refine(ctx, images, weights, std::move(start))
                                            : search.run(ctx, images, weights))
                                         .to_host(ctx);
    const Fields expected = in.search(weights, about);
    const std::size_t n = in.cells.count();
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], expected[i % n][int(i / n)], 1e-4) << i;
  }
};
FREEFLOW_ON_EVERY_DEVICE(CellSearch);

TEST_P(CellSearch, ChoosesWhatAPlainSearchDoes) {
  Oracle in{{17, 12, 10}, {4, 3, 2}, 2, {{2, 1, 1}, 2}, {5, 4, 4}, {1, 1.5, 2}, {}};
  const Extent n = in.grid;
  in.channels = {{records(n, 1, n.x), records(n, 2, 15), 0.75}};
  expect_as(in, {}, nullptr);
  expect_as(in, {0.05, 0.4}, nullptr);
  in.channels.push_back({records(n, 3, 12), records(n, 4, n.x), 0.25});
  expect_as(in, {0.05, 0.4}, nullptr);
  Fields about;
  in.each_cell([&](const Vec& c) { about.emplace_back(wave(c.x(), c.y(), c.z(), 3)); });
  expect_as(in, {0.1}, &about);
  in.width = 4, in.margin = {1, 1, 2};
  in.window = {{1, 2, 0}, 1};
  expect_as(in, {0.1}, &about);
}

TEST_P(CellSearch, EndsWhereTheGridDoesAndAmongEqualsTakesTheShortest) {
  Oracle in{{17, 12, 10}, {4, 3, 2}, 2, {{2, 1, 1}, 2}, {5, 4, 4}, {1, 1, 1}, {}};
  std::vector<MindRecord> fixed = records(in.grid, 1, in.grid.x),
                          moving = records(in.grid, 2, in.grid.x);
  for (std::vector<MindRecord>* all : {&fixed, &moving})
    for (MindRecord& r : *all) r.present = MindRecord::all;
  in.channels = {{fixed, moving, 1}};
  Fields about;
  in.each_cell([&](const Vec& c) {
    about.emplace_back(2 * c.x() - 3, 2 * c.y() - 1,
                       3 * c.z());  // beyond the grid, and half a step off
  });
  expect_as(in, {0.1}, &about);
  expect_as(in, {0.1}, nullptr);
  for (std::vector<MindRecord>* all : {&fixed, &moving})
    for (MindRecord& r : *all) r = {{0, 0, 0}, MindRecord::all};
  in.channels = {{fixed, moving, 1}};
  expect_as(in, {0.1}, &about);
}

}  // namespace
}  // namespace freeflow
