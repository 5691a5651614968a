#include <apps/results.h>

#include <memory>
#include <span>
#include <utility>

#include <apps/intensities.h>
#include <apps/program.h>
#include <freeflow/core/buffer.h>
#include <freeflow/deform/field_operations.h>
#include <freeflow/io/field_file.h>
#include <freeflow/io/spline_file.h>
#include <freeflow/io/transform_file.h>
#include <freeflow/io/transforms/transform_formats.h>
#include <freeflow/transform/resample.h>

namespace freeflow::apps {

namespace {

/// What a device holds, for another thread to write. Not a vector, whose memory is zeroed first,
/// page by page: on a GPU that took longer than the copy.
class HostCopy {
 public:
  HostCopy(Context& ctx, const float* values, std::size_t count) {
    Context host;
    values_ = std::make_shared<const Buffer<float>>(host, count);
    ctx.copy_to_host(values_->data(), values, count * sizeof(float));
  }
  std::span<const float> values() const { return {values_->data(), values_->size()}; }

 private:
  std::shared_ptr<const Buffer<float>> values_;
};

}  // namespace

Geometry thinned(Geometry grid, int factor) {
  for (int* n : {&grid.extent.x, &grid.extent.y, &grid.extent.z})
    *n = (*n + factor - 2) / factor + 1;
  grid.spacing *= factor;
  return grid;
}

template <class Write>
void ResultFiles::add(const std::string& name, Write write) {
  writer_.add([this, name, write = std::move(write)] {
    write(outputs_.set.file(name));
    outputs_.set.sync(name);
  });
}

DisplacementField ResultFiles::as_written(Context& ctx, const DisplacementField& field) const {
  return field_factor_ == 1 ? field.lend()
                            : resample(ctx, field, thinned(field.geometry(), field_factor_));
}

void ResultFiles::add_field(Context& ctx, const std::string& name, const DisplacementField& whole) {
  if (name.empty()) return;
  const DisplacementField field = as_written(ctx, whole);
  add(name, [grid = field.geometry(),
             planes = HostCopy(ctx, field.view().data, 3 * field.extent().count()),
             compression = compression_](const std::string& path) {
    write_displacement(path, grid, planes.values(), compression);
  });
}

void ResultFiles::add_image(Context& ctx, const std::string& name, const Volume<float>& image) {
  if (name.empty()) return;
  require_on_device(ctx, image);
  add(name, [grid = image.geometry(),
             voxels = HostCopy(ctx, image.view().data, image.geometry().extent.count()),
             compression = compression_](const std::string& path) {
    write_image(path, grid, voxels.values(), StoredType::float32, compression);
  });
}

void ResultFiles::add_lattice(Context& ctx, const std::string& name,
                              const ControlPointGrid& lattice) {
  add(name,
      [spline = to_host(ctx, lattice)](const std::string& path) { write_spline(path, spline); });
}

void ResultFiles::add_whole(Context& ctx, const RegistrationResult& result) {
  const auto on_host = [&](const DisplacementField& whole) {
    const DisplacementField field = as_written(ctx, whole);
    return HostField{field.geometry(), field.to_host(ctx), {}};
  };
  std::vector<std::pair<std::string, HostTransform>> files;
  if (const std::string& name = outputs_.names.forward; !name.empty())
    files.push_back({name, {{on_host(result.displacement), result.affine}, {}}});
  if (const std::string& name = outputs_.names.back; !name.empty())
    files.push_back({name, {{result.affine.inverse(), on_host(result.inverse->field)}, {}}});
  // One after the other: HDF5 takes one file at a time.
  writer_.add([this, files = std::move(files)] {
    for (const auto& [name, transform] : files) {
      stop_if_interrupted();
      write_transform_file(outputs_.set.file(name), TransformFormat::itk, transform);
    }
  });
}

void write_displacement_of(Context& ctx, ResultFiles& files, const DisplacementField& field) {
  const OutputNames& names = files.outputs().names;
  if (!names.affine.empty()) files.add_field(ctx, names.forward, field);
}

void write_results(Context& ctx, ResultFiles& files, const WarpedImages& images,
                   const RegistrationResult& result) {
  const OutputNames& names = files.outputs().names;
  if (names.affine.empty()) {
    files.add_whole(ctx, result);
  } else {
    write_affine(files.outputs().set.file(names.affine), result.affine,
                 result.displacement.geometry().center());
    if (!names.back.empty()) files.add_field(ctx, names.back, result.inverse->field);
    if (!names.lattice.empty()) files.add_lattice(ctx, names.lattice, *result.control_points);
  }
  Transform back(result.affine.inverse());
  if (!names.inverse_warped.empty()) back.then(result.inverse->field.lend());
  for (std::size_t c = 0; c < images.fixed.size(); ++c) {
    const Volume<float>&fixed = images.fixed[c], &moving = images.moving[c];
    if (!names.warped.empty())
      files.add_image(
          ctx, names.warped[c],
          warp(ctx, moving, fixed.geometry(), result.affine, &result.displacement,
               images.interpolation, smallest_value(images.inputs.moving[c].voxels.voxels)));
    if (!names.inverse_warped.empty())
      files.add_image(ctx, names.inverse_warped[c],
                      resample(ctx, fixed, back, moving.geometry(), images.interpolation,
                               smallest_value(images.inputs.fixed[c].voxels.voxels)));
  }
}

void write_linear_results(Context& ctx, ResultFiles& files, const WarpedImages& images,
                          const LinearResult& result) {
  const OutputNames& names = files.outputs().names;
  const OutputSet& set = files.outputs().set;
  const std::string& there = names.affine.empty() ? names.forward : names.affine;
  if (!there.empty()) write_affine(set.file(there), result.affine, result.center);
  if (!names.back.empty())
    write_affine(set.file(names.back), result.affine.inverse(), result.affine * result.center);
  for (std::size_t c = 0; c < images.fixed.size(); ++c) {
    const Volume<float>&fixed = images.fixed[c], &moving = images.moving[c];
    if (!names.warped.empty())
      files.add_image(
          ctx, names.warped[c],
          warp(ctx, moving, fixed.geometry(), result.affine, nullptr, images.interpolation,
               smallest_value(images.inputs.moving[c].voxels.voxels)));
    if (!names.inverse_warped.empty())
      files.add_image(
          ctx, names.inverse_warped[c],
          warp(ctx, fixed, moving.geometry(), result.affine.inverse(), nullptr,
               images.interpolation, smallest_value(images.inputs.fixed[c].voxels.voxels)));
  }
}

}  // namespace freeflow::apps
