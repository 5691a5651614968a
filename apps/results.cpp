#include <apps/results.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <future>

#include <apps/program.h>
#include <freeflow/io/field_file.h>
#include <freeflow/io/transform_file.h>
#include <freeflow/transform/resample.h>

namespace freeflow::apps {

namespace {

float smallest(const HostImage& image) {
  float low = INFINITY;
  for (float v : image.voxels) low = v < low ? v : low;
  return low;
}

/// Runs both at the same time: a good part of ITK's writing is done by one thread.
void write_both(const std::function<void()>& first, const std::function<void()>& second) {
  stop_if_interrupted();
  auto background = std::async(std::launch::async, second);
  first();
  background.get();
}

void write_images(const OutputSet& outputs, const Geometry& fixed_grid,
                  const std::vector<float>& warped, const Geometry& moving_grid,
                  const std::vector<float>& inverse_warped, int threads) {
  write_both(
      [&] {
        write_image(outputs.file("Warped.nii.gz"), fixed_grid, warped, StoredType::float32,
                    threads);
      },
      [&] {
        write_image(outputs.file("InverseWarped.nii.gz"), moving_grid, inverse_warped,
                    StoredType::float32, threads);
      });
  stop_if_interrupted();
}

}  // namespace

void write_results(Context& ctx, const OutputSet& outputs, const Inputs& inputs,
                   const Volume<float>& fixed, const Volume<float>& moving,
                   const RegistrationResult& result, Interpolation interpolation) {
  const Geometry &fixed_grid = fixed.geometry(), &moving_grid = moving.geometry();
  const int threads = ctx.threads();
  write_affine(outputs.file("0GenericAffine.mat"), result.affine, fixed_grid.center());
  {
    const std::vector<float> forward = result.displacement.to_host(ctx),
                             backward = result.inverse->field.to_host(ctx);
    write_both(
        [&] { write_displacement(outputs.file("1Warp.nii.gz"), fixed_grid, forward, threads); },
        [&] {
          write_displacement(outputs.file("1InverseWarp.nii.gz"), fixed_grid, backward, threads);
        });
  }
  const std::vector<float> warped =
      warp(ctx, moving, fixed_grid, result.affine, &result.displacement, interpolation,
           smallest(inputs.moving))
          .to_host(ctx);
  Transform back(result.affine.inverse());
  back.then(result.inverse->field.lend());
  const std::vector<float> inverse_warped =
      resample(ctx, fixed, back, moving_grid, interpolation, smallest(inputs.fixed)).to_host(ctx);
  write_images(outputs, fixed_grid, warped, moving_grid, inverse_warped, threads);
}

void write_linear_results(Context& ctx, const OutputSet& outputs, const Inputs& inputs,
                          const Volume<float>& fixed, const Volume<float>& moving,
                          const LinearResult& result, Interpolation interpolation) {
  const Geometry &fixed_grid = fixed.geometry(), &moving_grid = moving.geometry();
  write_affine(outputs.file("0GenericAffine.mat"), result.affine, result.center);
  const std::vector<float> warped =
      warp(ctx, moving, fixed_grid, result.affine, nullptr, interpolation, smallest(inputs.moving))
          .to_host(ctx);
  const std::vector<float> inverse_warped = warp(ctx, fixed, moving_grid, result.affine.inverse(),
                                                 nullptr, interpolation, smallest(inputs.fixed))
                                                .to_host(ctx);
  write_images(outputs, fixed_grid, warped, moving_grid, inverse_warped, ctx.threads());
}

}  // namespace freeflow::apps
