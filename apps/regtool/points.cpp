// regtool points: points of a table through a chain of transforms, in a direction said in words.
#include <apps/options.h>
#include <apps/program.h>
#include <apps/regtool/commands.h>
#include <apps/regtool/point_table.h>

namespace po = boost::program_options;

namespace freeflow::apps {

namespace {

constexpr const char* summary =
    "maps points between the fixed and the moving space.\n"
    "Images are pulled back through a transform, so points of the moving image go through its "
    "inverse.";

constexpr const char* example =
    "Example: where landmarks of the fixed image lie in the moving one, and the reverse:\n"
    "  regtool points -i fixed.csv -o in_moving.csv --direction fixed-to-moving \\\n"
    "    -t out_1Warp.nii.gz -t out_0GenericAffine.mat\n"
    "  regtool points -i moving.csv -o in_fixed.csv --direction moving-to-fixed \\\n"
    "    -t out_1Warp.nii.gz -t out_0GenericAffine.mat\n"
    "A line holds x,y,z in mm; a first line of names and further columns are kept.\n";

}  // namespace

int regtool_points(int argc, const char* const* argv) {
  std::string input, output, direction, frame = "lps";
  std::vector<std::string> transforms;
  RunOptions run;
  run.device = "cpu";  // points are mapped on the host, in double
  po::options_description options("Options");
  options.add_options()                                                                   //
      ("input,i", po::value(&input)->value_name("IN.csv"), "points, x,y,z in mm a line")  //
      ("output,o", po::value(&output)->value_name("OUT.csv"), "the same lines, mapped")   //
      ("transform,t", po::value(&transforms)->composing()->value_name("FILE|[FILE,1]"),
       "fixed to moving, as regtool apply takes it")  //
      ("direction", po::value(&direction)->value_name("fixed-to-moving|moving-to-fixed"),
       "where the points come from and go to")  //
      ("frame", po::value(&frame)->default_value(frame)->value_name("lps|ras"),
       "axes of the numbers: ITK's, or NIfTI's");
  add_run_options(options, run);
  po::variables_map found;
  if (!parse_regtool(argc, argv, summary, example, options, found)) return done;
  require(!input.empty(), "name the points with -i IN.csv");
  require(!output.empty(), "name the output with -o OUT.csv");
  require(direction == "fixed-to-moving" || direction == "moving-to-fixed",
          "--direction '" + direction +
              "' is not one of fixed-to-moving, moving-to-fixed: say where the points lie now");
  require(frame == "lps" || frame == "ras", "--frame '" + frame + "' is not one of lps, ras");
  protect_inputs(output, {input}, {""});

  Context ctx(Device::parse(run.device), run.threads);
  std::vector<std::string> warnings;
  PointTable table = read_points(input);
  const Transform chain = read_chain(ctx, transforms, warnings);
  const auto flip = [&] {
    if (frame == "ras")
      for (Eigen::Vector3d& p : table.points) p.head<2>() *= -1;
  };
  flip();
  if (direction == "fixed-to-moving") {
    table.points = map_points(ctx, chain, table.points);
  } else {
    MappedBack back = map_points_back(ctx, chain, table.points);
    table.points = std::move(back.points);
    if (back.largest_residual_mm > 1e-3)
      warnings.push_back("the transform has no inverse at every point: the largest residual is " +
                         std::to_string(back.largest_residual_mm) + " mm");
  }
  flip();
  write_output(output, [&](const std::string& path) { write_points(path, table); });
  print_warnings("regtool", warnings, run.quiet);
  return done;
}

}  // namespace freeflow::apps
