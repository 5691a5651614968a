// regtool report: pages to judge registrations by.
#include <cmath>
#include <cstdio>

#include <apps/html.h>
#include <apps/one_stream.h>
#include <apps/program.h>
#include <apps/regtool/commands.h>
#include <apps/report_page/draw.h>
#include <apps/report_page/finished_run.h>
#include <apps/report_page/group.h>
#include <apps/report_page/page.h>
#include <apps/report_page/report_values.h>
#include <apps/results.h>
#include <freeflow/deform/field_operations.h>
#include <freeflow/io/file_checks.h>

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace freeflow::apps {

namespace {

constexpr const char* summary =
    "makes the page of a finished registration from its report.json, its images and its "
    "transform,\n"
    "or one page of a whole cohort, worst first. A page is one file that loads nothing.";

constexpr const char* example =
    "Example: the page of ffdreg ... -o out/a_, as its --report both would have made it\n"
    "  regtool report out/a_\n"
    "and of all registrations below a folder:\n"
    "  regtool report --group out\n"
    "Written: PREFIXreport.html (of --bids beside its _xfm.json), or DIR/group.html. "
    "docs/report.md says what the pages show.\n";

struct ReportOptions {
  std::string prefix, group, fixed, moving, output;
  std::vector<std::string> transforms;
  RunOptions run;
};

void add_options(po::options_description& options, ReportOptions& o) {
  options.add_options()  //
      ("prefix", prefix_value(o.prefix),
       "the registration's -o, or its report.json; may stand without --prefix")  //
      ("group", po::value(&o.group)->value_name("DIR"),
       "all registrations below this folder")  //
      ("fixed", po::value(&o.fixed)->value_name("FILE"),
       "the fixed image, where it is no longer where the report says")        //
      ("moving", po::value(&o.moving)->value_name("FILE"), "the moving one")  //
      ("transform,t", po::value(&o.transforms)->composing()->value_name("FILE"),
       "the transform, where it is no longer beside the report: a field and then its affine, or "
       "one file")  //
      ("output,o", po::value(&o.output)->value_name("FILE.html"), "where the page goes");
  add_run_options(options, o.run);
}

void check(const ReportOptions& o) {
  require(o.prefix.empty() != o.group.empty(),
          "name the registration's prefix, or a cohort's folder with --group DIR");
  require(o.group.empty() || (o.fixed.empty() && o.moving.empty() && o.transforms.empty()),
          "--fixed, --moving and -t are of one registration, not of a --group");
  require(o.transforms.size() <= 2,
          "-t takes a field and then its affine, or one file; regtool compose makes one of more");
  require(o.output.empty() || has_extension(o.output, ".html") || has_extension(o.output, ".htm"),
          "-o " + o.output + ": the page is written as HTML: name it FILE.html");
}

/// What the run read, by its report and by what is named now.
CommonOptions images_of(const FinishedRun& run, const ReportOptions& o) {
  CommonOptions images;
  images.fixed = {o.fixed.empty() ? image_of_run(run, "fixed") : o.fixed};
  images.moving = {o.moving.empty() ? image_of_run(run, "moving") : o.moving};
  images.clip = text_in(run.json, "/options/clip");
  images.background = text_in(run.json, "/options/background");
  return images;
}

/// A file of that name may be another one by now, or another subject's that lies here.
void require_place_of_run(const FinishedRun& run, const std::string& side, const HostImage& image,
                          const std::string& file) {
  const auto number = [&](const char* what, int row, int column = -1) {
    return number_in(run.json, "/" + side + "/" + what + "/" + std::to_string(row) +
                                   (column < 0 ? "" : "/" + std::to_string(column)));
  };
  Geometry g = image.geometry;  // whose sides are compared as they stand in the report
  bool same = true;
  for (int a = 0; a < 3; ++a) {
    const auto size = number("size", a), spacing = number("spacing_mm", a),
               origin = number("origin_mm_lps", a);
    if (!size || !spacing || !origin) return;
    same = same && *size == g.extent[a];
    g.spacing[a] = *spacing;
    g.origin[a] = *origin;
    for (int column = 0; column < 3; ++column)
      g.direction(a, column) = number("direction_lps", a, column).value_or(g.direction(a, column));
  }
  require(same && same_grid(g, image.geometry),
          "'" + file + "' does not lie where the " + side +
              " image of the run lay; name the image that was registered with --" + side + " FILE");
}

void say_where(const std::string& path, const ReportOptions& o) {
  if (!o.run.quiet) std::fprintf(stderr, "regtool report: written: %s\n", path.c_str());
}

/// Of a run with --field-factor the field of all voxels.
DisplacementField on_grid(Context& ctx, DisplacementField field, const Geometry& grid) {
  constexpr int most = 8;
  for (int factor = 2; factor <= most; ++factor)
    if (same_grid(field.geometry(), thinned(grid, factor))) return resample(ctx, field, grid);
  return field;
}

void write_registration(const ReportOptions& o) {
  const FinishedRun run = read_finished_run(o.prefix);
  const CommonOptions files = images_of(run, o);
  const std::vector<std::string> transforms =
      o.transforms.empty() ? transforms_of_run(run) : o.transforms;
  const std::string path =
      o.output.empty() ? fs::path(run.report).replace_extension(".html").string() : o.output;
  std::vector<std::string> inputs = transforms;
  inputs.insert(inputs.end(), {files.fixed[0], files.moving[0], run.report.string()});
  protect_inputs(path, inputs, {""});

  Context ctx = context_of_one_stream(o.run.device, o.run.threads);
  Inputs images = read_inputs(files);
  images.warnings.clear();  // the page has those of the run
  FileTransform transform = initial_transform(transforms, images);
  DisplacementField u;
  if (transform.displacement) {
    const Geometry& grid = images.fixed_image().geometry;
    u = on_grid(ctx, {ctx, transform.displacement->geometry, transform.displacement->planes}, grid);
    require(same_grid(u.geometry(), grid),
            "the transform '" + transforms[0] + "' does not lie on the grid of the fixed image '" +
                files.fixed[0] + "'; name the image that was registered with --fixed FILE");
    transform.displacement.reset();
  }
  require_place_of_run(run, "fixed", images.fixed_image(), files.fixed[0]);
  require_place_of_run(run, "moving", images.moving_image(), files.moving[0]);
  stop_if_interrupted();
  const Volume<float> fixed = to_volume(ctx, images.fixed_image()),
                      moving = to_volume(ctx, images.moving_image());
  const PagePictures pictures =
      draw_registration(ctx, {fixed, moving, transform.affine, u.empty() ? nullptr : &u},
                        images.fixed.front(), images.moving.front());
  write_output(path, [&](const std::string& at) {
    write_page(at, registration_page(run.name, run.json, pictures));
  });
  say_where(path, o);
}

/// The folder as it was named; its own name where that says nothing, as of `.`.
std::string name_of_folder(const fs::path& named) {
  const fs::path last = named.filename();
  const bool says_nothing = last.empty() || last == "." || last == "..";
  const fs::path own = says_nothing ? fs::canonical(named).filename() : named;
  return (own.empty() ? named : own).string();
}

void write_group(const ReportOptions& o) {
  const Group group = read_group(o.group);
  const std::string path =
      o.output.empty() ? (fs::path(o.group) / "group.html").string() : o.output;
  std::vector<std::string> pages;  // which it has links to
  for (const GroupMember& m : group.members)
    pages.push_back(fs::path(m.report).replace_extension(".html").string());
  protect_inputs(path, pages, {""});
  const std::string title = "Registrations in " + name_of_folder(o.group);
  write_output(path, [&](const std::string& at) {
    // The links start from where the page will be, not from where it is staged.
    write_page(at, group_page(group, title, path));
  });
  say_where(path, o);
}

}  // namespace

int regtool_report(int argc, const char* const* argv) {
  ReportOptions o;
  o.run.device = "cpu";  // three planes
  po::options_description options("Options");
  add_options(options, o);
  po::variables_map found;
  if (!parse_regtool(argc, argv, summary, example, options, found, "prefix")) return done;
  check(o);
  if (o.group.empty())
    write_registration(o);
  else
    write_group(o);
  return done;
}

}  // namespace freeflow::apps
