// Private to atlas: the subjects of all processes, in an order that no list decides, and those of
// this process with their images.
#pragma once

#include <string>
#include <vector>

#include <freeflow/atlas/intensities.h>
#include <freeflow/atlas/ranks.h>
#include <freeflow/atlas/subject.h>
#include <freeflow/core/context.h>
#include <freeflow/core/volume.h>

namespace freeflow {

/// What every process knows of a subject.
struct SubjectCard {
  std::string name;
  ContentKey content;
  Geometry geometry;
  ObjectMoments moments;
  std::size_t channels = 0;
  bool has_mask = false;
  std::string failure;  ///< not empty: it is left out
};

/// A subject's images on the device, as registrations take them.
struct DeviceSubject {
  std::vector<Volume<float>> channels;
  Volume<float> mask;
};

/// Throws InvalidArgument naming `what` where its images and mask do not fit its grid.
void check_voxels(const AtlasSubject& s, const std::string& what);

class Cohort {
 public:
  struct Own {
    std::size_t card;      ///< its place in cards()
    AtlasSubject subject;  ///< normalised
  };

  /// Normalises. Throws InvalidArgument, RegistrationError as build_atlas does, in every process
  /// alike.
  Cohort(std::vector<AtlasSubject> own, Ranks& ranks, bool keep_going, int threads);

  const std::vector<SubjectCard>& cards() const { return cards_; }
  const std::vector<Own>& own() const { return own_; }
  std::size_t present() const;
  bool is_present(std::size_t card) const { return cards_[card].failure.empty(); }
  bool has_masks() const { return cards_.front().has_mask; }
  std::size_t channels() const { return cards_.front().channels; }
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// Makes failures that some processes met (sentences by card, empty: none) known to all. Throws
  /// RegistrationError with the first unless keep_going, and when fewer than two subjects are left.
  void exclude(const std::vector<std::string>& failures);

 private:
  void check();

  Ranks& ranks_;
  bool keep_going_;
  std::vector<SubjectCard> cards_;
  std::vector<Own> own_;
  std::vector<std::string> warnings_;
};

/// A subject on the device, decimated towards voxels of `spacing_mm`.
DeviceSubject load(Context& ctx, const AtlasSubject& subject, double spacing_mm);

}  // namespace freeflow
