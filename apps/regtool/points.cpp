// regtool points: points of a table or vertices of a mesh through a chain of transforms, in a
// direction said in words.
#include <optional>

#include <apps/one_stream.h>
#include <apps/options.h>
#include <apps/program.h>
#include <apps/regtool/commands.h>
#include <apps/regtool/markups.h>
#include <apps/regtool/point_table.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/mesh_file.h>

namespace po = boost::program_options;

namespace freeflow::apps {

namespace {

constexpr const char* summary =
    "maps points, or the vertices of a mesh, between the fixed and the moving space.\n"
    "-t lists the transforms as for images. Images are pulled back, so a transform takes points "
    "of\n"
    "the fixed image to the moving one; points of the moving image go through its inverse, which\n"
    "--direction moving-to-fixed solves for. Beyond a field's grid only affines move points.";

constexpr const char* example =
    "Example: where landmarks of the fixed image lie in the moving one, and a surface back:\n"
    "  regtool points -i fixed.csv -o in_moving.csv --direction fixed-to-moving \\\n"
    "    -t out_1Warp.nii.gz -t out_0GenericAffine.mat\n"
    "  regtool points -i moving.ply -o in_fixed.ply --direction moving-to-fixed \\\n"
    "    -t out_1Warp.nii.gz -t out_0GenericAffine.mat\n"
    "  regtool points -i voxels.csv -o there.csv --direction fixed-to-moving \\\n"
    "    --frame voxel --image fixed.nii.gz moving.nii.gz -t out_0GenericAffine.mat\n"
    "A line of a table holds x,y,z (or x;y;z); a first line of names and further columns are kept. "
    "A "
    "mesh keeps\n"
    "the order of its vertices, its faces (turned where the affines mirror, so that normals still\n"
    "point outwards) and, where the format written has them, colours and values.\n";

struct PointsOptions {
  std::string input, output, direction, fixed, frame = "lps";
  std::vector<std::string> images, transforms;
  RunOptions run;

