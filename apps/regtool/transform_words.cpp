#include <apps/regtool/transform_words.h>

#include <freeflow/core/error.h>
#include <freeflow/io/image_file.h>

namespace freeflow::apps {

std::string transform_format_words(bool with_auto) {
  std::string words = with_auto ? "auto" : "";
  for (const TransformFormatInfo& f : transform_formats()) {
    if (!words.empty()) words += '|';
    words += f.word;
  }
  return words;
}

std::optional<TransformFormat> transform_format_of(const std::string& option,
                                                   const std::string& word) {
  const std::optional<TransformFormat> format = parse_transform_format(word);
  const bool may_be_auto = option == "from";
  require(format || (may_be_auto && word == "auto"),
          "--" + option + " '" + word + "' is not one of " + transform_format_words(may_be_auto));
  return format;
}

TransformContext transform_context(const std::string& fixed, const std::string& moving,
                                   const std::string& vectors, std::vector<std::string>& warnings) {
  require(vectors == "measured" || vectors == "displacements" || vectors == "positions",
          "--vectors '" + vectors + "' is not one of measured, displacements, positions");
  TransformContext context;
  if (!fixed.empty()) context.fixed = read_geometry(fixed, warnings);
  if (!moving.empty()) context.moving = read_geometry(moving, warnings);
  if (vectors != "measured")
    context.vectors =
        vectors == "positions" ? VectorMeaning::positions : VectorMeaning::displacements;
  return context;
}

}  // namespace freeflow::apps
