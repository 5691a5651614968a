#include <apps/atlas/labels.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <future>
#include <map>
#include <set>
#include <utility>

#include <apps/program.h>
#include <apps/threads.h>
#include <freeflow/core/parallel_errors.h>
#include <freeflow/transform/resample.h>

namespace freeflow::apps {

namespace {

using Carried = std::vector<std::int32_t>;  // places in a list of labels, per voxel

/// All labels of all processes in order; 0, the background, comes first.
std::vector<std::uint64_t> union_of(const std::set<std::uint64_t>& own, Ranks& ranks) {
  WordRows rows;
  for (const std::uint64_t label : own) rows.push_back({std::int64_t(label)});
  std::set<std::uint64_t> all{0};
  for (const std::vector<std::int64_t>& row : gather(ranks, rows, 1))
    all.insert(std::uint64_t(row[0]));
  return {all.begin(), all.end()};
}

/// Labels in their own numbers become places in `all`.
void renumber(Carried& carried, const std::vector<std::uint64_t>& own,
              const std::vector<std::uint64_t>& all) {
  std::vector<std::int32_t> place;
  place.reserve(own.size());
  for (const std::uint64_t label : own)
    place.push_back(std::int32_t(std::ranges::lower_bound(all, label) - all.begin()));
  for (std::int32_t& n : carried) n = place[std::size_t(n)];
}

/// The smallest that holds them; few programs read 64 bits. Negative labels are the last of `all`.
StoredType type_for(const std::vector<std::uint64_t>& all) {
  std::int64_t low = 0, high = 0;
  for (const std::uint64_t label : all) {
    low = std::min(low, std::int64_t(label));
    high = std::max(high, std::int64_t(label));
  }
  const auto fit = [&]<class T>(T) { return std::in_range<T>(low) && std::in_range<T>(high); };
  if (fit(std::uint8_t())) return StoredType::uint8;
  if (fit(std::uint16_t())) return StoredType::uint16;
  if (fit(std::int16_t())) return StoredType::int16;
  return fit(std::int32_t()) ? StoredType::int32 : StoredType::int64;
}

/// Voxels with one label in each and in both.
double mean_dice(const Carried& a, const Carried& b, std::size_t labels) {
  std::vector<double> in_a(labels), in_b(labels), in_both(labels);
  for (std::size_t i = 0; i < a.size(); ++i) {
    ++in_a[std::size_t(a[i])];
    ++in_b[std::size_t(b[i])];
    if (a[i] == b[i]) ++in_both[std::size_t(a[i])];
  }
  double sum = 0, count = 0;
  for (std::size_t l = 1; l < labels; ++l)
    if (in_a[l] + in_b[l] > 0) sum += 2 * in_both[l] / (in_a[l] + in_b[l]), ++count;
  return count > 0 ? sum / count : 1;
}

struct NumberedImage {
  Geometry geometry;
  NumberedLabels<std::uint64_t> labels;
};

NumberedImage read_numbered(const std::string& path) {
  const HostLabels read = read_labels(path);
  return {read.geometry, number_labels<std::uint64_t>(read.labels, 0)};
}

/// How many of `carried` have a label, per voxel.
void count_label(const std::map<std::size_t, Carried>& carried, std::int32_t label, int threads,
                 std::vector<std::int64_t>& count) {
  constexpr std::ptrdiff_t piece = 4096;  // whose counts stay in the cache
  const auto voxels = std::ptrdiff_t(count.size());
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::ptrdiff_t begin = 0; begin < voxels; begin += piece) {
    const std::ptrdiff_t size = std::min(piece, voxels - begin);
    std::int32_t found[piece] = {};
    for (const auto& [member, labels] : carried)
      for (std::ptrdiff_t i = 0; i < size; ++i)
        found[i] += labels[std::size_t(begin + i)] == label ? 1 : 0;
    std::copy_n(found, size, count.begin() + begin);
  }
}

}  // namespace

