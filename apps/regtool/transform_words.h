// The options of commands that read transform files of any program.
#pragma once

#include <optional>
#include <string>

#include <freeflow/io/transforms/transform_formats.h>

namespace freeflow::apps {

/// "auto|itk|fsl|..."
std::string transform_format_words(bool with_auto);

/// The format that --option names; nothing for "auto", which only --from may say. Throws
/// InvalidArgument with the words there are.
std::optional<TransformFormat> transform_format_of(const std::string& option,
                                                   const std::string& word);

/// What --fixed, --moving (empty where not given) and --vectors say. Throws IoError,
/// InvalidArgument.
TransformContext transform_context(const std::string& fixed, const std::string& moving,
                                   const std::string& vectors, std::vector<std::string>& warnings);
inline constexpr const char* vectors_words = "measured|displacements|positions";
inline constexpr const char* about_vectors = "what FSL's fields hold, which the file does not say";

}  // namespace freeflow::apps
