#include <apps/results.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <future>

#include <apps/program.h>
#include <freeflow/io/field_file.h>
#include <freeflow/io/transform_file.h>
#include <freeflow/io/transforms/transform_formats.h>
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

/// A channel's.
void write_images(const Outputs& outputs, std::size_t channel, const Geometry& fixed_grid,
                  const std::vector<float>& warped, const Geometry& moving_grid,
                  const std::vector<float>& inverse_warped, int threads) {
  write_both(
      [&] {
        write_image(outputs.warped(channel), fixed_grid, warped, StoredType::float32, threads);
      },
      [&] {
        write_image(outputs.inverse_warped(channel), moving_grid, inverse_warped,
                    StoredType::float32, threads);
      });
  stop_if_interrupted();
}

/// An affine beside a field for each direction.
void write_fields(Context& ctx, const Outputs& outputs, const RegistrationResult& result) {
  const Geometry& grid = result.displacement.geometry();
  const OutputNames& names = outputs.names;
  const int threads = ctx.threads();
  write_affine(outputs.set.file(names.affine), result.affine, grid.center());
  const std::vector<float> forward = result.displacement.to_host(ctx),
                           backward = result.inverse->field.to_host(ctx);
  write_both([&] { write_displacement(outputs.set.file(names.forward), grid, forward, threads); },
             [&] { write_displacement(outputs.set.file(names.back), grid, backward, threads); });
}

/// One file for each direction, while others compute: HDF5 compresses on one thread and takes one
/// file at a time.
std::future<void> write_whole(Context& ctx, const Outputs& outputs,
                              const RegistrationResult& result) {
  const Geometry& grid = result.displacement.geometry();
  HostTransform there, back;
  there.steps = {HostField{grid, result.displacement.to_host(ctx), {}}, result.affine};
  back.steps = {result.affine.inverse(), HostField{grid, result.inverse->field.to_host(ctx), {}}};
  return std::async(std::launch::async,
                    [&outputs, there = std::move(there), back = std::move(back)] {
                      const auto write = [&](const std::string& name, const HostTransform& t) {
                        stop_if_interrupted();
                        write_transform_file(outputs.set.file(name), TransformFormat::itk, t);
                      };
                      write(outputs.names.forward, there);
                      write(outputs.names.back, back);
                    });
}

}  // namespace

void write_results(Context& ctx, const Outputs& outputs, const Inputs& inputs,
                   const DeviceInputs& images, const RegistrationResult& result,
                   Interpolation interpolation) {
  std::future<void> whole;
  if (outputs.names.affine.empty())
    whole = write_whole(ctx, outputs, result);
  else
    write_fields(ctx, outputs, result);
  Transform back(result.affine.inverse());
  back.then(result.inverse->field.lend());
  for (std::size_t c = 0; c < images.fixed.size(); ++c) {
    const Volume<float>&fixed = images.fixed[c], &moving = images.moving[c];
    const std::vector<float> warped =
        warp(ctx, moving, fixed.geometry(), result.affine, &result.displacement, interpolation,
             smallest(inputs.moving[c].voxels))
            .to_host(ctx);
    const std::vector<float> inverse_warped =
        resample(ctx, fixed, back, moving.geometry(), interpolation,
                 smallest(inputs.fixed[c].voxels))
            .to_host(ctx);
    write_images(outputs, c, fixed.geometry(), warped, moving.geometry(), inverse_warped,
                 ctx.threads());
  }
  if (whole.valid()) whole.get();
}

void write_linear_results(Context& ctx, const Outputs& outputs, const Inputs& inputs,
                          const DeviceInputs& images, const LinearResult& result,
                          Interpolation interpolation) {
  const OutputNames& names = outputs.names;
  const std::string& there = names.affine.empty() ? names.forward : names.affine;
  write_affine(outputs.set.file(there), result.affine, result.center);
  if (!names.back.empty())
    write_affine(outputs.set.file(names.back), result.affine.inverse(),
                 result.affine * result.center);
  for (std::size_t c = 0; c < images.fixed.size(); ++c) {
    const Volume<float>&fixed = images.fixed[c], &moving = images.moving[c];
    const std::vector<float> warped = warp(ctx, moving, fixed.geometry(), result.affine, nullptr,
                                           interpolation, smallest(inputs.moving[c].voxels))
                                          .to_host(ctx);
    const std::vector<float> inverse_warped =
        warp(ctx, fixed, moving.geometry(), result.affine.inverse(), nullptr, interpolation,
             smallest(inputs.fixed[c].voxels))
            .to_host(ctx);
    write_images(outputs, c, fixed.geometry(), warped, moving.geometry(), inverse_warped,
                 ctx.threads());
  }
}

}  // namespace freeflow::apps
