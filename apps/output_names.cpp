#include <apps/output_names.h>

#include <cstdio>

#include <apps/bids.h>

namespace freeflow::apps {

namespace {

OutputNames bids_names(const CommonOptions& o, const std::string& extension) {
  const BidsSpaces there = parse_bids(o.bids), back = there.swapped();
  return {bids_prefix(o.output),
          "",
          bids_transform(there, extension),
          bids_transform(back, extension),
          bids_warped(there, o.moving),
          bids_warped(back, o.fixed),
          bids_transform(there, ".json")};
}

}  // namespace

std::vector<std::string> OutputNames::all() const {
  std::vector<std::string> names;
  for (const std::string& name : {affine, forward, back, warped, inverse_warped, report})
    if (!name.empty()) names.push_back(name);
  return names;
}

std::string OutputNames::forward_chain() const {
  return (forward.empty() ? "" : "-t " + prefix + forward) +
         (forward.empty() || affine.empty() ? "" : " ") +
         (affine.empty() ? "" : "-t " + prefix + affine);
}

std::string OutputNames::back_chain() const {
  return (affine.empty() ? "" : "-t [" + prefix + affine + ",1]") +
         (back.empty() || affine.empty() ? "" : " ") + (back.empty() ? "" : "-t " + prefix + back);
}

OutputNames nonrigid_names(const CommonOptions& o) {
  if (!o.bids.empty()) return bids_names(o, ".h5");
  return {o.output,        "0GenericAffine.mat",   "1Warp.nii.gz", "1InverseWarp.nii.gz",
          "Warped.nii.gz", "InverseWarped.nii.gz", "report.json"};
}

OutputNames linear_names(const CommonOptions& o) {
  // ITK's text: as fMRIPrep keeps affines, and unlike .mat nobody takes it for FSL's.
  if (!o.bids.empty()) return bids_names(o, ".txt");
  return {o.output,        "0GenericAffine.mat",   "",           "",
          "Warped.nii.gz", "InverseWarped.nii.gz", "report.json"};
}

void protect_inputs(const CommonOptions& o, const OutputNames& names) {
  std::vector<std::string> inputs = {o.fixed, o.moving, o.fixed_mask, o.moving_mask};
  inputs.insert(inputs.end(), o.init.begin(), o.init.end());
  protect_inputs(names.prefix, inputs, names.all());
}

void print_label_commands(const CommonOptions& o, const OutputNames& names) {
  if (o.quiet) return;
  const std::string labels = " -i LABELS -o OUT --interpolation labels ";
  std::fputs(
      ("labels of the moving image onto the fixed one's grid, and back:\n  regtool apply -r " +
       o.fixed + labels + names.forward_chain() + "\n  regtool apply -r " + o.moving + labels +
       names.back_chain() + "\n")
          .c_str(),
      stderr);
}

}  // namespace freeflow::apps
