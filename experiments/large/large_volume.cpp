// A pair of volumes of any size that differ by a known deformation, and how well a registration
// found it: what is to be had on one GPU. Nothing is ever held in memory but a few slices.
//   large_volume make N FOLDER                  fixed.mha and moving.mha, N^3 voxels of 16 bits
//   large_volume judge N FOLDER/1Warp.nii 2     mean and largest error in voxels, and the error
//                                               beside the borders of 2 parts along z: no seam
//
// moving(x) = texture(x), fixed(x) = texture(x + u(x)), both from closed forms, so neither is an
// interpolation of the other. Voxels of 1 mm; displacements of 0.6 % of the side at most.
#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <numbers>
#include <vector>

#include <freeflow/core/error.h>

namespace po = boost::program_options;
using namespace freeflow;

namespace {

struct Point {
  float x, y, z;
};

/// What takes fixed points to moving points, smooth and without a fold: along each axis a product
/// of sines of half a wave to a wave and a half over the volume, nothing at its faces.
Point displacement(int side, int x, int y, int z) {
  const float turn = std::numbers::pi_v<float> / float(side - 1), most = 0.006f * float(side);
  const float a = turn * float(x), b = turn * float(y), c = turn * float(z);
  return {most * std::sin(2 * a) * std::sin(b) * std::sin(c),
          most * std::sin(a) * std::sin(3 * b) * std::sin(c),
          -most * std::sin(a) * std::sin(b) * std::sin(2 * c)};
}

/// Structure at wavelengths from 12 voxels to a third of the volume, in a ball that leaves the
/// corners dark. Between 0 and 4000.
float texture(int side, Point p) {
  const float middle = 0.5f * float(side - 1), third = 6 * std::numbers::pi_v<float> / float(side);
  const float dx = p.x - middle, dy = p.y - middle, dz = p.z - middle;
  const float radius = std::sqrt(dx * dx + dy * dy + dz * dz) / middle;
  const float inside = 1 / (1 + std::exp(40 * (radius - 0.85f)));
  const float coarse = std::sin(third * dx + 1) * std::cos(third * dy) + std::sin(third * dz);
  const float middling = std::sin(0.13f * dx + 2 * std::cos(0.05f * dy)) * std::cos(0.11f * dz) +
                         std::cos(0.09f * dy - 0.07f * dz);
  const float fine = std::sin(0.5f * dx) * std::sin(0.45f * dy) * std::sin(0.4f * dz);
  return inside * (2000 + 350 * coarse + 350 * middling + 300 * fine);
}

/// Writes slice after slice, a batch of them computed at a time on all threads.
template <class F>
void write_volume(const std::string& path, int side, const F& f) {
  std::ofstream file(path, std::ios::binary);
  file << "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\n"
       << "ElementSpacing = 1 1 1\nDimSize = " << side << ' ' << side << ' ' << side
       << "\nElementType = MET_SHORT\nElementDataFile = LOCAL\n";
  constexpr int batch = 64;
  const std::size_t slice = std::size_t(side) * side;
  std::vector<std::int16_t> voxels(batch * slice);
  for (int begin = 0; begin < side; begin += batch) {
    const int end = std::min(begin + batch, side);
#pragma omp parallel for collapse(2)
    for (int z = begin; z < end; ++z)
      for (int y = 0; y < side; ++y) {
        std::int16_t* row = &voxels[(z - begin) * slice + std::size_t(y) * side];
#pragma omp simd
        for (int x = 0; x < side; ++x) row[x] = std::int16_t(std::lround(f(x, y, z)));
      }
    file.write(reinterpret_cast<const char*>(voxels.data()),
               std::streamsize((end - begin) * slice * sizeof(std::int16_t)));
  }
  if (!file.flush()) throw IoError("cannot write '" + path + "'");
}

void make(int side, const std::string& folder) {
  write_volume(folder + "/moving.mha", side, [&](int x, int y, int z) {
    return texture(side, {float(x), float(y), float(z)});
  });
  write_volume(folder + "/fixed.mha", side, [&](int x, int y, int z) {
    const Point u = displacement(side, x, y, z);
    return texture(side, {float(x) + u.x, float(y) + u.y, float(z) + u.z});
  });
}

/// Reads the three planes of a NIfTI field of floats side by side, a slice at a time.
class FieldSlices {
 public:
  FieldSlices(const std::string& path, int side) : side_(side) {
    for (std::ifstream& plane : planes_) plane.open(path, std::ios::binary);
    char header[352] = {};
    planes_[0].read(header, sizeof header);
    std::int16_t sides[8];
    float begin;
    std::memcpy(sides, header + 40, sizeof sides);
    std::memcpy(&begin, header + 108, sizeof begin);
    if (!planes_[0] || sides[1] != side || sides[2] != side || sides[3] != side || sides[5] != 3)
      throw IoError("'" + path + "' is no uncompressed field of this size");
    const std::int64_t plane = std::int64_t(sizeof(float)) * side * side * side;
    for (int c = 0; c < 3; ++c) planes_[c].seekg(std::int64_t(begin) + c * plane);
  }
  void next(std::vector<float>* slices) {
    for (int c = 0; c < 3; ++c) {
      slices[c].resize(std::size_t(side_) * side_);
      planes_[c].read(reinterpret_cast<char*>(slices[c].data()),
                      std::streamsize(slices[c].size() * sizeof(float)));
      if (!planes_[c]) throw IoError("the field breaks off");
    }
  }

