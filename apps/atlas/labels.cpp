#include <apps/atlas/labels.h>

#include <algorithm>
#include <map>
#include <set>

#include <apps/program.h>
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
  for (const std::uint64_t label : own)
    place.push_back(std::int32_t(std::ranges::lower_bound(all, label) - all.begin()));
  for (std::int32_t& n : carried) n = place[std::size_t(n)];
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
  for (const AtlasResult::Own& own : atlas.own) {
    stop_if_interrupted();
    const ListedSubject* const subject = labelled(atlas, own, listed);
    if (!subject) continue;
    const HostLabels labels = read_labels(subject->labels);
    const NumberedLabels<std::uint64_t> numbered = number_labels<std::uint64_t>(labels.labels, 0);
    const Volume<std::int32_t> image(ctx, labels.geometry, numbered.number);
    carried[own.member] = resample_labels(ctx, image, member_transform(ctx, atlas, own), grid,
                                          LabelInterpolation::vote)
                              .to_host(ctx);
    label_lists[own.member] = numbered.label;
    found.insert(numbered.label.begin(), numbered.label.end());
  }
  std::vector<std::int64_t> subjects{std::int64_t(carried.size())};
  ranks.sum(subjects);
  if (subjects[0] == 0) return {};
  const std::vector<std::uint64_t> all = union_of(found, ranks);
  for (auto& [member, labels] : carried) renumber(labels, label_lists[member], all);

  Carried best(voxels);
  std::vector<std::int64_t> most(voxels);
  for (std::size_t l = 0; l < all.size(); ++l) {
    std::vector<std::int64_t> count(voxels);
    for (const auto& [member, labels] : carried)
      for (std::size_t i = 0; i < voxels; ++i) count[i] += labels[i] == std::int32_t(l);
    ranks.sum(count);
    for (std::size_t i = 0; i < voxels; ++i)
      if (count[i] > most[i]) most[i] = count[i], best[i] = std::int32_t(l);
  }
  TemplateLabels result;
  result.subjects = std::size_t(subjects[0]);
  result.values = all;
  result.majority.geometry = grid;
  result.majority.stored_type = all.back() < 256     ? StoredType::uint8
                                : all.back() < 65536 ? StoredType::uint16
                                                     : StoredType::int64;
  for (std::size_t i = 0; i < voxels; ++i) {
    result.majority.labels.push_back(all[std::size_t(best[i])]);
    result.agreement.push_back(float(double(most[i]) / double(subjects[0])));
  }
  std::vector<std::int64_t> dice(atlas.members.size());  // in millionths, less those without
  for (const auto& [member, labels] : carried)
    dice[member] = 1 + std::int64_t(1e6 * mean_dice(labels, best, all.size()) + 0.5);
  ranks.sum(dice);
  for (const std::int64_t d : dice) result.dice.push_back(1e-6 * double(d - 1));
  return result;
}

}  // namespace freeflow::apps
