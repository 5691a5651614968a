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

/// Runs both at the same time: a good part of ITK's writing is done by one thread. Either may be
/// empty.
void write_both(const std::function<void()>& first, const std::function<void()>& second) {
  stop_if_interrupted();
  std::future<void> background;
  if (second) background = std::async(std::launch::async, second);
  if (first) first();
  if (background.valid()) background.get();
}

/// What writes a volume under a name; nothing where there is no volume. All must outlive it.
std::function<void()> writes(const Outputs& outputs, const std::vector<std::string>& names,
                             std::size_t channel, const Geometry& grid,
                             const std::vector<float>& voxels, int threads) {
  if (voxels.empty()) return {};
  return [&, channel, threads] {
    write_image(outputs.set.file(names[channel]), grid, voxels, StoredType::float32, threads);
  };
}

/// A channel's; empty volumes are not written.
void write_images(const Outputs& outputs, std::size_t channel, const Geometry& fixed_grid,
                  const std::vector<float>& warped, const Geometry& moving_grid,
                  const std::vector<float>& inverse_warped, int threads) {
  const OutputNames& names = outputs.names;
  write_both(writes(outputs, names.warped, channel, fixed_grid, warped, threads),
             writes(outputs, names.inverse_warped, channel, moving_grid, inverse_warped, threads));
  stop_if_interrupted();
}

/// An affine beside a field for each direction.
void write_fields(Context& ctx, const Outputs& outputs, const RegistrationResult& result) {
  const Geometry& grid = result.displacement.geometry();
  const OutputNames& names = outputs.names;
  write_affine(outputs.set.file(names.affine), result.affine, grid.center());
  const auto writes_field = [&](const std::string& name,
                                const DisplacementField& field) -> std::function<void()> {
    return [&outputs, name, &grid, planes = field.to_host(ctx), threads = ctx.threads()] {
      write_displacement(outputs.set.file(name), grid, planes, threads);
    };
  };
  std::function<void()> there, back;
  if (!names.forward.empty()) there = writes_field(names.forward, result.displacement);
  if (!names.back.empty()) back = writes_field(names.back, result.inverse->field);
  write_both(there, back);
}

/// One file for each direction, while others compute: HDF5 compresses on one thread and takes one
/// file at a time.
std::future<void> write_whole(Context& ctx, const Outputs& outputs,
                              const RegistrationResult& result) {
  const Geometry& grid = result.displacement.geometry();
  std::vector<std::pair<std::string, HostTransform>> files;
  if (const std::string& name = outputs.names.forward; !name.empty())
    files.push_back(
        {name, {{HostField{grid, result.displacement.to_host(ctx), {}}, result.affine}, {}}});
  if (const std::string& name = outputs.names.back; !name.empty())
    files.push_back(
        {name,
         {{result.affine.inverse(), HostField{grid, result.inverse->field.to_host(ctx), {}}}, {}}});
  return std::async(std::launch::async, [&outputs, files = std::move(files)] {
    for (const auto& [name, transform] : files) {
      stop_if_interrupted();
      write_transform_file(outputs.set.file(name), TransformFormat::itk, transform);
    }
  });
}

}  // namespace

void write_results(Context& ctx, const Outputs& outputs, const Inputs& inputs,
                   const DeviceInputs& images, const RegistrationResult& result,
                   Interpolation interpolation) {
  const OutputNames& names = outputs.names;
  std::future<void> whole;
  if (names.affine.empty())
    whole = write_whole(ctx, outputs, result);
  else
    write_fields(ctx, outputs, result);
  Transform back(result.affine.inverse());
  if (!names.inverse_warped.empty()) back.then(result.inverse->field.lend());
  for (std::size_t c = 0; c < images.fixed.size(); ++c) {
    const Volume<float>&fixed = images.fixed[c], &moving = images.moving[c];
    std::vector<float> warped, inverse_warped;
    if (!names.warped.empty())
      warped = warp(ctx, moving, fixed.geometry(), result.affine, &result.displacement,
                    interpolation, smallest(inputs.moving[c].voxels))
                   .to_host(ctx);
    if (!names.inverse_warped.empty())
      inverse_warped = resample(ctx, fixed, back, moving.geometry(), interpolation,
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
  if (!there.empty()) write_affine(outputs.set.file(there), result.affine, result.center);
  if (!names.back.empty())
    write_affine(outputs.set.file(names.back), result.affine.inverse(),
                 result.affine * result.center);
  for (std::size_t c = 0; c < images.fixed.size(); ++c) {
    const Volume<float>&fixed = images.fixed[c], &moving = images.moving[c];
    std::vector<float> warped, inverse_warped;
    if (!names.warped.empty())
      warped = warp(ctx, moving, fixed.geometry(), result.affine, nullptr, interpolation,
                    smallest(inputs.moving[c].voxels))
                   .to_host(ctx);
    if (!names.inverse_warped.empty())
      inverse_warped = warp(ctx, fixed, moving.geometry(), result.affine.inverse(), nullptr,
                            interpolation, smallest(inputs.fixed[c].voxels))
                           .to_host(ctx);
    write_images(outputs, c, fixed.geometry(), warped, moving.geometry(), inverse_warped,
                 ctx.threads());
  }
}

}  // namespace freeflow::apps
