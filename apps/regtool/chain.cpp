#include <apps/regtool/commands.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <optional>
#include <utility>

#include <apps/bids.h>
#include <apps/help.h>
#include <apps/naming_convert.h>
#include <apps/option_errors.h>
#include <apps/program.h>
#include <apps/regtool/chain_memory.h>
#include <apps/threads.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/transforms/transform_formats.h>
#include <freeflow/transform/affine_split.h>
#include <freeflow/transform/transform_operations.h>

namespace po = boost::program_options;

namespace freeflow::apps {

void add_run_options(po::options_description& options, RunOptions& v) {
  options.add_options()  //
      ("device", po::value(&v.device)->default_value(v.device)->value_name("auto|cpu|cuda|cuda:N"),
       "where to compute; auto takes the first GPU (apply: where that is faster)")  //
      ("threads", po::value(&v.threads)->default_value(v.threads)->value_name("N"),
       "CPU threads, 0 for all")                                       //
      ("quiet,q", po::bool_switch(&v.quiet), "no warnings on stderr")  //
      ("help,h", "this");
}

bool parse_regtool(int argc, const char* const* argv, const std::string& summary,
                   const std::string& example, const po::options_description& options,
                   po::variables_map& found, const char* positional) {
  po::positional_options_description words;
  if (positional) words.add(positional, 1);
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::store(
        po::command_line_parser(argc, argv).options(options).positional(words).style(style).run(),
        found);
    if (found.count("help")) {
      std::cout << wrapped("regtool " + std::string(argv[0]) + ": " + summary) << '\n'
                << wrapped(example) << '\n'
                << options;
      return false;
    }
    po::notify(found);
    require_threads(found["threads"].as<int>());
  } catch (po::error& e) {
    throw InvalidArgument(message_of(e) + "; see regtool " + argv[0] + " --help");
  }
  return true;
}

namespace {

/// What is inverted onto other grids than its own goes on over all that its fields lead to:
/// on_ranges(), which here knows the fields in a rehearsal, too.
Transform on_device(Context& ctx, const HostTransform& host, bool on_ranges) {
  Transform transform;
  for (const auto& step : host.steps) {
    const auto* field = std::get_if<HostField>(&step);
    if (!field) {
      transform.then(std::get<Eigen::Affine3d>(step));
      continue;
    }
    DisplacementField u(ctx, field->geometry, field->planes);
    const Geometry grid =
        on_ranges ? grid_of_range(field->geometry, field->planes) : field->geometry;
    transform.then(same_grid(grid, field->geometry) ? std::move(u) : resample(ctx, u, grid));
  }
  return transform;
}

/// The command was told the fixed image, which the sentence asks for.
void refuse_behind_affine(const std::string& sentence) {
  require(sentence.find(" --fixed FIXED") == std::string::npos,
          sentence + ", where FIXED is an image of the space that the affine before it leads to");
}

}  // namespace

void split_affines(HostTransform& transform) {
  for (std::size_t i = 0; i < transform.steps.size(); ++i) {
    auto* field = std::get_if<HostField>(&transform.steps[i]);
    if (!field) continue;
    std::optional<AffineSplit> split = split_affine(field->geometry, field->planes);
    if (!split) continue;
    field->planes = std::move(split->planes);
    transform.steps.insert(transform.steps.begin() + std::ptrdiff_t(i) + 1, split->affine);
  }
}

ListedTransform listed_transform(const std::string& text) {
  if (text.empty() || text.front() != '[' || text.back() != ']') return {text, false};
  const auto comma = text.rfind(',');
  const std::string flag =
      comma == std::string::npos ? "" : text.substr(comma + 1, text.size() - comma - 2);
  require(flag == "0" || flag == "1", "-t '" + text + "' is not of the form [FILE,1]");
  return {text.substr(1, comma - 1), flag == "1"};
}

std::vector<std::string> transform_files(const std::vector<std::string>& listed) {
  std::vector<std::string> files;
  files.reserve(listed.size());
  for (const std::string& text : listed) files.push_back(listed_transform(text).path);
  return files;
}

HostChain read_chain(const std::vector<std::string>& files, const ChainImages& images,
                     std::vector<std::string>& warnings) {
  HostChain chain;
  for (const std::string& text : files) chain.listed.push_back(listed_transform(text));
  check_order(chain.listed);
  bids_spaces_of_chain(files, warnings);
  TransformContext context;
  if (images.reference) context.fixed = *images.reference;
  context.moving = images.image ? images.image : images.moving;
  for (std::size_t i = 0; i < chain.listed.size(); ++i) {
    const ListedTransform& one = chain.listed[i];
    const bool behind_affine = std::ranges::any_of(chain.transforms, has_affine);
    const TransformContext here = context_of(chain.listed, i, behind_affine, context);
    // Commands to which no reference was named have an option for it.
    const auto taken = images.reference ? TransformsTaken::any : TransformsTaken::any_with_fixed;
    try {
      chain.transforms.push_back(read_naming_convert(
          one.path, taken, [&] { return read_transform_file(one.path, {}, here); }));
    } catch (const InvalidArgument& e) {
      if (behind_affine && images.reference) refuse_behind_affine(e.what());
      throw;
    }
    check_values(one.path, chain.transforms.back());
    if (one.inverse) split_affines(chain.transforms.back());
    for (const std::string& said : chain.transforms.back().warnings)
      warnings.push_back(naming_convert(one.path, said, taken));
  }
  if (images.image) warn_of_missing_affine(chain.listed, warnings);
  if (images.reference)
    chain.reached = sample_through(chain.listed, chain.transforms, *images.reference);
  if (images.reference && images.image)
    warn_of_nothing_reached(chain, *images.image, images.image_path, warnings);
  return chain;
}

