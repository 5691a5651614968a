// nlmdenoise: level-set nonlocal-means denoising of surfaces.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <future>

#include <apps/closing_words.h>
#include <apps/html.h>
#include <apps/one_stream.h>
#include <apps/options.h>
#include <apps/program.h>
#include <apps/progress.h>
#include <apps/report.h>
#include <apps/surface_input.h>
#include <apps/surface_report.h>
#include <apps/threads.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/mesh_file.h>
#include <freeflow/io/output_set.h>

namespace po = boost::program_options;
using namespace freeflow;
using namespace freeflow::apps;

namespace {

constexpr const char* summary =
    "smooths the noise and the staircase of a segmented surface by nonlocal means,\n"
    "without shrinking it or rounding its folds.";

constexpr const char* example =
    "Examples:\n"
    "  nlmdenoise -i white_matter_mask.nii.gz -o out/white_\n"
    "  nlmdenoise -i aseg.nii.gz --label 17 -o out/hippocampus_\n"
    "  nlmdenoise -i scan.ply --resolution 0.5 -o out/scan_\n"
    "Written: PREFIXsdf.nii.gz (signed distance, mm, negative inside), PREFIXmask.nii.gz, "
    "PREFIXsurface.ply (in builds with VTK) and\n"
    "PREFIXreport.json.\n"
    "Exit status: 0 done, 1 the work failed, 2 the call or an input is unusable, 130 "
    "interrupted.\n";

const std::vector<std::string> everyday = {"input",   "output",     "input-kind", "label",
                                           "iso",     "resolution", "device",     "threads",
                                           "verbose", "quiet",      "version",    "help"};

const std::vector<std::string> written_files = {"sdf.nii.gz", "mask.nii.gz", "surface.ply",
                                                "report.json"};

struct DenoiseOptions {
  SurfaceInputOptions surface;
  NonlocalMeansOptions means;
  std::string output, config, strategy = "auto", c2 = "auto", radius = "none", device = "auto";
  int threads = 0;
  bool verbose = false, quiet = false, free_volume = false;
};

/// An option that may be left out.
template <class T>
auto into(std::optional<T>& target) {
  return po::value<T>()->notifier([&target](const T& value) { target = value; });
}

po::options_description all_options(DenoiseOptions& o) {
  const auto text = [](std::string& value) {
    return po::value(&value)->default_value(value, value);
  };
  const auto number = [](auto& value) { return po::value(&value)->default_value(value); };
  std::string strategies;
  for (const SearchStrategyInfo& info : search_strategies())
    strategies.append("\n").append(info.name).append(": ").append(info.overview);
  po::options_description files("Files"), method("Method"), running("Running");
  files.add_options()  //
      ("input,i", po::value(&o.surface.input)->value_name("FILE"),
       "volume (NIfTI, MetaImage, NRRD, MGZ) or closed mesh (.ply, .stl, .obj, .vtk)")  //
      ("output,o", prefix_value(o.output),
       "start of the output names; missing folders are made")  //
      ("input-kind", text(o.surface.kind)->value_name("auto|sdf|labels|image|mesh"),
       "signed distance (negative inside), mask or labels, grey image, mesh")                     //
      ("label", into(o.surface.label)->value_name("N"), "the label to take from a label volume")  //
      ("iso", into(o.surface.iso)->value_name("V"),
       "grey image: the value at the surface; inside is brighter")  //
      ("resolution", into(o.surface.resolution_mm)->value_name("MM"),
       "mesh: side of a voxel; default the longest side over 128");
  method.add_options()                                                                            //
      ("band", number(o.means.band)->value_name("N"), "half width of the narrow band, voxels")    //
      ("patch", number(o.means.patch)->value_name("N"), "side of a patch, voxels: 3, 5, 7 or 9")  //
      ("neighbours", number(o.means.neighbours)->value_name("N"),
       "most similar patches that each element is averaged with")  //
      ("iterations", number(o.means.iterations)->value_name("N"),
       "steps of the nonlocal heat equation")  //
      ("c1", into(o.means.c1)->value_name("V"),
       "weights fall with exp(-d^2 / c1), d apart in voxels; default: they do not")  //
      ("c2", text(o.c2)->value_name("auto|V"),
       "weights fall with exp(-D / c2), D between patches; auto: from the noise of the input")  //
      ("limit", into(o.means.limit)->value_name("V"),
       "the surface moves at most V voxels and nothing vanishes that is farther from the rest; "
       "default: as it likes")  //
      ("free-volume", po::bool_switch(&o.free_volume),
       "let the volume change: no shift after the steps")  //
      ("search-radius", text(o.radius)->value_name("none|R"),
       "look no farther than R voxels; none: the whole band");
  running.add_options()  //
      ("strategy", text(o.strategy)->value_name("NAME"),
       ("how the GPU searches; the CPU takes every name." + strategies).c_str())  //
      ("device", text(o.device)->value_name("auto|cpu|cuda|cuda:N"),
       "where to compute; auto takes the first GPU")  //
      ("threads", number(o.threads)->value_name("N"),
       "CPU threads, 0 for all; results do not depend on it")  //
      ("config", po::value(&o.config)->value_name("FILE"),
       "INI file of these options; flags win; paths in it start from the current folder")        //
      ("verbose,v", po::bool_switch(&o.verbose), "progress even when stderr is not a terminal")  //
      ("quiet,q", po::bool_switch(&o.quiet), "no progress and no warnings");
  add_help_options(running);
  po::options_description all;
  all.add(files).add(method).add(running);
  return all;
}

/// Nothing for the word, else the number.
std::optional<double> number_or(const std::string& word, const std::string& text,
                                const std::string& refusal) {
  if (text == word) return {};
  char rest = 0;
  double number = 0;
  require(std::sscanf(text.c_str(), "%lf%c", &number, &rest) == 1, refusal);
  return number;
}

void check(DenoiseOptions& o) {
  validate(o.surface);
  require_prefix(o.output);
  o.means.strategy = chosen(parse_search_strategy(o.strategy), "strategy", o.strategy,
                            "auto, constant, texture, global, tiled");
  o.means.keep_volume = !o.free_volume;
  o.means.c2 = number_or("auto", o.c2, "--c2 '" + o.c2 + "' is not a number or auto");
  o.means.search_radius = number_or(
      "none", o.radius, "--search-radius '" + o.radius + "' is not a number of voxels or none");
  require_threads(o.threads);
  require(!(o.verbose && o.quiet), "--verbose and --quiet exclude each other");
  o.means.validate();
  require(o.means.band <= 100, "--band must lie between 0 and 100 voxels");
  require(o.means.iterations <= 100000, "--iterations must lie between 0 and 100000");
  o.surface.margin = int(std::ceil(o.means.band)) + o.means.patch / 2 + 1;
  protect_inputs(o.output, {o.surface.input, o.config}, written_files);
}

/// Lines on stderr as the other programs print them.
class DenoiseProgress : public NonlocalMeansObserver {
 public:
  explicit DenoiseProgress(Verbosity verbosity)
      : terminal_(isatty(STDERR_FILENO)), shown_(verbosity == Verbosity::verbose ||
                                                 (verbosity == Verbosity::automatic && terminal_)) {
  }