  bool is_mesh() const { return is_mesh_name(input); }
  void validate() const;
};

void PointsOptions::validate() const {
  require(!input.empty(), "name the points with -i IN.csv or -i MESH");
  require(!output.empty(), "name the output with -o OUT");
  require(direction == "fixed-to-moving" || direction == "moving-to-fixed",
          "--direction '" + direction +
              "' is not one of fixed-to-moving, moving-to-fixed: say where the points lie now");
  require(frame == "lps" || frame == "ras" || frame == "voxel",
          "--frame '" + frame + "' is not one of lps, ras, voxel");
  require(frame != "voxel" || images.size() == 1 || images.size() == 2,
          "--frame voxel counts voxels of images: name that of the input and that of the output "
          "with --image FROM TO");
  require(frame == "voxel" || images.empty(),
          "--image names images whose voxels are counted; add --frame voxel, or leave it out");
  require(is_mesh_name(output) == is_mesh(),
          "-i '" + input + "' and -o '" + output +
              "' must both be meshes (.ply, .stl, .obj, .vtk) or both be tables");
  require(is_markups_name(output) == is_markups_name(input),
          "-i '" + input + "' and -o '" + output +
              "' must both be 3D Slicer's markups (.json) or both be tables");
  require(output.ends_with(".fcsv") == input.ends_with(".fcsv"),
          "-i '" + input + "' and -o '" + output +
              "' must both be 3D Slicer's fiducials (.fcsv) or neither");
  std::vector<std::string> inputs = images;
  inputs.push_back(input);
  inputs.push_back(fixed);
  protect_inputs(output, inputs, {""});
  protect_inputs(output, transform_files(transforms), {""});
}

/// From the numbers in the file to LPS millimetres, and from there to those that are written.
struct Frames {
  Eigen::Affine3d in = Eigen::Affine3d::Identity(), out = Eigen::Affine3d::Identity();
};

Frames frames(const PointsOptions& o, std::vector<std::string>& warnings) {
  if (o.frame == "voxel")
    return {read_geometry(o.images.front(), warnings).index_to_world(),
            read_geometry(o.images.back(), warnings).world_to_index()};
  const Eigen::Affine3d swap(Eigen::Scaling(Eigen::Vector3d(-1, -1, 1)));
  return o.frame == "ras" ? Frames{swap, swap} : Frames{};
}

std::vector<Eigen::Vector3d> mapped(Context& ctx, const PointsOptions& o, const Transform& chain,
                                    const Frames& frame, std::vector<Eigen::Vector3d> points,
                                    std::vector<std::string>& warnings) {
  for (Eigen::Vector3d& p : points) p = frame.in * p;
  if (o.direction == "fixed-to-moving") {
    warn_of_points_beyond(chain, points, o.input, warnings);
    points = map_points(ctx, chain, points);
  } else {
    MappedBack back = map_points_back(ctx, chain, points);
    if (back.unsolved_points > 0)
      warnings.push_back("no point was found that the transform takes to " +
                         std::to_string(back.unsolved_points) + " of " +
                         std::to_string(points.size()) +
                         " points, where it folds or its field ends; they miss by up to " +
                         std::to_string(back.largest_residual_mm) + " mm");
    points = std::move(back.points);
    warn_of_points_beyond(chain, points, o.output, warnings);
  }
  for (Eigen::Vector3d& p : points) p = frame.out * p;
  return points;
}

bool mirrors(const Eigen::Affine3d& affine) { return affine.linear().determinant() < 0; }

}  // namespace

int regtool_points(int argc, const char* const* argv) {
  PointsOptions o;
  o.run.device = "cpu";  // points are mapped on the host, in double
  po::options_description options("Options");
  options.add_options()  //
      ("input,i", po::value(&o.input)->value_name("IN.csv|MESH"),
       "points, x,y,z a line or in columns of these names, 3D Slicer's .fcsv or .mrk.json, or a "
       "mesh (.ply .stl .obj .vtk, in builds with VTK)")  //
      ("output,o", po::value(&o.output)->value_name("OUT.csv|MESH"),
       "the same lines or faces, mapped; a mesh in the format of the extension")  //
      ("transform,t", po::value(&o.transforms)->composing()->value_name("FILE|[FILE,1]"),
       "fixed to moving, as regtool apply takes it")  //
      ("fixed", po::value(&o.fixed)->value_name("IMAGE"),
       "the fixed image, on whose grid control points are evaluated; for splines alone")  //
      ("direction", po::value(&o.direction)->value_name("fixed-to-moving|moving-to-fixed"),
       "where the points come from and go to")  //
      ("frame", po::value(&o.frame)->default_value(o.frame)->value_name("lps|ras|voxel"),
       "what the numbers are: mm along ITK's axes, mm along NIfTI's, or voxel indices that count "
       "from 0")  //
      ("image", po::value(&o.images)->multitoken()->value_name("FROM [TO]"),
       "--frame voxel: the images whose voxels the input and the output count; one where both are "
       "of its grid");
  add_run_options(options, o.run);
  po::variables_map found;
  if (!parse_regtool(argc, argv, summary, example, options, found)) return done;
  o.validate();

  Context ctx = context_of_one_stream(o.run.device, o.run.threads);
  std::vector<std::string> warnings;
  std::optional<MovableMesh> mesh;
  PointTable table;
  if (o.is_mesh()) {
    mesh.emplace(o.input);
    if (!mesh->space().empty()) {
      const std::string said = mesh->space() == "ras" ? "RAS" : "LPS";
      require(o.frame == "lps" || o.frame == mesh->space(), "'" + o.input + "' says SPACE=" + said +
                                                                ", but --frame is " + o.frame +
                                                                "; leave --frame out");
      o.frame = mesh->space();
    }
  } else {
    table = read_points(o.input, o.frame);
    o.frame = table.frame;
  }
  const Frames frame = frames(o, warnings);
  const Transform chain = read_chain(ctx, o.transforms, o.fixed, warnings);
  if (mesh) {
    mesh->move_to(mapped(ctx, o, chain, frame, mesh->vertices(), warnings));
    if (mirrors(frame.in) != (mirrors(affine_part(chain)) != mirrors(frame.out)))
      mesh->turn_faces();
    write_output(o.output, [&](const std::string& path) { mesh->write(path); });
  } else {
    table.points = mapped(ctx, o, chain, frame, std::move(table.points), warnings);
    write_output(o.output, [&](const std::string& path) { write_points(path, table); });
  }
  print_warnings("regtool", warnings, o.run.quiet);
  return done;
}

}  // namespace freeflow::apps