void warn_of_nothing_reached(const HostChain& chain, const Geometry& image, const std::string& path,
                             std::vector<std::string>& warnings) {
  if (share_inside(chain.reached, image) == 0)
    warnings.push_back("nothing of '" + path +
                       "' comes to lie on the reference: is the chain listed in its order?");
}

void require_inverse(const std::string& path, const InverseTransform& inverse) {
  constexpr double most_voxels = 1;
  if (inverse.mean_residual_voxels <= most_voxels) return;
  char voxels[32];
  std::snprintf(voxels, sizeof voxels, "%.3g", inverse.mean_residual_voxels);
  throw RegistrationError(
      "'" + path + "' has no inverse: what was found misses by " + voxels +
      " voxels on average; it folds (regtool measure --field counts the folds of a field)");
}

Transform to_transform(Context& ctx, const HostChain& chain, std::vector<std::string>& warnings) {
  Transform whole;
  for (std::size_t i = 0; i < chain.listed.size(); ++i) {
    const bool inverse = chain.listed[i].inverse;
    const Transform one = on_device(ctx, chain.transforms[i], inverse || chain.on_ranges);
    if (!inverse) {
      whole.then(one);
      continue;
    }
    const InverseTransform back = invert(ctx, one, interrupt_requested);
    require_inverse(chain.listed[i].path, back);
    if (!one.is_affine()) {
      char sentence[160];
      std::snprintf(sentence, sizeof sentence,
                    "' was inverted, with a residual of %.3f voxel on average, %.2f at most",
                    back.mean_residual_voxels, back.largest_residual_voxels);
      warnings.push_back("'" + chain.listed[i].path + sentence);
    }
    whole.then(back.transform);
  }
  return whole;
}

Transform read_chain(Context& ctx, const std::vector<std::string>& files,
                     const std::string& reference, std::vector<std::string>& warnings) {
  ChainImages images;
  if (!reference.empty()) images.reference = read_geometry(reference, warnings);
  const HostChain chain = read_chain(files, images, warnings);
  warn_of_missing_affine(chain.listed, warnings);
  // Points are mapped on the host, from copies of the fields.
  require_chain_memory(ctx, chain, "the chain of transforms", largest_field_bytes(chain),
                       [](Context&, const Transform&) {});
  return to_transform(ctx, chain, warnings);
}

void warn_of_points_beyond(const Transform& chain, const std::vector<Eigen::Vector3d>& points,
                           const std::string& file, std::vector<std::string>& warnings) {
  if (chain.is_affine()) return;
  const Geometry& grid = chain.links().front().field->geometry();
  const Eigen::Affine3d to_index = grid.world_to_index() * chain.first();
  const Eigen::Array3d end(grid.extent.x - 0.5, grid.extent.y - 0.5, grid.extent.z - 0.5);
  const auto beyond = std::ranges::count_if(points, [&](const Eigen::Vector3d& p) {
    const Eigen::Array3d at = to_index * p;
    return !((at >= -0.5).all() && (at <= end).all());
  });
  if (beyond > 0)
    warnings.push_back(std::to_string(beyond) + " of the " + std::to_string(points.size()) +
                       " points of '" + file +
                       "' lie beyond the field's grid, where nothing is displaced");
}

void warn_of_reference_beyond(const Transform& chain, const ChainImages& images,
                              const std::vector<Eigen::Vector3d>& reached,
                              std::vector<std::string>& warnings) {
  if (chain.is_affine()) return;
  const Geometry& grid = chain.links().front().field->geometry();
  const Eigen::Affine3d to_index = grid.world_to_index() * chain.first();
  const Eigen::Matrix3d step = (to_index * images.reference->index_to_world()).linear();
  // Grids of one field of view end up to a voxel apart.
  const Eigen::Array3d rim = step.cwiseAbs().rowwise().sum().array().max(1.0),
                       end(grid.extent.x - 0.5, grid.extent.y - 0.5, grid.extent.z - 0.5);
  const std::vector<Eigen::Vector3d> points = sample_of(*images.reference);
  std::size_t beyond = 0, beyond_rim = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Eigen::Array3d at = to_index * points[i];
    if ((at >= -0.5).all() && (at <= end).all()) continue;
    if (images.image && share_inside({reached[i]}, *images.image) == 0) continue;
    ++beyond;
    beyond_rim += (at < -0.5 - rim).any() || (at > end + rim).any() ? 1 : 0;
  }
  const auto percent = [&](std::size_t count) {
    return 100 * double(count) / double(points.size());
  };
  if (percent(beyond_rim) >= 1)
    warnings.push_back(std::to_string(std::lround(percent(beyond))) +
                       " % of the reference's voxels lie beyond the field's grid, where nothing is "
                       "displaced: they move with the affines alone");
}

}  // namespace freeflow::apps