 private:
  int side_;
  std::ifstream planes_[3];
};

struct Mean {
  double sum = 0;
  std::int64_t voxels = 0;
  void add(double total, std::int64_t count) { sum += total, voxels += count; }
  double value() const { return sum / double(std::max<std::int64_t>(voxels, 1)); }
};

/// Whether slice z lies within 8 voxels of a border between `parts` equal parts along z.
bool beside_a_border(int side, int parts, int z) {
  for (int part = 1; part < parts; ++part) {
    const int border = int(std::int64_t(side) * part / parts);
    if (z >= border - 8 && z < border + 8) return true;
  }
  return false;
}

void judge(int side, const std::string& path, int parts) {
  FieldSlices field(path, side);
  std::vector<float> u[3];
  double largest = 0, all_before = 0;
  Mean beside, elsewhere;
  const double middle = 0.5 * (side - 1);
  for (int z = 0; z < side; ++z) {
    field.next(u);
    double sum = 0, before = 0;
    std::int64_t voxels = 0;
#pragma omp parallel for reduction(+ : sum, before, voxels) reduction(max : largest)
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) {
        if (std::hypot(x - middle, y - middle, z - middle) > 0.8 * middle) continue;
        const Point truth = displacement(side, x, y, z);
        const std::size_t i = std::size_t(y) * side + x;
        const double error = std::hypot(u[0][i] - truth.x, u[1][i] - truth.y, u[2][i] - truth.z);
        sum += error;
        before += std::hypot(truth.x, truth.y, truth.z);
        largest = std::max(largest, error);
        ++voxels;
      }
    (beside_a_border(side, parts, z) ? beside : elsewhere).add(sum, voxels);
    all_before += before;
  }
  Mean all = elsewhere;
  all.add(beside.sum, beside.voxels);
  std::printf("mean error %.4f voxel, largest %.3f, before %.3f on average, in %lld voxels\n",
              all.value(), largest, all_before / double(all.voxels),
              static_cast<long long>(all.voxels));
  std::printf("within 8 voxels of the borders of %d parts %.4f, elsewhere %.4f\n", parts,
              beside.value(), elsewhere.value());
}

}  // namespace

int main(int argc, char** argv) {
  std::string task, place;
  int side = 0, parts = 2;
  po::options_description options(
      "large_volume make N FOLDER | judge N FIELD.nii [PARTS]\n\n"
      "Example: large_volume make 512 folder");
  options.add_options()("help,h", "this")("version", "the version")(
      "task", po::value(&task)->required(), "make or judge")("side", po::value(&side)->required(),
                                                             "voxels along each axis")(
      "place", po::value(&place)->required(), "a folder, or an uncompressed field")(
      "parts", po::value(&parts), "parts along z whose borders are looked at, 2 by default");
  po::positional_options_description order;
  order.add("task", 1).add("side", 1).add("place", 1).add("parts", 1);
  try {
    po::variables_map found;
    po::store(po::command_line_parser(argc, argv).options(options).positional(order).run(), found);
    if (found.count("help")) return std::cout << options, 0;
    if (found.count("version"))
      return std::cout << "large_volume (FreeFlow) " FREEFLOW_VERSION "\n", 0;
    po::notify(found);
    require(side >= 8 && side <= 4096, "N lies between 8 and 4096");
    require(parts >= 1 && parts <= side, "PARTS lies between 1 and N");
    if (task == "make")
      make(side, place);
    else if (task == "judge")
      judge(side, place, parts);
    else
      throw InvalidArgument("the task is make or judge, not " + task);
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "large_volume: " << e.what() << '\n';
    return 2;
  }
}
