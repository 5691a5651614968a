#include <apps/bids.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include <freeflow/core/error.h>

namespace fs = std::filesystem;

namespace freeflow::apps {

namespace {

bool is_label(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return c < 128 && (std::isalnum(c) || c == '+');
  });
}

struct Entity {
  std::string key, label;
};

/// sub-01_space-MNI_T1w.nii.gz: two entities and a suffix.
struct BidsName {
  std::vector<Entity> entities;
  std::string suffix;

  std::string label_of(const std::string& key) const {
    for (const Entity& e : entities)
      if (e.key == key) return e.label;
    return "";
  }
};

/// Nothing where the name has no entity or is otherwise not BIDS'.
std::optional<BidsName> parse_name(const std::string& path) {
  const std::string file = fs::path(path).filename().string();
  std::istringstream stem(file.substr(0, file.find('.')));
  BidsName name;
  for (std::string part; std::getline(stem, part, '_');) {
    if (!name.suffix.empty()) return std::nullopt;  // a suffix is the last part
    const auto dash = part.find('-');
    const std::string key = part.substr(0, dash);
    if (!is_label(key)) return std::nullopt;
    if (dash == std::string::npos)
      name.suffix = key;
    else if (is_label(part.substr(dash + 1)))
      name.entities.push_back({key, part.substr(dash + 1)});
    else
      return std::nullopt;
  }
  if (name.entities.empty() || name.suffix.empty()) return std::nullopt;
  return name;
}

/// Of one file as -t lists it; empty where its name does not say.
BidsSpaces spaces_of(std::string listed) {
  const bool inverse = listed.starts_with('[') && listed.ends_with(",1]");
  if (listed.starts_with('[')) listed = listed.substr(1, listed.rfind(',') - 1);
  const std::optional<BidsName> name = parse_name(listed);
  if (!name || name->suffix != "xfm") return {};
  const BidsSpaces spaces{name->label_of("from"), name->label_of("to")};
  const std::string mode = name->label_of("mode");
  if (spaces.from.empty() || spaces.to.empty() || (mode != "image" && mode != "points")) return {};
  // A transform of points leads the other way than one of images.
  return inverse != (mode == "points") ? spaces.swapped() : spaces;
}

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::ranges::find(words, word) != words.end();
}

std::string joined(const std::vector<Entity>& entities) {
  std::string text;
  for (const Entity& e : entities) text += "_" + e.key + "-" + e.label;
  return text;
}

}  // namespace

BidsSpaces parse_bids(const std::string& text) {
  const auto colon = text.find(':');
  BidsSpaces spaces{text.substr(0, colon),
                    colon == std::string::npos ? "" : text.substr(colon + 1)};
  require(is_label(spaces.from) && is_label(spaces.to),
          "--bids '" + text +
              "' is not two labels FROM:TO of letters, digits and +, such as "
              "T1w:MNI152NLin2009cAsym");
  require(spaces.from != spaces.to,
          "--bids '" + text +
              "' names one space twice; name the moving image's and the fixed "
              "one's, such as T1w:MNI152NLin2009cAsym");
  return spaces;
}

std::string bids_prefix(const std::string& prefix) {
  std::string start = prefix.ends_with('_') ? prefix.substr(0, prefix.size() - 1) : prefix;
  const std::string name = fs::path(start).filename().string();
  // Entities alone: what has no dash would be the suffix, after which nothing may come.
  require(name.find('.') == std::string::npos && parse_name(name + "_xfm"),
          "-o '" + prefix +
              "' is not the start of a BIDS name, to which --bids adds the rest; name it without "
              "an extension or a suffix, such as out/sub-01");
  return start;
}

std::string bids_transform(const BidsSpaces& spaces, const std::string& extension) {
  return "_from-" + spaces.from + "_to-" + spaces.to + "_mode-image_xfm" + extension;
}

bool is_bids_transform(const std::string& name, std::string prefix, const std::string& extension) {
  if (prefix.ends_with('_')) prefix.pop_back();
  if (!name.starts_with(prefix)) return false;
  const std::string rest = name.substr(prefix.size());  // the prefix need not be a BIDS name
  const std::optional<BidsName> parsed =
      rest.starts_with('_') ? parse_name(rest.substr(1)) : std::nullopt;
  return parsed &&
         rest == bids_transform({parsed->label_of("from"), parsed->label_of("to")}, extension);
}

std::string bids_warped(const BidsSpaces& spaces, const std::string& image,
                        const std::string& number) {
  const std::optional<BidsName> name = parse_name(image);
  return "_space-" + spaces.to + "_desc-warped" + number + "_" +
         (name ? name->suffix : spaces.from) + ".nii.gz";
}

BidsSpaces bids_spaces_of_chain(const std::vector<std::string>& listed,
                                std::vector<std::string>& warnings) {
  BidsSpaces chain, before;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const BidsSpaces spaces = spaces_of(listed[i]);
    if (i == 0) chain.to = spaces.to;
    if (!before.from.empty() && !spaces.to.empty() && before.from != spaces.to)
      warnings.push_back("by their names '" + listed[i - 1] + "' ends at points of " + before.from +
                         " and '" + listed[i] + "' begins at points of " + spaces.to +
                         "; check the order of -t and what [FILE,1] inverts");
    before = spaces;
  }
  chain.from = before.from;
  return chain;
}

std::string bids_resampled(const std::string& output, const std::string& image,
                           const BidsSpaces& spaces) {
  const std::optional<BidsName> name = parse_name(image);
  BidsName rest{{}, name ? name->suffix : spaces.from};
  std::vector<Entity> source;
  for (const Entity& e : name ? name->entities : std::vector<Entity>{})
    if (is_one_of(e.key, {"atlas", "seg", "scale", "label", "desc"}))
      rest.entities.push_back(e);  // BIDS has these after the space
    else if (!is_one_of(e.key, {"space", "cohort", "res", "den"}))
      source.push_back(e);
  const std::string end = "_space-" + spaces.to + joined(rest.entities) + "_" + rest.suffix;
  std::error_code none;
  const bool folder = fs::path(output).filename().empty() || fs::is_directory(output, none);
  require(!folder || !source.empty(),
          "-o '" + output + "' is a folder, but '" + image +
              "' has no BIDS name to go by; give the start of one, such as out/sub-01");
  const std::string start =
      folder ? (fs::path(output) / joined(source).substr(1)).string() : bids_prefix(output);
  require(!rest.suffix.empty(), "'" + image +
                                    "' has no BIDS name to take the suffix from, such as "
                                    "sub-01_T1w.nii.gz; name the output without --bids");
  return start + end + ".nii.gz";
}

}  // namespace freeflow::apps
