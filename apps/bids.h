// Names of BIDS derivatives, as fMRIPrep and BIDS' draft BEP014 have them:
//   sub-01_from-T1w_to-MNI152NLin2009cAsym_mode-image_xfm.h5    a transform
//   sub-01_space-MNI152NLin2009cAsym_desc-warped_T1w.nii.gz     an image that went through it
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace freeflow::apps {

/// A transform that takes an image of space `from` onto the grid of space `to`, and so points of
/// `to` to points of `from`: of a registration, `from` is the moving image's space and `to` the
/// fixed one's.
struct BidsSpaces {
  std::string from, to;
  BidsSpaces swapped() const { return {to, from}; }
};

/// "T1w:MNI152NLin2009cAsym", as --bids has it. Throws InvalidArgument where that is not two
/// different labels of letters, digits and +.
BidsSpaces parse_bids(const std::string& text);

/// What names begin with that go on by an underscore: `prefix`, without its own at the end. Throws
/// InvalidArgument when it is a folder or has an extension.
std::string bids_prefix(const std::string& prefix);

/// "_from-T1w_to-MNI152NLin2009cAsym_mode-image_xfm" and the extension.
std::string bids_transform(const BidsSpaces& spaces, const std::string& extension);

/// Whether a file's name is `prefix` and a bids_transform() of this extension, whatever its spaces.
bool is_bids_transform(const std::string& name, std::string prefix, const std::string& extension);

/// "_space-TO_desc-warped_SUFFIX.nii.gz". The suffix is that of `image`, such as T1w, where it has
/// a BIDS name, and else the label of the space it comes from. `number` comes after "warped": of a
/// further channel, as two may have one suffix.
std::string bids_warped(const BidsSpaces& spaces, const std::string& image,
                        const std::string& number = "");

/// The spaces of a chain of transforms, by the names of its files; empty where these do not say.
/// `listed` as -t lists it: [FILE,1] swaps. Adds a sentence to `warnings` where one file does not
/// go on where the one before it ends.
BidsSpaces bids_spaces_of_chain(const std::vector<std::string>& listed,
                                std::vector<std::string>& warnings);

/// Where an image of space `from` stands once resampled onto `to`: its name with space-TO in place
/// of its own space, resolution and density. `output` is a folder (that is there, or with a slash
/// at its end), or the start of the name, in place of the entities before space-TO. Throws
/// InvalidArgument.
std::string bids_resampled(const std::string& output, const std::string& image,
                           const BidsSpaces& spaces);

}  // namespace freeflow::apps
