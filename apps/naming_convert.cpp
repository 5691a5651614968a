#include <apps/naming_convert.h>

#include <algorithm>
#include <optional>

#include <apps/shell_word.h>
#include <freeflow/io/transforms/transform_formats.h>

namespace freeflow::apps {

namespace {

constexpr const char* undecided = "FORMAT";

/// The word of --from for the file, or what stands for one; nothing for ITK's and for what cannot
/// be read.
std::string foreign_format(const std::string& path) {
  try {
    const std::optional<TransformFormat> format = detect(path);
    if (!format) return undecided;
    if (*format == TransformFormat::itk) return "";
    return transform_formats()[std::size_t(*format)].word;
  } catch (const IoError&) {
    return "";
  }
}

std::string command(const std::string& path, const std::string& from, bool with_images,
                    bool with_vectors) {
  std::string text = "regtool convert -t " + shell_word(path) + " --from " + from;
  if (with_images) text += from == "itk" ? " --fixed FIXED" : " --fixed FIXED --moving MOVING";
  if (with_vectors) text += " --vectors displacements|positions";
  return text + " --to itk -o OUT";
}

bool mentions(const std::string& sentence, const char* words) {
  return sentence.find(words) != std::string::npos;
}

/// What the library asks for, with which its sentences end.
constexpr const char* requests[] = {
    "; name the TransformFormat",     "; read it as TransformFormat::",
    "; set TransformContext::",       " (set TransformContext::",
    "; say which (TransformContext:", "; regtool convert makes a field of them"};

std::string without_request(const std::string& sentence) {
  std::string fault = sentence;
  for (const char* request : requests) fault.resize(std::min(fault.find(request), fault.size()));
  for (const std::string image : {"fixed", "moving"}) {
    const std::string name = "TransformContext::" + image;
    for (std::size_t at = 0; (at = fault.find(name, at)) != std::string::npos;)
      fault.replace(at, name.size(), "the " + image + " image");
  }
  return fault;
}

/// The word of --from that the sentence asks for, or else the file's.
std::string asked_format(const std::string& path, const std::string& sentence) {
  const std::string before = "TransformFormat::";
  const std::size_t at = sentence.find(before);
  if (at != std::string::npos) {
    const std::string rest = sentence.substr(at + before.size());
    return rest.substr(0, rest.find(' '));
  }
  const std::string format = foreign_format(path);
  return format.empty() ? "itk" : format;
}

}  // namespace

std::string naming_convert(const std::string& path, const std::string& sentence,
                           TransformsTaken taken) {
  if (taken == TransformsTaken::any_with_fixed &&
      mentions(sentence, "needs TransformContext::fixed:"))
    return sentence;
  const std::string fault = without_request(sentence);
  if (fault == sentence) {
    const std::string from = taken == TransformsTaken::itk ? foreign_format(path) : "";
    if (from.empty()) return sentence;
    const std::string way_out = from == undecided ? said_of_unread(path) : "";
    if (!way_out.empty()) return sentence + "; " + way_out;
    return sentence + "; another program's is converted first: " + command(path, from, true, false);
  }
  const bool vectors = mentions(sentence, "TransformContext::vectors");
  const bool images = mentions(sentence, "TransformContext::");
  return fault +
         "; convert it first: " + command(path, asked_format(path, sentence), images, vectors);
}

}  // namespace freeflow::apps
