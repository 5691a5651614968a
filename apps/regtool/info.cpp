// regtool info: what a file holds.
#include <apps/regtool/info.h>

#include <cstdarg>
#include <cstdio>

#include <apps/field_names.h>
#include <apps/one_stream.h>
#include <apps/program.h>
#include <apps/regtool/commands.h>
#include <apps/regtool/markups.h>
#include <apps/regtool/transform_words.h>
#include <apps/report.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/mesh_file.h>

namespace po = boost::program_options;

namespace freeflow::apps {

namespace {

constexpr const char* summary =
    "says what an image or a transform file holds: where an image lies and which of the places "
    "its\n"
    "header gives was taken; what each step of a transform does, its range and its folds. Warns\n"
    "where programs read the header differently.";

constexpr const char* example =
    "Example:\n"
    "  regtool info scan.nii.gz\n"
    "  regtool info out_1Warp.nii.gz\n"
    "  regtool info flirt.mat --fixed ref.nii.gz --moving in.nii.gz\n"
    "Numbers are mm along ITK's axes (left, posterior, superior) unless said otherwise.\n";

/// Vectors of a MetaImage or NRRD, which are taken as displacements because nothing says otherwise.
bool looks_like_a_field(const ImageHeader& header) {
  return header.voxels == "vectors" && header.components == 3 && header.size.size() == 3 &&
         header.stored_type.starts_with("float");
}

/// The format of a transform; nothing for an image. how: why so.
std::optional<TransformFormat> transform_in(const std::string& file, const ImageHeader* header,
                                            std::string& how) {
  if (!header) {
    how = "as its extension and contents say";
    return detect(file);
  }
  if (!may_be_a_transform(*header)) {
    how = "an image of three floats a voxel is taken as displacements";
    return looks_like_a_field(*header) ? std::optional(TransformFormat::itk) : std::nullopt;
  }
  how = "as its header says";
  return detect(file);
}

/// What holds points, by its name.
void refuse_points(const std::string& file) {
  for (const char* table : {".csv", ".tsv", ".fcsv"})
    if (has_extension(file, table))
      fail_reading(file,
                   "it is a table, of which info says nothing: regtool points maps its points");
  if (is_mesh_name(file))
    fail_reading(file,
                 "it is a mesh, of which info says nothing: regtool points maps its vertices");
  if (is_markups_name(file))
    fail_reading(
        file,
        "it is no image and no transform: regtool points maps 3D Slicer's markups, regtool "
        "report shows reports");
}

struct InfoOptions {
  std::string file, from = "auto", fixed, moving, vectors = "measured";
  RunOptions run;
};

void print_transform_file(const InfoOptions& o, std::optional<TransformFormat> format,
                          const std::string& how, std::vector<std::string>& warnings) {
  const TransformContext context = transform_context(o.fixed, o.moving, o.vectors, warnings);
  const HostTransform transform = read_transform_file(o.file, format, context);
  print_line("holds", "a transform, fixed to moving");
  print_line("format", "%s (%s)", transform_formats()[std::size_t(*format)].word, how.c_str());
  Context ctx = context_of_one_stream(o.run.device, o.run.threads);
  print_transform(ctx, *format, transform, context.fixed ? &*context.fixed : nullptr);
  warnings.insert(warnings.end(), transform.warnings.begin(), transform.warnings.end());
}

}  // namespace

void print_line(const char* name, const char* format, ...) {
  std::printf("%-10s ", name);
  std::va_list values;
  va_start(values, format);
  std::vprintf(format, values);
  va_end(values);
  std::printf("\n");
}

void print_matrix(const char* name, const Eigen::Affine3d& matrix) {
  const Eigen::Matrix4d m = (matrix.matrix().array().abs() < 5e-7).select(0, matrix.matrix());
  for (int row = 0; row < 3; ++row)
    print_line(row == 0 ? name : "", "%10.6f %10.6f %10.6f %12.6f", m(row, 0), m(row, 1), m(row, 2),
               m(row, 3));
}

void print_grid(const Geometry& g) {
  const Eigen::Matrix3d d = (g.direction.array().abs() < 5e-7).select(0, g.direction);
  print_line("grid", "%s", describe(g).c_str());
  const Eigen::Vector3d origin = (g.origin.array() == 0).select(0, g.origin);  // no -0
  print_line("origin", "%g %g %g mm", origin.x(), origin.y(), origin.z());
  for (int row = 0; row < 3; ++row)
    print_line(row == 0 ? "direction" : "", "%9.6f %9.6f %9.6f", d(row, 0), d(row, 1), d(row, 2));
}

int regtool_info(int argc, const char* const* argv) {
  InfoOptions o;
  po::options_description options("Options");
  options.add_options()  //
      ("input,i", po::value(&o.file)->value_name("FILE"),
       "an image or a transform; -i may be left out")  //
      ("from", po::value(&o.from)->default_value(o.from)->value_name(transform_format_words(true)),
       "whose transform it is")  //
      ("fixed", po::value(&o.fixed)->value_name("IMAGE"),
       "the image that the transform's points are of, which some formats need; its centre is "
       "followed")  //
      ("moving", po::value(&o.moving)->value_name("IMAGE"),
       "the image that is moved, which some formats need")  //
      ("vectors", po::value(&o.vectors)->default_value(o.vectors)->value_name(vectors_words),
       about_vectors);
  add_run_options(options, o.run);
  po::variables_map found;
  if (!parse_regtool(argc, argv, summary, example, options, found, "input")) return done;
  require(!o.file.empty(), "name the file: regtool info FILE");

  std::optional<TransformFormat> format = transform_format_of("from", o.from);
  std::string how = "as --from says";
  std::optional<ImageHeader> header;
  if (!format) {
    refuse_points(o.file);
    if (is_image_name(o.file) || has_extension(o.file, ".hdr.gz"))
      header = read_image_header(o.file);
    format = transform_in(o.file, header ? &*header : nullptr, how);
    if (!header && !format) read_transform_file(o.file);  // whose sentence says what to name
  }
  print_line("file", "%s", o.file.c_str());
  std::vector<std::string> warnings;
  if (format)
    print_transform_file(o, format, how, warnings);
  else
    print_image(o.file, *header, warnings);
  for (const std::string& warning : translated(warnings))
    print_line("warning", "%s", warning.c_str());
  return done;
}

}  // namespace freeflow::apps
