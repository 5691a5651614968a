#include <freeflow/atlas/cohort.h>

#include <algorithm>
#include <numeric>

#include <freeflow/core/error.h>
#include <freeflow/core/parallel_errors.h>
#include <freeflow/registration/levels/pyramid.h>
#include <freeflow/regularize/gaussian.h>

namespace freeflow {

namespace {

std::vector<std::int64_t> to_row(const SubjectCard& c) {
  WordWriter row;
  row.put(c.name).put(std::int64_t(c.content.high)).put(std::int64_t(c.content.low));
  for (int axis = 0; axis < 3; ++axis) {
    row.put(std::int64_t(c.geometry.extent[axis])).put(c.geometry.spacing[axis]);
    row.put(c.geometry.origin[axis]).put(c.moments.centre[axis]);
    for (int j = 0; j < 3; ++j) row.put(c.geometry.direction(axis, j));
  }
  row.put(std::int64_t(c.geometry.space_code));
  row.put(c.moments.radius_mm).put(std::int64_t(c.channels)).put(std::int64_t(c.has_mask));
  row.put(c.failure);
  return row.take();
}

SubjectCard to_card(const std::vector<std::int64_t>& words) {
  WordReader row(words);
  SubjectCard c;
  c.name = row.text();
  c.content.high = std::uint64_t(row.integer());
  c.content.low = std::uint64_t(row.integer());
  int* const sizes[3] = {&c.geometry.extent.x, &c.geometry.extent.y, &c.geometry.extent.z};
  for (int axis = 0; axis < 3; ++axis) {
    *sizes[axis] = int(row.integer());
    c.geometry.spacing[axis] = row.number();
    c.geometry.origin[axis] = row.number();
    c.moments.centre[axis] = row.number();
    for (int j = 0; j < 3; ++j) c.geometry.direction(axis, j) = row.number();
  }
  c.geometry.space_code = int(row.integer());
  c.moments.radius_mm = row.number();
  c.channels = std::size_t(row.integer());
  c.has_mask = row.integer() != 0;
  c.failure = row.text();
  return c;
}

/// Normalises, and says what every process is to know.
SubjectCard prepare(AtlasSubject& subject) {
  SubjectCard card{subject.name,
                   content_of(subject),
                   subject.geometry,
                   {},
                   subject.channels.size(),
                   !subject.mask.empty(),
                   {}};
  try {
    for (float& v : subject.mask) v = v > 0.5f ? 1 : 0;
    if (card.has_mask && std::ranges::count(subject.mask, 1.f) == 0)
      throw RegistrationError("the mask of subject '" + subject.name + "' has no voxel above 0.5");
    normalise_intensities(subject, "subject '" + subject.name + "'");
    card.moments = object_moments(subject);
  } catch (const RegistrationError& e) {
    card.failure = e.what();
  }
  return card;
}

void check_own(const AtlasSubject& s) {
  constexpr std::size_t longest_name = 256;
  require(s.name.size() < longest_name, "the name of a subject is too long: " + s.name);
  check_voxels(s, "subject '" + s.name + "'");
}

}  // namespace

void check_voxels(const AtlasSubject& s, const std::string& what) {
  s.geometry.validate(what.c_str());
  const std::size_t voxels = s.geometry.extent.count();
  require(!s.channels.empty(), what + " has no image");
  for (const std::vector<float>& channel : s.channels)
    require(channel.size() == voxels, what + " has a channel whose voxels do not fit its grid");
  require(s.mask.empty() || s.mask.size() == voxels,
          "the mask of " + what + " does not fit its grid");
}

Cohort::Cohort(std::vector<AtlasSubject> own, Ranks& ranks, bool keep_going, int threads)
    : ranks_(ranks), keep_going_(keep_going) {
  WordRows rows;
  for (const AtlasSubject& subject : own) check_own(subject);
  rows.resize(own.size());
  ParallelErrors errors;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t(own.size()); ++i)
    errors.run([&] { rows[std::size_t(i)] = to_row(prepare(own[std::size_t(i)])); });
  errors.rethrow();
  for (const std::vector<std::int64_t>& row : gather(ranks, rows, to_row({}).size()))
    cards_.push_back(to_card(row));
  std::ranges::sort(cards_, [](const SubjectCard& a, const SubjectCard& b) {
    return std::tie(a.content, a.name) < std::tie(b.content, b.name);
  });
  check();
  for (AtlasSubject& subject : own) {
    const auto card = std::ranges::find(cards_, subject.name, &SubjectCard::name);
    own_.push_back({std::size_t(card - cards_.begin()), std::move(subject)});
  }
  std::ranges::sort(own_, {}, &Own::card);
  exclude(std::vector<std::string>(cards_.size()));
}

void Cohort::check() {
  require(cards_.size() >= 2, cards_.empty()
                                  ? "there is no subject"
                                  : "a template needs two subjects or more, and there is one ('" +
                                        cards_[0].name + "')");
  std::vector<std::string> names;
  for (const SubjectCard& c : cards_) names.push_back(c.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  require(twice == names.end(), "two subjects have the name '" +
                                    (twice == names.end() ? "" : *twice) +
                                    "': give every subject a name of its own");
  for (std::size_t i = 0; i < cards_.size(); ++i) {
    const SubjectCard &first = cards_[0], &c = cards_[i];
    require(c.channels == first.channels,
            "subjects '" + first.name + "' and '" + c.name +
                "' have different numbers of channels: give all the same");
    require(c.has_mask == first.has_mask,
            "subject '" + (c.has_mask ? first.name : c.name) +
                "' has no mask while others have: give all one, or none");
    if (i > 0 && cards_[i - 1].content == c.content)
      warnings_.push_back("subjects '" + cards_[i - 1].name + "' and '" + c.name +
                          "' have the same image, which counts twice");
  }
}

std::size_t Cohort::present() const {
  return std::size_t(
      std::ranges::count_if(cards_, [](const SubjectCard& c) { return c.failure.empty(); }));
}

void Cohort::exclude(const std::vector<std::string>& failures) {
  WordRows own;
  for (std::size_t i = 0; i < cards_.size(); ++i)
    if (!failures[i].empty())
      own.push_back(WordWriter().put(std::int64_t(i)).put(failures[i]).take());
  for (const std::vector<std::int64_t>& words : gather(ranks_, own, 1 + WordWriter::text_words)) {
    WordReader row(words);
    const std::size_t card = std::size_t(row.integer());
    cards_[card].failure = row.text();
  }
  for (const SubjectCard& c : cards_)
    if (!c.failure.empty() && !keep_going_) throw RegistrationError(c.failure);
  if (present() >= 2) return;
  const auto left_out =
      std::ranges::find_if(cards_, [](const SubjectCard& c) { return !c.failure.empty(); });
  throw RegistrationError("fewer than two subjects are left: " + left_out->failure);
}

DeviceSubject load(Context& ctx, const AtlasSubject& subject, double spacing_mm) {
  const Factors factors = factors_towards(subject.geometry, spacing_mm);
  const auto upload = [&](const std::vector<float>& voxels) {
    Volume<float> volume(ctx, subject.geometry, voxels);
    return factors == Factors{1, 1, 1} ? std::move(volume) : decimate(ctx, volume, factors);
  };
  DeviceSubject loaded;
  for (const std::vector<float>& channel : subject.channels)
    loaded.channels.push_back(upload(channel));
  if (!subject.mask.empty()) loaded.mask = upload(subject.mask);
  return loaded;
}

}  // namespace freeflow
