// regtool points: points of a table through a chain of transforms, in a direction said in words.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

#include <apps/options.h>
#include <apps/program.h>
#include <apps/regtool/commands.h>

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

struct Table {
  std::string names;  ///< the first line, where it is no point
  std::vector<Eigen::Vector3d> points;
  std::vector<std::string> rest;  ///< of each line, with its comma
};

Table read_table(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw IoError("cannot read '" + path + "': it cannot be opened");
  Table table;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    double x = NAN, y = NAN, z = NAN;
    int used = 0;
    const bool point = std::sscanf(line.c_str(), " %lf , %lf , %lf%n", &x, &y, &z, &used) == 3 &&
                       std::isfinite(x + y + z);
    if (!point && number == 1) {
      table.names = line;
      continue;
    }
    if (!point)
      throw IoError("cannot read '" + path + "': line " + std::to_string(number) +
                    " does not begin with three numbers x,y,z");
    table.points.emplace_back(x, y, z);
    table.rest.push_back(line.substr(std::size_t(used)));
  }
  if (table.points.empty()) throw IoError("cannot read '" + path + "': it holds no point");
  return table;
}

void write_table(const std::string& path, const Table& table) {
  std::ofstream file(path);
  if (!table.names.empty()) file << table.names << '\n';
  for (std::size_t i = 0; i < table.points.size(); ++i) {
    const Eigen::Vector3d& p = table.points[i];
    char numbers[100];
    std::snprintf(numbers, sizeof numbers, "%.6f,%.6f,%.6f", p.x(), p.y(), p.z());
    file << numbers << table.rest[i] << '\n';
  }
  file.close();
  if (!file) throw IoError("cannot write '" + path + "': the disk may be full");
}

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
  Table table = read_table(input);
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
  write_output(output, [&](const std::string& path) { write_table(path, table); });
  print_warnings("regtool", warnings, run.quiet);
  return done;
}

}  // namespace freeflow::apps