  void announce(const std::string& lines) const {
    if (shown_) std::fputs(lines.c_str(), stderr);
  }
  void on_band(int elements, std::size_t bytes, int slabs) override {
    start_ = Clock::now();
    if (!shown_) return;
    std::fprintf(stderr, "band of %d elements, about %zu MiB needed", elements, (bytes >> 20) + 1);
    if (slabs > 1) std::fprintf(stderr, ", neighbours kept in %d slabs", slabs);
    std::fputs("\n", stderr);
  }
  void on_search(double share) override {
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    if (!shown_ ||
        (share < 1 && (!terminal_ || Clock::now() - last_print_ < std::chrono::milliseconds(100))))
      return;
    last_print_ = Clock::now();
    const char* clear = terminal_ ? "\r\033[K" : "";
    if (share < 1)
      std::fprintf(stderr, "%ssearch %.0f %%, about %.0f s left", clear, 100 * share,
                   std::ceil(elapsed * (1 - share) / share));
    else
      std::fprintf(stderr, "%ssearch  %.2f s\n", clear, elapsed);
  }
  bool stop_requested() override { return interrupt_requested(); }

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_, shown_;
  Clock::time_point start_ = Clock::now(), last_print_ = start_;
};

std::vector<std::uint8_t> inside_of(const std::vector<float>& distance) {
  std::vector<std::uint8_t> inside(distance.size());
  std::transform(distance.begin(), distance.end(), inside.begin(),
                 [](float d) { return std::uint8_t(d <= 0); });
  return inside;
}

std::string in_words(const Topology& t) {
  return std::to_string(t.components) + " components, " + std::to_string(t.handles()) +
         " handles, " + std::to_string(t.cavities) + " cavities, Euler number " +
         std::to_string(t.euler);
}

void write_outputs(const OutputSet& outputs, const Geometry& grid,
                   const std::vector<float>& distance, const std::vector<float>& level_set,
                   const std::vector<std::uint8_t>& inside, int threads) {
  stop_if_interrupted();
  auto surface = std::async(std::launch::async, [&] {
    if (has_meshes()) write_mesh(outputs.file("surface.ply"), iso_surface(grid, level_set, 0));
  });
  write_image(outputs.file("sdf.nii.gz"), grid, distance, StoredType::float32, threads);
  write_image(outputs.file("mask.nii.gz"), grid, std::vector<float>(inside.begin(), inside.end()),
              StoredType::uint8, threads);
  surface.get();
  stop_if_interrupted();
}

struct Timings {
  double reading, denoising, writing;
};

void say_end(const std::string& prefix, const Geometry& grid, const NonlocalMeansResult& result,
             const Timings& seconds) {
  const int digits = length_digits(grid.spacing.minCoeff(), 2);
  std::string files = prefix + " + ";
  for (const std::string& name : written_files)
    if (has_meshes() || !is_mesh_name(name)) files += (files.ends_with(' ') ? "" : ", ") + name;
  const std::string words = "nlmdenoise: done.\n  level set: changed by " +
                            fixed_digits(result.mean_change_mm, digits) + " mm on average and " +
                            fixed_digits(result.max_change_mm, digits) + " at most\n" +
                            time_line({{"reading", seconds.reading},
                                       {"denoising", seconds.denoising},
                                       {"writing", seconds.writing}}) +
                            written_line(files);
  std::fputs(words.c_str(), stderr);
}

int run(int argc, char** argv) {
  DenoiseOptions o;
  po::variables_map found;
  if (!parse_command_line(argc, argv, "nlmdenoise", {summary, example, everyday}, all_options(o),
                          found))
    return done;
  with_config_named(found, [&] { check(o); });
  Context ctx = context_of_one_stream(o.device, o.threads);
  OutputSet outputs(o.output);
  Stopwatch watch;

  SurfaceInput input = read_surface(ctx, o.surface);
  const Geometry grid = input.distance.geometry();
  const std::vector<std::uint8_t> inside_before = inside_of(input.distance.to_host(ctx));
  warn_of_folder(o.output, input.warnings);
  const double reading = watch.lap();
  stop_if_interrupted();
  auto topology_before =
      std::async(std::launch::async, [&] { return topology_of(inside_before, grid.extent); });
  DenoiseProgress progress(verbosity(o.verbose, o.quiet));
  progress.announce("input  " + describe(grid) + ", " + input.kind + "\ndevice " +
                    ctx.device().name() + " (" + ctx.device().description() + ")\n");
  for (const std::string& note : input.notes) progress.announce("note   " + note + "\n");

  const NonlocalMeansResult result = nonlocal_means(ctx, input.distance, o.means, &progress);
  const double denoising = watch.lap();
  const std::vector<float> distance = result.distance.to_host(ctx);
  const std::vector<std::uint8_t> inside = inside_of(distance);
  const Topology before = topology_before.get(), after = topology_of(inside, grid.extent);
  progress.announce("before " + in_words(before) + "\nafter  " + in_words(after) + "\n");
  if (before.touches_border)
    input.warnings.push_back("the surface touches the border of the volume and is open there");
  if (!has_meshes()) input.warnings.push_back(std::string("no surface.ply: ") + how_to_get_meshes);
  print_warnings("nlmdenoise", input.warnings, o.quiet);

  write_outputs(outputs, grid, distance, result.level_set.to_host(ctx), inside, ctx.threads());
  const double writing = watch.lap();
  write_surface_report(outputs.file("report.json"), ctx,
                       {found, input, result, before, after, reading, denoising, writing});
  stop_if_interrupted();
  outputs.commit();
  if (!o.quiet) say_end(o.output, grid, result, {reading, denoising, writing});
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("nlmdenoise", [&] { return run(argc, argv); });
}
