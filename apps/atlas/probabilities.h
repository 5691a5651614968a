// How probable every label is at every point of a template.
#pragma once

#include <apps/atlas/labels.h>
#include <freeflow/io/output_set.h>

namespace freeflow::apps {

/// What is written: "probability_7.nii.gz" and so on; negative labels keep their sign.
std::vector<std::string> probability_names(const TemplateLabels& labels);

/// Writes, for every label but the background, the mean over the subjects that have labels of its
/// indicator (1 where the subject has it, 0 elsewhere), each carried linearly. The sum over labels
/// is 1 less the background's share. Reads the labels of this process' subjects again; all
/// processes call it, and the first one has `outputs`, others null. The sums are of integers:
/// neither order nor number of processes change a bit. Holds 8 bytes a voxel and label, of as many
/// labels at once as fit a gigabyte. Throws IoError.
void write_probabilities(Context& ctx, const AtlasResult& atlas,
                         const std::vector<ListedSubject>& listed, const TemplateLabels& labels,
                         Ranks& ranks, const OutputSet* outputs);

}  // namespace freeflow::apps
