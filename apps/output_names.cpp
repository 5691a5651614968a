#include <apps/output_names.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <utility>

#include <apps/bids.h>
#include <apps/shell_word.h>

namespace freeflow::apps {

namespace {

/// What a channel's names have that the first one's have not: 2, 3 and so on.
std::string number_of(std::size_t channel) {
  return channel == 0 ? "" : std::to_string(channel + 1);
}

OutputNames bids_names(const CommonOptions& o, const std::string& extension) {
  const BidsSpaces there = parse_bids(o.bids), back = there.swapped();
  OutputNames names{bids_prefix(o.output),
                    "",
                    bids_transform(there, extension),
                    bids_transform(back, extension),
                    {},
                    {},
                    bids_transform(there, ".json"),
                    bids_transform(there, ".html"),
                    ""};
  for (std::size_t c = 0; c < o.fixed.size(); ++c) {
    names.warped.push_back(bids_warped(there, o.moving[c], number_of(c)));
    names.inverse_warped.push_back(bids_warped(back, o.fixed[c], number_of(c)));
  }
  return names;
}

/// As ANTs names them; without fields where these are not named.
OutputNames plain_names(const CommonOptions& o, const std::string& forward,
                        const std::string& back) {
  OutputNames names{o.output, "0GenericAffine.mat", forward,       back, {},
                    {},       "report.json",        "report.html", ""};
  for (std::size_t c = 0; c < o.fixed.size(); ++c) {
    names.warped.push_back("Warped" + number_of(c) + ".nii.gz");
    names.inverse_warped.push_back("InverseWarped" + number_of(c) + ".nii.gz");
  }
  return names;
}

/// Without those that are not asked for.
OutputNames chosen_of(OutputNames names, const OutputChoice& choice, const std::string& report) {
  if (!choice.warp) names.forward.clear();
  if (!choice.inverse) names.back.clear();
  if (!choice.warped) names.warped.clear();
  if (!choice.inverse_warped) names.inverse_warped.clear();
  if (!choice.lattice) names.lattice.clear();
  if (!choice.report || report == "html") names.report.clear();
  if (!choice.report || report == "json") names.page.clear();
  return names;
}

/// Of files that are not compressed.
OutputNames plain_files(OutputNames names) {
  const auto shorten = [](std::string& name) {
    if (name.ends_with(".nii.gz")) name.resize(name.size() - 3);
  };
  shorten(names.forward);
  shorten(names.back);
  for (auto* channels : {&names.warped, &names.inverse_warped})
    for (std::string& name : *channels) shorten(name);
  return names;
}

OutputNames written_of(const OutputNames& names, const CommonOptions& o) {
  const OutputNames chosen = chosen_of(names, parse_outputs(o.outputs), o.report);
  return o.compress == 0 ? plain_files(chosen) : chosen;
}

OutputNames all_nonrigid_names(const CommonOptions& o) {
  if (!o.bids.empty()) return bids_names(o, ".h5");
  OutputNames names = plain_names(o, "1Warp.nii.gz", "1InverseWarp.nii.gz");
  names.lattice = "1BSpline.h5";
  return names;
}

OutputNames all_linear_names(const CommonOptions& o) {
  // ITK's text: as fMRIPrep keeps affines, and unlike .mat nobody takes it for FSL's.
  if (!o.bids.empty()) return bids_names(o, ".txt");
  return plain_names(o, "", "");
}

}  // namespace

OutputChoice parse_outputs(const std::string& words) {
  constexpr const char* known_words = "all, warp, inverse, warped, inversewarped, report, lattice";
  require(!words.empty(), std::string("--outputs is empty; name some of ") + known_words);
  OutputChoice choice{false, false, false, false, false, false};
  const std::pair<const char*, bool*> known[] = {
      {"warp", &choice.warp},     {"inverse", &choice.inverse},
      {"warped", &choice.warped}, {"inversewarped", &choice.inverse_warped},
      {"report", &choice.report}, {"lattice", &choice.lattice}};
  std::istringstream list(words);
  for (std::string word; std::getline(list, word, ',');) {
    const auto found = std::ranges::find_if(known, [&](const auto& k) { return word == k.first; });
    if (word == "all") {
      choice = {true, true, true, true, true, choice.lattice};
    } else {
      require(found != std::end(known), "--outputs '" + word + "' is not one of " + known_words);
      *found->second = true;
    }
  }
  return choice;
}

std::vector<std::string> OutputNames::all() const {
  std::vector<std::string> names;
  for (const std::string& name : {affine, forward, lattice, back, report, page})
    if (!name.empty()) names.push_back(name);
  names.insert(names.end(), warped.begin(), warped.end());
  names.insert(names.end(), inverse_warped.begin(), inverse_warped.end());
  return names;
}

std::string OutputNames::forward_chain() const {
  const std::string& first = forward.empty() ? lattice : forward;
  return (first.empty() ? "" : "-t " + shell_word(prefix + first)) +
         (first.empty() || affine.empty() ? "" : " ") +
         (affine.empty() ? "" : "-t " + shell_word(prefix + affine));
}

std::string OutputNames::back_chain() const {
  return (affine.empty() ? "" : "-t " + shell_word("[" + prefix + affine + ",1]")) +
         (back.empty() || affine.empty() ? "" : " ") +
         (back.empty() ? "" : "-t " + shell_word(prefix + back));
}

OutputNames nonrigid_names(const CommonOptions& o) { return written_of(all_nonrigid_names(o), o); }

OutputNames linear_names(const CommonOptions& o) {
  const OutputNames all = all_linear_names(o);
  OutputNames names = written_of(all, o);
  names.forward = all.forward;  // the transform itself, in any case
  return names;
}

std::string said_of_older_outputs(const std::vector<std::string>& files) {
  constexpr std::size_t most_named = 9;
  std::string named;
  for (std::size_t i = 0; i < std::min(files.size(), most_named); ++i)
    named += (i == 0 ? "'" : ", '") + files[i] + "'";
  if (files.size() > most_named)
    named += " and " + std::to_string(files.size() - most_named) + " more";
  return "of an earlier run, and no part of what is written now: " + named +
         "; remove it, or take another prefix";
}

void warn_of_older_outputs(const CommonOptions& o, const OutputNames& names,
                           std::vector<std::string>& warnings) {
  std::vector<std::string> others, own = names.all();
  for (const OutputNames& all : {all_nonrigid_names(o), all_linear_names(o)})
    for (const OutputNames& names_of_run : {all, plain_files(all)})
      for (const std::string& name : names_of_run.all())
        if (std::ranges::find(others, name) == others.end()) others.push_back(name);
  std::vector<std::string> left;
  for (const std::string& name : others) {
    std::error_code none;
    if (std::ranges::find(own, name) == own.end() &&
        std::filesystem::exists(names.prefix + name, none))
      left.push_back(names.prefix + name);
  }
  if (!left.empty()) warnings.push_back(said_of_older_outputs(left));
}

void protect_inputs(const CommonOptions& o, const OutputNames& names) {
  std::vector<std::string> inputs = input_files(o);
  inputs.insert(inputs.end(), {o.config, o.pairs});
  protect_inputs(names.prefix, inputs, names.all());
}

void print_label_commands(const CommonOptions& o, const OutputNames& names) {
  if (o.quiet) return;
  const OutputChoice written = parse_outputs(o.outputs);
  const std::string labels = " -i LABELS -o OUT --interpolation labels ";
  const std::string there = "  regtool apply -r " + shell_word(o.fixed.front()) + labels +
                            names.forward_chain() + '\n',
                    back = "  regtool apply -r " + shell_word(o.moving.front()) + labels +
                           names.back_chain() + '\n';
  std::string said;
  const bool forward = written.warp || written.lattice;
  if (forward && written.inverse)
    said = "labels of the moving image onto the fixed one's grid, and back:\n" + there + back;
  else if (forward)
    said = "labels of the moving image onto the fixed one's grid:\n" + there;
  else if (written.inverse)
    said = "labels of the fixed image onto the moving one's grid:\n" + back;
  std::fputs(said.c_str(), stderr);
}

}  // namespace freeflow::apps
