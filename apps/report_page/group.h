// The registrations of a cohort, and how far each lies from the others.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace freeflow::apps {

/// A figure of one registration and how many robust standard deviations it lies from the median of
/// those of its kind on the side that is suspicious.
struct GroupFigure {
  std::optional<double> value;
  double score = 0;
};

struct GroupMember {
  std::filesystem::path report;
  std::string name;   ///< its path in the group, without the report's own name
  std::string grade;  ///< "good", "look", "bad"
  std::string program;
  bool linear = false;       ///< of Python: an affine without a displacement
  GroupFigure similarity;    ///< after; low is suspicious
  GroupFigure volumes;       ///< SD of the log-Jacobian (an affine's own: |log|); far either way
  GroupFigure displacement;  ///< that 99 % do not exceed, mm; far either way
  double voxel_mm = 1;       ///< the smallest side of the fixed image's voxels
  double folded_voxels = 0;
  std::size_t warnings = 0;
  double score = 0;  ///< the largest of the three

  /// By convention (Iglewicz and Hoaglin 1993).
  static constexpr double outlier = 3.5;
};

struct Group {
  std::vector<GroupMember> members;               ///< worst first
  std::vector<std::filesystem::path> unreadable;  ///< named like reports, and no JSON
};

/// Of every *report.json and *_xfm.json below the folder that a registration wrote; hidden folders
/// are passed over. Throws IoError for a folder that cannot be read, InvalidArgument where none is
/// found.
Group read_group(const std::filesystem::path& folder);

/// |value - median| / (1.4826 MAD) for each; where more than half are the same, by the mean
/// distance from the median in place of MAD; 0 where all are. Values are finite.
std::vector<double> robust_scores(const std::vector<double>& values);

/// Fills in the scores, of each program's among themselves, as an affine matches less than a
/// deformation whatever its worth, and puts the worst first: by the verdict, then by the score;
/// names decide between equals.
void rank(std::vector<GroupMember>& members);

/// One page of the group, for the folder of `page`; each name is a link where the subject's own
/// page lies beside its report.
std::string group_page(const Group& group, const std::string& title,
                       const std::filesystem::path& page);

}  // namespace freeflow::apps
