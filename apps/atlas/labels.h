// The subjects' labels on the template.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <apps/atlas/subject_list.h>
#include <freeflow/atlas/atlas.h>
#include <freeflow/io/label_file.h>

namespace freeflow::apps {

struct TemplateLabels {
  std::size_t subjects = 0;           ///< that have labels
  std::vector<std::uint64_t> values;  ///< all of theirs, ascending, the background 0 first
  HostLabels majority;                ///< the label that most subjects have; the smaller of equals
  std::vector<float> agreement;       ///< the share of the subjects that have it
  /// By member: mean Dice of its labels with the majority's, over the labels of either but the
  /// background; negative where it has none.
  std::vector<double> dice;
};

/// The subject of `listed` that a member is; null where that has no labels.
const ListedSubject* labelled(const AtlasResult& atlas, const AtlasResult::Own& own,
                              const std::vector<ListedSubject>& listed);

/// Carries the labels of this process' subjects (`listed`, found by name) and counts over all
/// processes, which all call it. Nothing where no subject has labels. Throws IoError.
std::optional<TemplateLabels> carry_labels(Context& ctx, const AtlasResult& atlas,
                                           const std::vector<ListedSubject>& listed, Ranks& ranks);

}  // namespace freeflow::apps
