// What building a template returns and tells on the way.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <freeflow/atlas/content_key.h>
#include <freeflow/atlas/packed_field.h>
#include <freeflow/core/volume.h>
#include <freeflow/registration/observer.h>
#include <freeflow/transform/transform.h>

namespace freeflow {

/// One round: all subjects registered to the template, the template made anew.
struct AtlasRound {
  int resolution = 0, resolutions = 1;  ///< coarse to fine
  int round = 0;                        ///< of its resolution
  Geometry grid;                        ///< on which it registered
  /// Length of the mean deformation that it found, averaged over the template's mask: what it moved
  /// the shape by. It does not go to zero where a registration of two images is not symmetric: what
  /// such a registration adds to every deformation, each round finds and takes out again.
  double drift_mm = 0;
  /// How far that mean differs from the round's before: what the shape is still going to.
  double change_mm = 0, change_voxels = 0;
  /// Mean length of the subjects' own deformations.
  double deformation_mm = 0;
  /// Of the template that it made: root mean square of the gradient over the mask, in shares of the
  /// usual intensity per mm.
  double sharpness = 0;
  double seconds = 0;
  int registered = 0;                    ///< by this process; the others' results were there
  std::vector<float> picture;            ///< the template that it made, midway along the third axis
  int width = 0, height = 0;             ///< of the picture
  std::array<double, 2> pixel_mm{1, 1};  ///< along its width and its height
};

/// What an earlier call that was ended left for the same call to go on from.
struct KeptWork {
  bool affines = false;
  int rounds = 0;                 ///< that are done
  int resolution = 0, round = 0;  ///< of the next; past the last resolution where all are done
};

/// One subject, in every process.
struct AtlasMember {
  std::string name;
  ContentKey content;
  Eigen::Affine3d affine = Eigen::Affine3d::Identity();  ///< template point to subject point
  double affine_distance_mm = 0;     ///< from the mean, over the object (Jenkinson 1999)
  bool outside_affine_mean = false;  ///< so far from the others that it did not count there
  std::string failure;               ///< a sentence where it was left out
  double correlation = 0;            ///< of its image with the template, over the mask
  double deformation_mm = 0;         ///< mean length over the mask
  /// How many robust standard deviations its correlation lies below the median's.
  double outlier_score = 0;
};

struct AtlasResult {
  std::vector<Volume<float>> channels;  ///< the template, in normalised intensities
  Volume<float> mask;
  std::vector<AtlasMember> members;  ///< in the order of their contents
  std::vector<AtlasRound> rounds;
  std::vector<std::string> warnings;
  std::string stopped_because;

  /// The last deformations of this process' own subjects, those that the template is the average
  /// of: members[member] through affine(x + u(x)).
  struct Own {
    std::size_t member = 0;
    PackedField field;
  };
  std::vector<Own> own;
  bool of_velocities = false;  ///< u is the exponential of `field`
};

/// Template point to subject point.
Transform member_transform(Context& ctx, const AtlasResult& result, const AtlasResult::Own& own);

enum class AtlasStage { linear, rounds };

/// Told by every process of its own subjects.
class AtlasObserver {
 public:
  virtual ~AtlasObserver() = default;
  /// One more of `all` is done: `resumed` where its result was there.
  virtual void on_subject(AtlasStage, int /*round*/, std::size_t /*done*/, std::size_t /*all*/,
                          bool /*resumed*/) {}
  virtual void on_round(const AtlasRound&) {}
  /// As Observer::stop_requested.
  virtual bool stop_requested() { return false; }
};

}  // namespace freeflow
