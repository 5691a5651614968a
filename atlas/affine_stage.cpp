#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#include <freeflow/atlas/builder.h>
#include <freeflow/deform/affine_algebra.h>
#include <freeflow/deform/warp.h>

namespace freeflow {

namespace {

/// Two floats a word, so that one process' voxels reach all by a sum with zeros.
void spread(Ranks& ranks, std::vector<float>& voxels, bool mine) {
  std::vector<std::int64_t> words((voxels.size() + 1) / 2);
  if (mine) std::memcpy(words.data(), voxels.data(), voxels.size() * sizeof(float));
  ranks.sum(words);
  std::memcpy(voxels.data(), words.data(), voxels.size() * sizeof(float));
}

PreparedImage prepared(DeviceSubject loaded, const char* what) {
  return PreparedImage(std::move(loaded.channels), std::move(loaded.mask), what);
}

/// Over the fixed image's object; negative where the moving one is dark where that is bright.
double correlation_through(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving,
                           const Eigen::Affine3d& map) {
  const std::vector<float> target = fixed.to_host(ctx);
  std::vector<float> object = target;
  for (float& v : object) v = v > usual_intensity / 8 ? 1 : 0;
  const Volume<float> seen =
      warp(ctx, moving, fixed.geometry(), map, nullptr, Interpolation::linear, NAN);
  return correlation_of(target, seen.to_host(ctx), object);
}

}  // namespace

AtlasSubject TemplateBuilder::reference() const {
  if (options_.start) {
    AtlasSubject start = *options_.start;
    check_voxels(start, "AtlasOptions::start");
    require(start.channels.size() == cohort_.channels(),
            "AtlasOptions::start needs as many channels as the subjects have");
    normalise_intensities(start, "AtlasOptions::start");
    return start;
  }
  // of middle size
  std::vector<std::size_t> cards;
  for (std::size_t i = 0; i < cohort_.cards().size(); ++i)
    if (cohort_.is_present(i)) cards.push_back(i);
  std::ranges::stable_sort(cards, {},
                           [&](std::size_t i) { return cohort_.cards()[i].moments.radius_mm; });
  const std::size_t chosen = cards[cards.size() / 2];
  const SubjectCard& card = cohort_.cards()[chosen];
  const auto own = std::ranges::find(cohort_.own(), chosen, &Cohort::Own::card);
  const bool mine = own != cohort_.own().end();
  const std::size_t voxels = card.geometry.extent.count();
  AtlasSubject reference{card.name, card.geometry, {}, {}};
  if (mine) reference = own->subject;
  reference.channels.resize(card.channels);
  for (std::vector<float>& channel : reference.channels) {
    channel.resize(voxels);
    spread(ranks_, channel, mine);
  }
  if (card.has_mask) {
    reference.mask.resize(voxels);
    spread(ranks_, reference.mask, mine);
  }
  return reference;
}

std::string TemplateBuilder::linear_settings() const {
  return "linear " + std::to_string(int(options_.linear)) + " by " +
         std::to_string(int(options_.search));
}

ContentKey TemplateBuilder::affines_key() const {
  ContentKey key = state_ ? state_->made_by() : ContentKey{};
  for (const SubjectCard& card : cohort_.cards()) key = derived_key("subject", {key, card.content});
  if (options_.start) key = derived_key("start", {key, content_of(*options_.start)});
  return derived_key(linear_settings() + settings(), {key});
}

void TemplateBuilder::find_affines() {
  key_ = affines_key();
  if (restore_affines()) return;

  AtlasSubject middle = reference();
  while (!register_to(middle)) middle = reference();
  ObjectMoments object = object_moments(middle);
  grid_ = middle.geometry;
  recentre(object);
  average(resolutions() - 1);
  std::vector<Volume<float>> channels;
  for (const Volume<float>& channel : template_.channels) channels.push_back(channel.lend());
  PreparedImage fixed(std::move(channels),
                      cohort_.has_masks() ? template_.mask.lend() : Volume<float>(),
                      "the template");
  cohort_.exclude(
      register_linearly(fixed, "the mean", derived_key("mean", {key_}), LinearSearch::gradient, 1));
  const Geometry settled = grid_;
  recentre(object);
  grid_ = settled;
  grid_.space_code = space_code();
  keep_affines();
}

bool TemplateBuilder::register_to(const AtlasSubject& middle) {
  const ContentKey made_by = state_ ? state_->made_by() : ContentKey{};
  const ObjectMoments object = object_moments(middle);
  for (std::size_t i = 0; i < affines_.size(); ++i)
    affines_[i] = Eigen::Translation3d(cohort_.cards()[i].moments.centre - object.centre);
  PreparedImage fixed = prepared(load(ctx_, middle, 0), "the reference");
  against_ = 0;
  std::vector<std::string> failures = register_linearly(
      fixed, middle.name, derived_key(linear_settings(), {made_by, content_of(middle)}),
      options_.search, 0);
  ranks_.sum(std::span(&against_, 1));
  const bool odd = !options_.start && 2 * against_ > std::int64_t(cohort_.present());
  if (odd) {  // what failed is no fault of theirs
    const auto card = std::ranges::find(cohort_.cards(), middle.name, &SubjectCard::name);
    std::ranges::fill(failures, "");
    failures[std::size_t(card - cohort_.cards().begin())] =
        "subject '" + middle.name + "': its intensities run against those of most subjects (" +
        std::to_string(against_) + " of " + std::to_string(cohort_.present() - 1) +
        " others): a template takes images of one contrast";
  }
  cohort_.exclude(failures);
  return !odd;
}

std::vector<std::string> TemplateBuilder::register_linearly(PreparedImage& fixed,
                                                            const std::string& fixed_name,
                                                            const ContentKey& key,
                                                            LinearSearch search, int pass) {
  LinearOptions options;
  options.similarity = linear_choice(
      std::visit([](const auto& o) -> const LevelOptions& { return o; }, options_.model)
          .similarity);
  options.model = options_.linear;
  options.search = search;
  options.keep_better_start = true;
  std::vector<std::string> failures = failures_of_own(AtlasStage::linear, pass, [&](std::size_t k) {
    const Cohort::Own& own = cohort_.own()[k];
    const ContentKey result = derived_key("subject", {key, cohort_.cards()[own.card].content});
    std::optional<std::vector<std::byte>> kept;
    if (state_) kept = state_->read(result);
    Eigen::Affine3d map;
    if (kept) {
      map = ByteReader(*kept).affine();
    } else {
      options.initial = affines_[own.card];
      map = linear_map(fixed, fixed_name, own, options, pass);
      if (state_) state_->write(result, ByteWriter().put(map).take());
    }
    affines_[own.card] = map;
    return kept.has_value();
  });
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) {
      std::vector<double> entry;
      for (const Cohort::Own& own : cohort_.own())
        entry.push_back(affines_[own.card].matrix()(i, j));
      const std::vector<double> all = of_all(entry);
      for (std::size_t card = 0; card < all.size(); ++card)
        affines_[card].matrix()(i, j) = all[card];
    }
  return failures;
}

