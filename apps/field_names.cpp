#include <apps/field_names.h>

#include <algorithm>
#include <regex>
#include <utility>

namespace freeflow::apps {

namespace {

/// Fields whose flag has another name; the others are --field with hyphens.
const std::pair<const char*, const char*> other_names[] = {
    {"by LevelOptions::initial", "by --init center or --init moments"},
    {"give FlowOptions::initial_velocity, or an affine alone", "give an affine alone"},
    {"give DemonsOptions::initial_velocity, an affine alone", "give an affine alone"},
    {"DemonsOptions::kind", "--demons"},
    {"TransformFormat::", "--from "},
    {"name the TransformFormat", "name the format with --from"},
    {"LinearOptions::initial", "--init"},
    {"Options::initial_displacement", "Options::init"},
    {"Options::initial", "Options::init"},
    {"LinearOptions::resolution", "--powell-resolution"},
    {"MindOptions::", "--mind-"},
    {"SimilarityChoice::border_mm", "--cr-border"},
    {"SimilarityChoice::ratio_direction", "--cr-of-fixed"},
    {"Smoother::automatic and VelocityKind::gaussian", "--smoother auto and --velocity gaussian"},
    {"SearchStrategy::global, or automatic", "--strategy global, or auto"},
    {"take the CPU", "take --device cpu"},
    {"AtlasOptions::enough_voxels", "--enough"},
};

}  // namespace

std::string translated(const std::string& sentence) {
  std::string text = sentence;
  for (const auto& [name, flag] : other_names)
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;
         at += std::string(flag).size())
      text.replace(at, std::string(name).size(), flag);
  static const std::regex field(R"(\b[A-Z]\w*::([a-z]\w*))");
  std::string out;
  std::string::const_iterator from = text.begin();
  for (std::sregex_iterator m(text.begin(), text.end(), field), end; m != end; ++m) {
    out.append(from, text.cbegin() + m->position());
    std::string flag = (*m)[1];
    std::replace(flag.begin(), flag.end(), '_', '-');
    out += "--" + flag;
    from = text.cbegin() + m->position() + m->length();
  }
  return out.append(from, text.cend());
}

std::vector<std::string> translated(const std::vector<std::string>& sentences) {
  std::vector<std::string> out;
  out.reserve(sentences.size());
  for (const std::string& s : sentences) out.push_back(translated(s));
  return out;
}

}  // namespace freeflow::apps
