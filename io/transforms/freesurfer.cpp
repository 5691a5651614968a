#include <freeflow/io/transforms/freesurfer.h>

#include <fstream>
#include <locale>
#include <sstream>

#include <freeflow/io/transforms/chain.h>
#include <freeflow/io/transforms/freesurfer_geometry.h>
#include <freeflow/io/transforms/m3z.h>

namespace freeflow {

namespace {

constexpr int between_voxels = 0, between_ras = 1;

struct LinearArray {
  int type = -1;
  Eigen::Affine3d matrix = Eigen::Affine3d::Identity();
  FreeSurferGeometry source, destination;
};

void parse_geometry(const std::string& key, std::istringstream& values, FreeSurferGeometry& g) {
  if (key == "valid")
    values >> g.valid;
  else if (key == "volume")
    values >> g.size[0] >> g.size[1] >> g.size[2];
  else if (key == "voxelsize")
    values >> g.spacing[0] >> g.spacing[1] >> g.spacing[2];
  else if (key == "cras")
    values >> g.center_ras[0] >> g.center_ras[1] >> g.center_ras[2];
  else if (key.size() == 4 && key.ends_with("ras") && key[0] >= 'x' && key[0] <= 'z')
    for (int row = 0; row < 3; ++row) values >> g.axes_ras(row, key[0] - 'x');
}

LinearArray read_lta(const std::string& path) {
  constexpr std::uint64_t most_bytes = 1 << 20;
  if (size_of_readable_file(path) > most_bytes) fail_reading(path, "it is too large for an .lta");
  LinearArray lta;
  FreeSurferGeometry* geometry = nullptr;
  std::vector<double> numbers;
  bool in_matrix = false;
  std::ifstream in(path);
  std::string line;
  while (std::getline(in, line)) {
    line.resize(std::min(line.find('#'), line.size()));
    std::istringstream words(line);
    words.imbue(std::locale::classic());
    std::string key, equals;
    if (in_matrix) {
      for (double number; numbers.size() < 16 && words >> number;) numbers.push_back(number);
      in_matrix = numbers.size() < 16;
      continue;
    }
    words >> key;
    if (key == "src") {
      geometry = &lta.source;
    } else if (key == "dst") {
      geometry = &lta.destination;
    } else if (key == "1" && numbers.empty()) {  // the heading 1 4 4
      in_matrix = true;
    } else if (words >> equals && equals == "=") {
      int count = 0;
      if (key == "type") words >> lta.type;
      if (key == "nxforms" && words >> count && count != 1)
        fail_reading(path, "it holds " + std::to_string(count) + " transforms; one is needed");
      if (geometry) parse_geometry(key, words, *geometry);
      if (!words && key != "filename") fail_reading(path, "its entry '" + key + "' cannot be read");
    }
  }
  if (lta.type != between_voxels && lta.type != between_ras)
    fail_reading(path,
                 "its type is neither 0 (voxels) nor 1 (RAS); let lta_convert make one of it");
  lta.matrix = matrix_of(path, numbers);
  if (lta.type == between_voxels && !(lta.source.valid && lta.destination.valid))
    fail_reading(path, "it maps voxels, but does not say where its volumes lie");
  return lta;
}

bool same_place(const FreeSurferGeometry& g, const Geometry& grid) {
  const Eigen::Affine3d other = swap_ras_lps() * grid.index_to_world();
  return g.valid && g.size == Eigen::Vector3i(grid.extent.x, grid.extent.y, grid.extent.z) &&
         (g.index_to_ras().matrix() - other.matrix()).cwiseAbs().maxCoeff() < 1e-2;
}

bool lie_apart(const FreeSurferGeometry& a, const FreeSurferGeometry& b) {
  return a.valid && b.valid &&
         (a.size != b.size ||
          (a.index_to_ras().matrix() - b.index_to_ras().matrix()).cwiseAbs().maxCoeff() > 1e-2);
}

void append_geometry(std::ostringstream& text, const char* heading, const Geometry& grid) {
  const FreeSurferGeometry g = FreeSurferGeometry::of(grid);
  const Eigen::IOFormat row(17, Eigen::DontAlignCols, " ", " ");
  text << heading << " volume info\nvalid = 1  # volume info valid\nfilename = unknown\nvolume = "
       << g.size.transpose().format(row) << "\nvoxelsize = " << g.spacing.transpose().format(row);
  for (int axis = 0; axis < 3; ++axis)
    text << "\n"
         << "xyz"[axis] << "ras   = " << g.axes_ras.col(axis).transpose().format(row);
  text << "\ncras   = " << g.center_ras.transpose().format(row) << "\n";
}

}  // namespace

HostTransform read_freesurfer(const std::string& path, const TransformContext& context) {
  size_of_readable_file(path);
  if (has_extension(path, ".m3z") || has_extension(path, ".m3d")) return read_m3z(path);
  const LinearArray lta = read_lta(path);
  Eigen::Affine3d ras = lta.matrix;
  if (lta.type == between_voxels)
    ras = lta.destination.index_to_ras() * ras * lta.source.index_to_ras().inverse();
  HostTransform transform;
  // Source to destination: against the direction of images, whose destination is the fixed one.
  bool inverted = true;
  if (context.fixed && same_place(lta.source, *context.fixed) &&
      !same_place(lta.destination, *context.fixed)) {
    inverted = false;
    transform.warnings.push_back("'" + path +
                                 "': its source lies as the fixed image, so it is taken from "
                                 "source to destination, without inversion");
  } else if (!context.fixed && lie_apart(lta.source, lta.destination)) {
    transform.warnings.push_back("'" + path +
                                 "': its destination is taken for the fixed image, its source for "
                                 "the moving one; where it is the other way round, name the fixed "
                                 "image");
  }
  transform.steps.emplace_back(between_ras_and_lps(inverted ? ras.inverse() : ras));
  return transform;
}

void write_freesurfer(const std::string& path, const HostTransform& transform,
                      const TransformContext& context) {
  if (!has_extension(path, ".lta"))
    fail_writing(path, "of FreeSurfer's transforms only .lta is written");
  const Eigen::Affine3d affine = affine_to_write(path, transform);
  constexpr const char* why = "an .lta says where both volumes lie";
  const Geometry& fixed = need(context.fixed, path, "fixed", why);
  const Geometry& moving = need(context.moving, path, "moving", why);
  const Eigen::Affine3d source_to_destination = between_ras_and_lps(affine.inverse());
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(17);
  text << "# written by FreeFlow\ntype      = 1 # LINEAR_RAS_TO_RAS\nnxforms   = 1\n"
          "mean      = 0.0 0.0 0.0\nsigma     = 1.0\n1 4 4\n";
  for (int row = 0; row < 4; ++row)
    for (int column = 0; column < 4; ++column)
      text << source_to_destination.matrix()(row, column) << (column < 3 ? " " : "\n");
  append_geometry(text, "src", moving);
  append_geometry(text, "dst", fixed);
  write_text(path, text.str());
}

}  // namespace freeflow
