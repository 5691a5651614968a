#include <apps/results.h>

#include <algorithm>
#include <cmath>

#include <apps/program.h>
#include <freeflow/io/field_file.h>
#include <freeflow/io/transform_file.h>

namespace freeflow::apps {

namespace {

float smallest(const HostImage& image) {
  float low = INFINITY;
  for (float v : image.voxels) low = v < low ? v : low;
  return low;
}

void write_volume(Context& ctx, const std::string& path, const Volume<float>& volume) {
  stop_if_interrupted();
  write_image(path, volume.geometry(), volume.to_host(ctx), StoredType::float32, ctx.threads());
}

}  // namespace

void write_results(Context& ctx, const OutputSet& outputs, const Inputs& inputs, const Volume<float>& fixed, const Volume<float>& moving,
                   const RegistrationResult& result, Interpolation interpolation) {
  const Geometry &fixed_grid = fixed.geometry(), &moving_grid = moving.geometry();
  write_affine(outputs.file("0GenericAffine.mat"), result.affine, fixed_grid.center());
  stop_if_interrupted();
  write_displacement(ctx, outputs.file("1Warp.nii.gz"), result.displacement);
  stop_if_interrupted();
  write_displacement(ctx, outputs.file("1InverseWarp.nii.gz"), result.inverse.field);
  write_volume(ctx, outputs.file("Warped.nii.gz"),
               warp(ctx, moving, fixed_grid, result.affine, &result.displacement, interpolation, smallest(inputs.moving)));

  const Eigen::Affine3d back = result.affine.inverse();
  write_volume(ctx, outputs.file("InverseWarped.nii.gz"),
               warp_through(ctx, fixed, moving_grid, back, result.inverse.field, interpolation, smallest(inputs.fixed)));
}

}  // namespace freeflow::apps
