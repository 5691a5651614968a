// The commands of regtool, and what they share.
#pragma once

#include <boost/program_options.hpp>

#include <optional>
#include <string>
#include <vector>

#include <apps/regtool/chain_checks.h>
#include <freeflow/core/context.h>
#include <freeflow/transform/transform_operations.h>

namespace freeflow::apps {

/// Each takes the arguments after its name (argv[0] is the name) and returns the exit status.
int regtool_apply(int argc, const char* const* argv);
int regtool_points(int argc, const char* const* argv);
int regtool_compose(int argc, const char* const* argv);
int regtool_invert(int argc, const char* const* argv);
int regtool_jacobian(int argc, const char* const* argv);
int regtool_convert(int argc, const char* const* argv);
int regtool_measure(int argc, const char* const* argv);
int regtool_report(int argc, const char* const* argv);
int regtool_info(int argc, const char* const* argv);

struct RunOptions {
  std::string device = "auto";
  int threads = 0;
  bool quiet = false;
};

/// Adds --device, --threads, --quiet, --help.
void add_run_options(boost::program_options::options_description& options, RunOptions& values);

/// Parses; false when the help was asked for and printed. `positional` names the option that a word
/// without one is of. Throws InvalidArgument with the option.
bool parse_regtool(int argc, const char* const* argv, const std::string& summary,
                   const std::string& example,
                   const boost::program_options::options_description& options,
                   boost::program_options::variables_map& found, const char* positional = nullptr);

/// Of "[FILE,1]", "[FILE,0]" or FILE. Throws InvalidArgument for another form.
ListedTransform listed_transform(const std::string& text);

/// The files alone, of what -t lists.
std::vector<std::string> transform_files(const std::vector<std::string>& listed);

/// What is known of the images that a chain lies between.
struct ChainImages {
  std::optional<Geometry> reference, image;
  std::string image_path;
  std::optional<Geometry> moving = {};  ///< where no image is carried
};

/// The files that -t lists, of any format that says whose it is, as they are in host memory.
struct HostChain {
  std::vector<ListedTransform> listed;
  std::vector<HostTransform> transforms;
  bool on_ranges = false;                // all of it, to be inverted onto other grids than its own
  std::vector<Eigen::Vector3d> reached;  // where a sample of the reference's voxels comes to lie
};

/// Reads and checks (chain_checks.h) what -t lists, in antsApplyTransforms' order: the first is
/// applied first to a point of the fixed space; "[FILE,1]" is the inverse of FILE. Adds sentences
/// for the user. Throws IoError, InvalidArgument.
HostChain read_chain(const std::vector<std::string>& files, const ChainImages& images,
                     std::vector<std::string>& warnings);

/// split_affine() of each field: what is inverted needs it.
void split_affines(HostTransform& transform);

/// Where nothing of the image lies where the chain leads.
void warn_of_nothing_reached(const HostChain& chain, const Geometry& image, const std::string& path,
                             std::vector<std::string>& warnings);

/// Throws RegistrationError where the residual of an inverse is a voxel on average: it is none.
void require_inverse(const std::string& path, const InverseTransform& inverse);

/// The chain on a device, inverses made. Throws InvalidArgument, Cancelled, RegistrationError.
Transform to_transform(Context& ctx, const HostChain& chain, std::vector<std::string>& warnings);

/// Both. `reference`: an image of the fixed space, or "" where there is none.
Transform read_chain(Context& ctx, const std::vector<std::string>& files,
                     const std::string& reference, std::vector<std::string>& warnings);

/// Counts the points of the fixed space, in `file`, that the chain's first field does not reach.
void warn_of_points_beyond(const Transform& chain, const std::vector<Eigen::Vector3d>& points,
                           const std::string& file, std::vector<std::string>& warnings);

/// Warns where a part of the reference, more than a rim, lies beyond the grid of the chain's first
/// field; where an image is named, of what comes to lie on it alone: elsewhere nothing is seen of
/// it. `reached`: of HostChain.
void warn_of_reference_beyond(const Transform& chain, const ChainImages& images,
                              const std::vector<Eigen::Vector3d>& reached,
                              std::vector<std::string>& warnings);

/// Writes one file by way of a hidden one, so that nothing of it exists after a failure. write gets
/// the path to write to.
template <class Write>
void write_output(const std::string& path, const Write& write);

}  // namespace freeflow::apps

#include <freeflow/io/output_set.h>

template <class Write>
void freeflow::apps::write_output(const std::string& path, const Write& write) {
  OutputSet output(path);
  write(output.file(""));
  output.commit();
}
