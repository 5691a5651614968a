// What the nonrigid registrations share: the images of a level, the way from coarse to fine, the
// result and its warnings. A pipeline derives from it and says what a level does.
#pragma once

#include <optional>
#include <vector>

#include <freeflow/registration/levels/image_channels.h>
#include <freeflow/registration/levels/level_options.h>
#include <freeflow/registration/registration_result.h>

namespace freeflow {

class LevelLoop {
 public:
  virtual ~LevelLoop() = default;

  /// Throws RegistrationError for images without content or overlap, and Cancelled when the
  /// observer asks.
  RegistrationResult run(Observer* observer);

 protected:
  /// Everything must outlive this.
  LevelLoop(Context& ctx, PreparedImage& fixed, PreparedImage& moving, const LevelOptions& options);

  /// Brings the deformation to the grid of level l, before its images are made.
  virtual void enter_level(int l, const Geometry& grid) = 0;
  virtual int iterations_of_level(int l) const = 0;
  /// Allocates what a level takes and, but in a rehearsal, improves the deformation. similarity_
  /// has been prepared for the pairs, one for each channel; `level` is complete but for what
  /// happens now.
  virtual void descend(const std::vector<ImagePair>& channels, LevelRecord& level,
                       Observer& observer) = 0;
  /// The displacement on the fixed grid without folds, and the velocity where there is one. The
  /// measure's memory has been given back.
  virtual void finish(RegistrationResult& result, const StopRequest& stop) = 0;
  /// Whether the result's velocity gives the inverse, too.
  virtual bool symmetric() const { return false; }
  /// What to do about folds that are left.
  virtual const char* mend_of_folds() const = 0;
  /// Whether a level lowered the cost or had nothing to do.
  virtual bool gained(const std::vector<LevelRecord>& levels) const = 0;

  Context& ctx_;
  PreparedImage &fixed_, &moving_;
  std::vector<Factors> fixed_factors_, moving_factors_;
  std::vector<ChannelRanges> ranges_;  // of the masked images, channel by channel
  std::optional<ChannelMeasure> similarity_;

  /// What compares the channels on level l, with their ranges; swapped: moving against fixed.
  ChannelMeasure measure_of(int l, bool swapped = false) const;

 private:
  double prepare();
  LevelRecord run_level(int l, Observer& observer);
  void extend_to(const Geometry& whole, RegistrationResult& result, const StopRequest& stop);
  void store(RegistrationResult& result);
  void show(const DisplacementField& displacement, Observer& observer);
  PointMap map_between(const Geometry& fixed, const Geometry& moving) const;

  const LevelOptions& level_options_;
};

}  // namespace freeflow
