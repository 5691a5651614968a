// Private to atlas: the building of one template. What it does first stands in affine_stage.cpp,
// its rounds in rounds.cpp, what it finds on disk in resume.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <freeflow/atlas/atlas_options.h>
#include <freeflow/atlas/atlas_surroundings.h>
#include <freeflow/atlas/cohort.h>
#include <freeflow/atlas/frame.h>
#include <freeflow/atlas/round_state.h>
#include <freeflow/atlas/template_image.h>

namespace freeflow {

class TemplateBuilder {
 public:
  TemplateBuilder(Context& ctx, std::vector<AtlasSubject> subjects, const AtlasOptions& options,
                  const AtlasSurroundings& around);
  AtlasResult build();
  KeptWork kept();

 private:
  /// The round that comes next, and all that the template rests on so far.
  struct Position {
    int resolution = 0, round = 0;
    ContentKey key;
  };
  /// A round that is on disk, and the resolution of the one after it.
  struct Done {
    Position position;
    int next;
    RoundRecord record;
  };
  /// What goes on from it: the template as bytes, and the states of own subjects that are left.
  struct Left {
    std::vector<std::byte> images;
    std::vector<std::pair<std::size_t, SubjectState>> states;  // by place in own()
  };
  // affine_stage.cpp
  void find_affines();
  /// Of a linear stage's results.
  std::string linear_settings() const;
  /// What the affines rest on.
  ContentKey affines_key() const;
  std::vector<SubjectCard> present_cards() const;
  /// The template's, by what the headers say now.
  int space_code() const;
  bool restore_affines();
  void keep_affines();
  AtlasSubject reference() const;
  /// All that are present, and leaves out who fails. False where most run against it: then it
  /// alone was left out.
  bool register_to(const AtlasSubject& middle);
  /// Returns who failed, as failures_of_own.
  std::vector<std::string> register_linearly(PreparedImage& fixed, const std::string& fixed_name,
                                             const ContentKey& key, LinearSearch search, int pass);
  Eigen::Affine3d linear_map(PreparedImage& fixed, const std::string& fixed_name,
                             const Cohort::Own& own, const LinearOptions& options, int pass);
  /// Takes the maps' mean out of them; without a start the object goes along.
  void recentre(ObjectMoments& object);

  // rounds.cpp
  Position run_round(const Position& position);
  DisplacementField registered(const Position& position, PreparedImage& fixed, std::size_t k,
                               AtlasRound& round);
  DisplacementField deformation(std::size_t k);
  NonrigidModel model_of(const Position& position, std::size_t k,
                         const DisplacementField& start) const;
  void measure_change(DisplacementField mean, AtlasRound& round);
  DisplacementField update_of(const DisplacementField& mean);
  void average(int resolution);
  DeviceSubject sampled(std::size_t k, const Geometry& grid, int resolution);
  void describe_template(AtlasRound& round);
  void judge();

  // resume.cpp
  Position resume(Position position);
  std::vector<Done> kept_rounds(Position from);
  std::optional<RoundRecord> kept_round(const Position& position, int next) const;
  bool everywhere(bool here);
  /// Nothing where it is not whole in every process.
  std::optional<Left> left_of(const Done& done);
  void restore(const Done& done, Left left);
  void keep_round(const Position& position, int next, const AtlasRound& round);
  void forget_states_before(const Position& position);
  ContentKey round_key(const Position& position) const;
  ContentKey made_key(const Position& position, int next) const;
  /// On whose grid the template is averaged before the next round.
  int averaged_for(int next) const { return std::min(next, resolutions() - 1); }
  ContentKey state_key(const Position& position, std::size_t card) const;

  int resolutions() const { return int(options_.rounds.size()); }
  Geometry grid_of(int resolution) const {
    return coarser_grid(grid_, resolutions() - 1 - resolution);
  }
  /// Subjects are decimated towards these voxels; full resolution takes them as they are.
  double spacing_of(int resolution) const {
    return resolution + 1 == resolutions() ? 0 : grid_of(resolution).spacing.minCoeff();
  }
  /// The resolution of the round after this one, which changed the mean by so much.
  int next_resolution(const Position& position, double change_voxels) const;
  Position after(const Position& position, int next) const;
  /// Runs `work` for every subject of this process that is there. Returns who failed, by card.
  std::vector<std::string> failures_of_own(
      AtlasStage stage, int round, const std::function<bool(std::size_t k)>& work_says_resumed);
  std::string named(std::size_t k, const std::string& failure) const {
    return "subject '" + cohort_.own()[k].subject.name + "': " + failure;
  }
  /// What an average is made by.
  std::string settings() const;
  /// A number of every card, known to this process for its own.
  std::vector<double> of_all(const std::vector<double>& own);

  Context& ctx_;
  AtlasOptions options_;
  Ranks one_process_;
  Ranks& ranks_;
  StateFolder* state_;
  AtlasObserver no_observer_;
  AtlasObserver& observer_;
  Cohort cohort_;
  bool of_velocities_;

  Geometry grid_;
  std::int64_t against_ = 0;              // how many of the linear stage run against its reference
  std::vector<Eigen::Affine3d> affines_;  // by card
  std::vector<double> distances_mm_;
  std::vector<bool> outside_mean_;
  // of own subjects, template to subject before the affine, as the last round found them; the
  // shape update that it led to is still to be taken out, and is so wherever they are used
  std::vector<std::shared_ptr<const SubjectState>> found_;
  DisplacementField update_;
  TemplateImage template_;
  DisplacementField mean_;              // deformation that the last round found
  ContentKey key_;                      // of what the affines rest on
  std::vector<ContentKey> old_states_;  // of the last round, on disk
  AtlasResult result_;
};

}  // namespace freeflow
