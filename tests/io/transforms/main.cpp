// The tests of transform files and, for foreign_test.py, our side of its comparison: one program,
// as the package takes every program of tests/ for a test.
//   test_transform_files map IN FROM FIXED MOVING VECTORS POINTS
//   test_transform_files convert IN FROM FIXED MOVING VECTORS OUT TO
//   test_transform_files spline FIXED OUT
// FROM: a format or auto. FIXED, MOVING: images, or - for none. VECTORS: measured, displacements or
// positions, of what is read (map) or written (convert). OUT of spline: random control points.
// POINTS: a line of three numbers separated by commas per point, LPS mm; the mapped points go to
// stdout in the same form. Warnings go to stderr.
#include <gtest/gtest.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>

#include <freeflow/core/error.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/quiet.h>
#include <freeflow/io/spline_file.h>
#include <freeflow/io/transforms/transform_formats.h>

#include "transform_test_support.h"

namespace freeflow {
namespace {

std::optional<Geometry> geometry(const std::string& path) {
  if (path == "-") return std::nullopt;
  return read_image(path).geometry;
}

void map_points(const HostTransform& transform, const std::string& path) {
  std::ifstream in(path);
  std::string line;
  while (std::getline(in, line)) {
    Eigen::Vector3d p;
    if (std::sscanf(line.c_str(), "%lf,%lf,%lf", &p[0], &p[1], &p[2]) != 3) continue;
    p = map_point(transform, p);
    std::printf("%.17g,%.17g,%.17g\n", p[0], p[1], p[2]);
  }
}

void write_some_spline(const std::string& fixed, const std::string& path) {
  Context ctx;
  const Geometry grid = *geometry(fixed);
  ControlPointGrid lattice(ctx, grid, 3 * grid.spacing, Eigen::Vector3d::Zero());
  lattice.coefficients() =
      Buffer<float>(ctx, test::random_values(3 * lattice.extent().count(), -2, 2));
  write_spline(path, to_host(ctx, lattice));
}

void run(const std::vector<std::string>& words) {
  if (words[1] == "spline") return write_some_spline(words.at(2), words.at(3));
  require(words.size() == (words[1] == "map" ? 8u : 9u), "see the source");
  const bool convert = words[1] == "convert";
  const std::optional<TransformFormat> from = parse_transform_format(words[3]);
  TransformContext context{geometry(words[4]), geometry(words[5]), {}};
  const VectorMeaning meaning = words[6] == "positions"       ? VectorMeaning::positions
                                : words[6] == "displacements" ? VectorMeaning::displacements
                                                              : VectorMeaning::measured;
  if (!convert) context.vectors = meaning;
  const HostTransform transform = read_transform_file(words[2], from, context);
  for (const std::string& warning : transform.warnings) std::cerr << warning << '\n';
  if (!convert) return map_points(transform, words[7]);
  context.vectors = meaning;
  write_transform_file(words[7], parse_transform_format(words[8]).value(), transform, context);
}

}  // namespace
}  // namespace freeflow

int main(int argc, char** argv) {
  const std::string word = argc > 1 ? argv[1] : "";
  if (word != "map" && word != "convert" && word != "spline") {
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
  }
  freeflow::silence_foreign_readers();
  try {
    freeflow::run({argv, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
