// Registers a blob to a copy of itself that was moved by a known amount, with the installed
// library.
#include <cmath>
#include <cstdio>
#include <vector>

#include <freeflow/registration/ffd/ffd.h>

using namespace freeflow;

namespace {

constexpr int side = 24;

Volume<float> blob(Context& ctx, const Eigen::Vector3d& centre) {
  Geometry geometry;
  geometry.extent = {side, side, side};
  geometry.spacing = {2, 2, 2};
  std::vector<float> voxels;
  voxels.reserve(geometry.extent.count());
  for (int z = 0; z < side; ++z)
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x)
        voxels.push_back(
            float(100 * std::exp(-(Eigen::Vector3d(x, y, z) - centre).squaredNorm() / 40)));
  return Volume<float>(ctx, geometry, voxels);
}

}  // namespace

int main() {
  const Eigen::Vector3d centre(11.5, 11.5, 11.5), shift(1.5, -1.0, 0.5);
  Context ctx(Device::parse("cpu"));
  FfdOptions options;
  options.similarity.kind = SimilarityKind::ssd;
  options.levels = 2;
  // Where the blob is bright the displacement must be the shift.
  const RegistrationResult result =
      register_ffd(ctx, blob(ctx, centre), blob(ctx, centre + shift), options);
  const std::vector<float> u = result.displacement.to_host(ctx);
  const std::size_t count = result.displacement.extent().count();
  double error = 0;
  int voxels = 0;
  for (int z = 8; z < 16; ++z)
    for (int y = 8; y < 16; ++y)
      for (int x = 8; x < 16; ++x, ++voxels) {
        const std::size_t i = (std::size_t(z) * side + y) * side + x;
        error += (Eigen::Vector3d(u[i], u[count + i], u[2 * count + i]) - shift).norm();
      }
  error /= voxels;
  std::printf("mean error %.3f voxel of a shift by %.3f\n", error, shift.norm());
  return error < 0.25 ? 0 : 1;
}
