#include <freeflow/io/transforms/m3z.h>

#include <zlib.h>

#include <bit>
#include <cstring>
#include <limits>
#include <memory>

#include <freeflow/io/orientation.h>
#include <freeflow/io/transforms/chain.h>
#include <freeflow/io/transforms/freesurfer_geometry.h>

namespace freeflow {

namespace {

constexpr int tag_geometry = 10, tag_type = 11, tag_labels = 12;
constexpr int positions_in_ras = 1, positions_in_voxels = 2;

/// Big-endian numbers, of a file that zlib reads whether compressed or not.
class BigEndian {
 public:
  explicit BigEndian(const std::string& path)
      : path_(path), file_(gzopen(path.c_str(), "rb"), &gzclose) {
    if (!file_) fail_reading(path_, "it cannot be opened");
    gzbuffer(file_.get(), 1 << 20);
  }
  /// False at the end of the file; throws within a number.
  bool read(void* target, std::size_t bytes, bool may_end = false) {
    const int received = gzread(file_.get(), target, unsigned(bytes));
    if (received < 0) fail_reading(path_, "its compressed data are damaged");
    if (std::size_t(received) == bytes) return true;
    if (received == 0 && may_end) return false;
    fail_reading(path_, "it ends early");
  }
  std::int32_t integer() {
    unsigned char b[4];
    read(b, 4);
    return std::bit_cast<std::int32_t>(word(b));
  }
  float real() { return std::bit_cast<float>(integer()); }
  static std::uint32_t word(const unsigned char* b) {
    return std::uint32_t(b[0]) << 24 | std::uint32_t(b[1]) << 16 | std::uint32_t(b[2]) << 8 | b[3];
  }

 private:
  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

FreeSurferGeometry read_geometry(BigEndian& in) {
  FreeSurferGeometry g;
  g.valid = in.integer() != 0;
  for (int axis = 0; axis < 3; ++axis) g.size[axis] = in.integer();
  for (int axis = 0; axis < 3; ++axis) g.spacing[axis] = in.real();
  for (int axis = 0; axis < 3; ++axis)
    for (int row = 0; row < 3; ++row) g.axes_ras(row, axis) = in.real();
  for (int row = 0; row < 3; ++row) g.center_ras[row] = in.real();
  char name[512];
  in.read(name, sizeof name);
  return g;
}

struct Morph {
  Extent nodes;
  int spacing = 1;  // of nodes, in voxels of the atlas
  std::vector<float>
      positions;  // planes, x fastest; NaN for nodes that FreeSurfer marks as invalid
  int type = positions_in_voxels;
  FreeSurferGeometry image, atlas;
};

void read_nodes(BigEndian& in, Morph& morph) {
  const Extent& nodes = morph.nodes;
  const std::size_t count = nodes.count();
  constexpr std::size_t node_bytes = 36;  // three original and three present coordinates, an index
  std::vector<unsigned char> row(node_bytes * std::size_t(nodes.z));
  for (int x = 0; x < nodes.x; ++x)  // the file has z fastest
    for (int y = 0; y < nodes.y; ++y) {
      in.read(row.data(), row.size());
      morph.positions.resize(3 * count);  // not before the first nodes are there
      for (int z = 0; z < nodes.z; ++z) {
        float numbers[6];
        bool invalid = true;
        for (std::size_t i = 0; i < 6; ++i) {
          numbers[i] = std::bit_cast<float>(
              BigEndian::word(row.data() + node_bytes * std::size_t(z) + 4 * i));
          invalid = invalid && numbers[i] == 0;
        }
        const std::size_t node =
            (std::size_t(z) * std::size_t(nodes.y) + std::size_t(y)) * std::size_t(nodes.x) +
            std::size_t(x);
        for (std::size_t component = 0; component < 3; ++component)
          morph.positions[component * count + node] =
              invalid ? std::numeric_limits<float>::quiet_NaN() : numbers[3 + component];
      }
    }
}

void read_tags(BigEndian& in, Morph& morph) {
  unsigned char bytes[4];
  while (in.read(bytes, 4, true)) {
    switch (std::bit_cast<std::int32_t>(BigEndian::word(bytes))) {
      case tag_geometry:
        morph.image = read_geometry(in);
        morph.atlas = read_geometry(in);
        break;
      case tag_type: morph.type = in.integer(); break;
      case tag_labels: {
        std::vector<char> labels(4 * std::size_t(morph.nodes.x));
        for (int row = 0; row < morph.nodes.y * morph.nodes.z; ++row)
          in.read(labels.data(), labels.size());
        break;
      }
      default: return;  // tags have no length, so what follows an unknown one cannot be found
    }
  }
}

Morph read_morph(const std::string& path) {
  BigEndian in(path);
  Morph morph;
  if (in.real() != 1.f) fail_reading(path, "it is no FreeSurfer morph of version 1");
  const std::array<std::int64_t, 3> sides{in.integer(), in.integer(), in.integer()};
  const std::uint64_t count = count_voxels(path, sides);
  check_size(path, count, 36, size_of_readable_file(path), true);
  morph.nodes = {int(sides[0]), int(sides[1]), int(sides[2])};
  morph.spacing = in.integer();
  if (morph.spacing < 1 || morph.spacing > 1024)
    fail_reading(path, "its nodes have no usable spacing");
  in.real();  // weight of a penalty
  read_nodes(in, morph);
  read_tags(in, morph);
  return morph;
}

}  // namespace

HostTransform read_m3z(const std::string& path) {
  const Morph morph = read_morph(path);
  require_volume(path, morph.nodes);
  if (!morph.atlas.valid || (morph.type == positions_in_voxels && !morph.image.valid))
    fail_reading(path, "it does not say where its image and its atlas lie");
  if (morph.type != positions_in_voxels && morph.type != positions_in_ras)
    fail_reading(path, "its positions are of a kind that FreeSurfer does not define");
  HostTransform transform;
  const Eigen::Affine3d atlas = swap_ras_lps() * morph.atlas.index_to_ras();
  Geometry grid;
  grid.extent = morph.nodes;
  grid.spacing = morph.atlas.spacing * morph.spacing;
  grid.origin = atlas.translation();
  grid.direction = swap_ras_lps().linear() * morph.atlas.axes_ras;
  make_orthonormal(path, grid, transform.warnings);
  const Eigen::Affine3d to_lps = morph.type == positions_in_ras
                                     ? swap_ras_lps()
                                     : Eigen::Affine3d(swap_ras_lps() * morph.image.index_to_ras());
  const Eigen::Affine3d to_index = grid.world_to_index() * to_lps;
  const std::size_t count = morph.nodes.count();
  const std::vector<float>& at = morph.positions;
  transform.steps.emplace_back(make_field(
      path, grid, transform.warnings, [&](std::size_t node, const Eigen::Vector3d& index) {
        const Eigen::Vector3d position(at[node], at[count + node], at[2 * count + node]);
        return Eigen::Vector3d(to_index * position - index);
      }));
  return transform;
}

}  // namespace freeflow
