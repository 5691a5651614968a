#include <sstream>

#include <freeflow/atlas/builder.h>

namespace freeflow {

ContentKey TemplateBuilder::round_key(const Position& p) const {
  return derived_key("round by thirds at " + std::to_string(p.resolution - resolutions()), {p.key});
}

ContentKey TemplateBuilder::made_key(const Position& p, int next) const {
  std::ostringstream made;
  made.precision(17);
  made << "template, failures and picture for " << averaged_for(next) - resolutions() << " step "
       << options_.shape_step << " enough " << options_.enough_voxels << settings();
  return derived_key(made.str(), {round_key(p)});
}

std::string TemplateBuilder::settings() const {
  std::ostringstream text;
  text.precision(17);
  text << " by " << int(options_.statistic) << ' ' << options_.trim << ' '
       << int(options_.interpolation) << ' ' << options_.sharpening;
  return text.str();
}

void TemplateBuilder::forget_states_before(const Position& p) {
  if (!state_) return;
  for (const ContentKey& old : old_states_) state_->remove(old);
  old_states_.clear();
  for (const Cohort::Own& own : cohort_.own()) old_states_.push_back(state_key(p, own.card));
}

ContentKey TemplateBuilder::state_key(const Position& p, std::size_t card) const {
  return derived_key("subject", {round_key(p), cohort_.cards()[card].content});
}

int TemplateBuilder::next_resolution(const Position& p, double change_voxels) const {
  const bool ends = change_voxels < options_.enough_voxels ||
                    p.round + 1 >= options_.rounds[std::size_t(p.resolution)];
  return p.resolution + ends;
}

TemplateBuilder::Position TemplateBuilder::after(const Position& p, int next) const {
  return {next, next == p.resolution ? p.round + 1 : 0, made_key(p, next)};
}

/// Of a round, where the template that it made is there.
std::optional<RoundRecord> TemplateBuilder::kept_round(const Position& p, int next) const {
  const ContentKey made = made_key(p, next);
  if (!state_->has(derived_key("images", {made}))) return {};
  const auto bytes = state_->read(made);
  if (!bytes) return {};
  return round_record(*bytes, grid_.space_code);
}

bool TemplateBuilder::everywhere(bool here) {
  std::int64_t missing = here ? 0 : 1;
  ranks_.sum(std::span(&missing, 1));
  return missing == 0;
}

std::vector<TemplateBuilder::Done> TemplateBuilder::kept_rounds(Position p) {
  std::vector<Done> done;
  while (p.resolution < resolutions()) {
    std::optional<RoundRecord> record = kept_round(p, p.resolution);
    if (!record) record = kept_round(p, p.resolution + 1);
    if (!everywhere(record.has_value())) break;
    const int next = next_resolution(p, record->round.change_voxels);
    if (!kept_round(p, next)) break;  // it was made for other numbers of rounds
    done.push_back({p, next, std::move(*record)});
    p = after(p, next);
  }
  return done;
}

KeptWork TemplateBuilder::kept() {
  KeptWork kept;
  if (!state_) return kept;
  key_ = affines_key();
  kept.affines = restore_affines();
  if (!kept.affines) return kept;
  std::vector<Done> done = kept_rounds({0, 0, key_});
  while (!done.empty() && !left_of(done.back())) done.pop_back();
  if (done.empty()) return kept;
  const Position next = after(done.back().position, done.back().next);
  kept.rounds = int(done.size());
  kept.resolution = next.resolution;
  kept.round = next.round;
  return kept;
}

TemplateBuilder::Position TemplateBuilder::resume(Position start) {
  if (!state_) return start;
  std::vector<Done> done = kept_rounds(start);
  for (; !done.empty(); done.pop_back()) {
    std::optional<Left> left = left_of(done.back());
    if (!left) continue;
    restore(done.back(), std::move(*left));
    for (Done& d : done) {
      result_.rounds.push_back(std::move(d.record.round));
      observer_.on_round(result_.rounds.back());
    }
    return after(done.back().position, done.back().next);
  }
  return start;
}

std::optional<TemplateBuilder::Left> TemplateBuilder::left_of(const Done& done) {
  auto images = state_->read(derived_key("images", {made_key(done.position, done.next)}));
  bool whole = images.has_value();
  Left left;
  for (std::size_t k = 0; whole && k < cohort_.own().size(); ++k) {
    const std::size_t card = cohort_.own()[k].card;
    if (!cohort_.is_present(card) || !done.record.failures[card].empty()) continue;
    const auto bytes = state_->read(state_key(done.position, card));
    whole = bytes.has_value();
    if (whole) left.states.emplace_back(k, subject_state(*bytes, grid_.space_code));
  }
  if (!everywhere(whole)) return {};
  left.images = std::move(*images);
  return left;
}

void TemplateBuilder::restore(const Done& done, Left left) {
  cohort_.exclude(done.record.failures);
  take_template(ctx_, left.images, grid_.space_code, template_, mean_);
  update_ = update_of(mean_);
  for (auto& [k, state] : left.states)
    found_[k] = std::make_shared<const SubjectState>(std::move(state));
  forget_states_before(done.position);
}

void TemplateBuilder::keep_round(const Position& p, int next, const AtlasRound& round) {
  if (!state_) return;
  if (ranks_.rank() == 0) {
    const ContentKey made = made_key(p, next);
    state_->write(derived_key("images", {made}), to_bytes(ctx_, template_, mean_));
    RoundRecord record{round, {}};
    for (const SubjectCard& card : cohort_.cards()) record.failures.push_back(card.failure);
    state_->write(made, to_bytes(record));
  }
  state_->settle();
  everywhere(true);  // from here on the round before is not needed
}

}  // namespace freeflow
