// The names of a registration's outputs: as ANTs has them, or as BIDS derivatives (--bids).
#pragma once

#include <string>
#include <vector>

#include <apps/options.h>
#include <freeflow/io/output_set.h>

namespace freeflow::apps {

/// What --outputs asks for.
struct OutputChoice {
  bool warp = true, inverse = true, warped = true, inverse_warped = true, report = true;
  bool lattice = false;  ///< of all, the one that has to be named

  /// Whether the registration has to be inverted.
  bool needs_inverse() const { return inverse || inverse_warped; }
};
/// Of "all", or of words separated by commas, "all" among them. Throws InvalidArgument for others.
OutputChoice parse_outputs(const std::string& words);

/// Why the other programs refuse it.
constexpr const char* lattice_is_of_ffdreg =
    "--outputs lattice is of ffdreg: only free-form deformation has control points";

/// Each is what follows the prefix; an empty one is not written.
struct OutputNames {
  std::string prefix;
  std::string affine;         ///< beside the fields; none where forward and back are the whole
  std::string forward, back;  ///< fields, or whole transforms
  std::vector<std::string> warped, inverse_warped;  ///< of each channel, or none
  std::string report;
  std::string page;     ///< the report as HTML
  std::string lattice;  ///< control points

  std::vector<std::string> all() const;
  /// What regtool apply and antsApplyTransforms take, quoted for a shell: -t FILE -t FILE. Forward:
  /// the moving image onto the fixed one's grid. By the control points where the field is not
  /// written.
  std::string forward_chain() const;
  std::string back_chain() const;
};

OutputNames nonrigid_names(const CommonOptions& o);
OutputNames linear_names(const CommonOptions& o);

/// That these files are of an earlier run.
std::string said_of_older_outputs(const std::vector<std::string>& files);

/// A sentence that names the files which another program (linreg after ffdreg, or the reverse)
/// wrote with this prefix and which this one leaves where they are.
void warn_of_older_outputs(const CommonOptions& o, const OutputNames& names,
                           std::vector<std::string>& warnings);

/// An output that is one of the inputs would destroy it: throws InvalidArgument then.
void protect_inputs(const CommonOptions& o, const OutputNames& names);

/// How labels are carried to the fixed image's grid and back, on stderr, unless quiet.
void print_label_commands(const CommonOptions& o, const OutputNames& names);

/// All of them or none.
struct Outputs {
  explicit Outputs(const OutputNames& n) : names(n), set(n.prefix) {}

  OutputNames names;
  OutputSet set;
};

}  // namespace freeflow::apps