Eigen::Affine3d TemplateBuilder::linear_map(PreparedImage& fixed, const std::string& fixed_name,
                                            const Cohort::Own& own, const LinearOptions& options,
                                            int pass) {
  PreparedImage moving = prepared(load(ctx_, own.subject, 0), "the subject");
  StopObserver stop([this] { return observer_.stop_requested(); });
  Eigen::Affine3d map = register_linear(ctx_, fixed, moving, options, &stop).affine;
  try {
    affine_logarithm(map);
  } catch (const InvalidArgument&) {
    throw RegistrationError("its linear map to '" + fixed_name +
                            "' turns it by 180 degrees or mirrors it; check its header");
  }
  if (pass > 0) return map;
  const double alike = correlation_through(ctx_, fixed.image(ctx_), moving.image(ctx_), map);
  if (alike >= 0) return map;
  ++against_;
  throw RegistrationError("its intensities run against those of '" + fixed_name +
                          "' (correlation " + std::to_string(alike).substr(0, 5) +
                          "): a template takes images of one contrast");
}

void TemplateBuilder::recentre(ObjectMoments& object) {
  std::vector<Eigen::Affine3d> present;
  for (std::size_t i = 0; i < affines_.size(); ++i)
    if (cohort_.is_present(i)) present.push_back(affines_[i]);
  TrimmedMean mean = trimmed_log_mean(present, object.centre, object.radius_mm);
  if (options_.start) mean.mean = shape_part(mean.mean, object.centre);
  for (std::size_t i = 0, k = 0; i < affines_.size(); ++i) {
    affines_[i] = affines_[i] * mean.mean.inverse();
    if (!cohort_.is_present(i)) continue;
    distances_mm_[i] = mean.distance_mm[k];
    outside_mean_[i] = mean.left_out[k++];
  }
  if (options_.start) return;
  object.centre = mean.mean * object.centre;
  grid_ = template_grid(present_cards(), object.centre);
}

std::vector<SubjectCard> TemplateBuilder::present_cards() const {
  std::vector<SubjectCard> cards;
  std::ranges::copy_if(cohort_.cards(), std::back_inserter(cards),
                       [](const SubjectCard& card) { return card.failure.empty(); });
  return cards;
}

int TemplateBuilder::space_code() const {
  return options_.start ? options_.start->geometry.space_code : common_space_code(present_cards());
}

bool TemplateBuilder::restore_affines() {
  if (!state_) return false;
  const auto kept = state_->read(key_);
  if (!everywhere(kept.has_value())) return false;
  ByteReader from(*kept);
  grid_ = from.grid();
  std::vector<std::string> failures;
  for (std::size_t i = 0; i < affines_.size(); ++i) {
    failures.push_back(from.text());
    affines_[i] = from.affine();
    distances_mm_[i] = from.get<double>();
    outside_mean_[i] = from.get<bool>();
  }
  cohort_.exclude(failures);
  grid_.space_code = space_code();
  return true;
}

void TemplateBuilder::keep_affines() {
  if (!state_ || ranks_.rank() != 0) return;
  ByteWriter bytes;
  bytes.put(grid_);
  for (std::size_t i = 0; i < affines_.size(); ++i)
    bytes.put(cohort_.cards()[i].failure)
        .put(affines_[i])
        .put(distances_mm_[i])
        .put(bool(outside_mean_[i]));
  state_->write(key_, bytes.take());
}

}  // namespace freeflow