const ListedSubject* labelled(const AtlasResult& atlas, const AtlasResult::Own& own,
                              const std::vector<ListedSubject>& listed) {
  const auto subject =
      std::ranges::find(listed, atlas.members[own.member].name, &ListedSubject::name);
  return subject == listed.end() || subject->labels.empty() ? nullptr : &*subject;
}

std::optional<TemplateLabels> carry_labels(Context& ctx, const AtlasResult& atlas,
                                           const std::vector<ListedSubject>& listed, Ranks& ranks) {
  const Geometry& grid = atlas.mask.geometry();
  const std::size_t voxels = grid.extent.count();
  std::map<std::size_t, Carried> carried;  // by member
  std::map<std::size_t, std::vector<std::uint64_t>> label_lists;
  std::set<std::uint64_t> found;
  std::vector<std::pair<const AtlasResult::Own*, const ListedSubject*>> with_labels;
  for (const AtlasResult::Own& own : atlas.own)
    if (const ListedSubject* const subject = labelled(atlas, own, listed))
      with_labels.emplace_back(&own, subject);
  // Some are read while one is carried: inflating and numbering take longer.
  constexpr std::size_t ahead = 4;
  std::deque<std::future<NumberedImage>> coming;
  for (std::size_t k = 0, next = 0; k < with_labels.size(); ++k) {
    stop_if_interrupted();
    for (; next < with_labels.size() && coming.size() < ahead; ++next)
      coming.push_back(
          run_beside([path = with_labels[next].second->labels] { return read_numbered(path); }));
    const NumberedImage numbered = coming.front().get();
    coming.pop_front();
    const AtlasResult::Own& own = *with_labels[k].first;
    const Volume<std::int32_t> image(ctx, numbered.geometry, numbered.labels.number);
    carried[own.member] = resample_labels(ctx, image, member_transform(ctx, atlas, own), grid,
                                          LabelInterpolation::vote)
                              .to_host(ctx);
    label_lists[own.member] = numbered.labels.label;
    found.insert(numbered.labels.label.begin(), numbered.labels.label.end());
  }
  std::vector<std::int64_t> subjects{std::int64_t(carried.size())};
  ranks.sum(subjects);
  if (subjects[0] == 0) return {};
  const std::vector<std::uint64_t> all = union_of(found, ranks);
  std::vector<std::size_t> members;
  members.reserve(carried.size());
  for (const auto& [member, labels] : carried) members.push_back(member);
  const auto for_each_member = [&](const auto& work) {
    ParallelErrors errors;
#pragma omp parallel for schedule(dynamic) num_threads(ctx.threads())
    for (std::ptrdiff_t k = 0; k < std::ptrdiff_t(members.size()); ++k)
      errors.run([&] { work(members[std::size_t(k)]); });
    errors.rethrow();
  };
  for_each_member([&](std::size_t m) { renumber(carried.at(m), label_lists.at(m), all); });

  Carried best(voxels);
  std::vector<std::int64_t> most(voxels), count(voxels);
  for (std::size_t l = 0; l < all.size(); ++l) {
    stop_if_interrupted();
    count_label(carried, std::int32_t(l), ctx.threads(), count);
    ranks.sum(count);
    for (std::size_t i = 0; i < voxels; ++i)
      if (count[i] > most[i]) most[i] = count[i], best[i] = std::int32_t(l);
  }
  TemplateLabels result;
  result.subjects = std::size_t(subjects[0]);
  result.values = all;
  result.majority.geometry = grid;
  result.majority.stored_type = type_for(all);
  for (std::size_t i = 0; i < voxels; ++i) {
    result.majority.labels.push_back(all[std::size_t(best[i])]);
    result.agreement.push_back(float(double(most[i]) / double(subjects[0])));
  }
  std::vector<std::int64_t> dice(atlas.members.size());  // in millionths, less those without
  for_each_member([&](std::size_t m) {
    dice[m] = 1 + std::llround(1e6 * mean_dice(carried.at(m), best, all.size()));
  });
  ranks.sum(dice);
  for (const std::int64_t d : dice) result.dice.push_back(1e-6 * double(d - 1));
  return result;
}

}  // namespace freeflow::apps
