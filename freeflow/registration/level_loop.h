// Private: what the nonrigid registrations share: the images of a level, the way from coarse to fine, the result and its warnings. A
// pipeline derives from it and says what a level does.
#pragma once

#include <memory>
#include <vector>

#include <freeflow/registration/ffd.h>
#include <freeflow/registration/pyramid.h>

namespace freeflow {

class LevelLoop {
 public:
  virtual ~LevelLoop() = default;

  /// Throws RegistrationError for images without content or overlap, and Cancelled when the observer asks.
  RegistrationResult run(Observer* observer);

 protected:
  LevelLoop(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving, const Masks& masks, const SimilarityChoice& similarity,
            int levels, const Eigen::Affine3d& initial, const DisplacementField* initial_displacement);

  /// Brings the deformation to the grid of level l, before its images are made.
  virtual void enter_level(int l, const Geometry& grid) = 0;
  virtual int iterations_of_level(int l) const = 0;
  /// Improves it. The similarity has been prepared; `level` is complete but for what happens now.
  virtual void descend(const ImagePair& images, LevelRecord& level, Observer& observer) = 0;
  /// Reads the intensity ranges of the masked images.
  virtual void set_ranges(const Volume<float>& fixed, const Volume<float>& moving) { similarity_->set_range(ctx_, fixed, moving); }
  /// Of the result's displacement, once it is final.
  virtual Inverse inverse_of(const RegistrationResult& result) { return invert(ctx_, result.displacement); }
  /// The displacement on the fixed grid, without folds. The measure's memory has been given back.
  virtual UnfoldResult finish(DisplacementField& displacement) = 0;
  /// What to do about folds that are left, and whether no level gained anything.
  virtual const char* mend_of_folds() const = 0;
  virtual bool gained(const std::vector<LevelRecord>& levels) const = 0;

  Context& ctx_;
  const Volume<float>&fixed_, &moving_;
  const Eigen::Affine3d& initial_;
  const DisplacementField* initial_displacement_;  // or null
  std::vector<Factors> fixed_factors_, moving_factors_;
  std::unique_ptr<SimilarityMeasure> similarity_;

 private:
  double prepare();
  LevelRecord run_level(int l, Observer& observer);
  PointMap map_between(const Volume<float>& f, const Volume<float>& m) const;

  const Masks& masks_;
};

/// Bytes of the two images, their finest level, their masks and the start, and what a prediction of "at most" adds for tables, reduction
/// scratch and histograms: little, but it must hold on small images too.
std::size_t image_bytes(const Geometry& fixed, const Geometry& moving, const Masks& masks, const DisplacementField* initial_displacement);
std::size_t with_small_things(std::size_t bytes);

}  // namespace freeflow
