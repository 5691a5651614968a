#include <freeflow/io/field_file.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include <freeflow/io/file_checks.h>
#include <freeflow/io/nifti_file.h>
#include <freeflow/io/orientation.h>
#include <freeflow/io/other_formats.h>
#include <freeflow/io/transforms/vector_spread.h>
#include <freeflow/io/voxel_writer.h>

namespace freeflow {

namespace {

constexpr int nifti_intent_vector = 1007;

HostField read_nifti_field(const std::string& path) {
  const NiftiHeader header = read_nifti_header(path);
  if (header.size[3] != 1 || header.size[4] != 3 || header.intent_code != nifti_intent_vector)
    fail_reading(path, "it is not a displacement field (x, y, z, 1, 3 with intent 1007)");
  if (header.intent_name.starts_with("NREG"))
    fail_reading(path,
                 "it is a NiftyReg transform, whose vectors mean something else; read it as "
                 "TransformFormat::niftyreg");
  if (header.intent_name == "Mapping")
    fail_reading(path, "it is named \"Mapping\", which is SPM's; read it as TransformFormat::spm");
  require_volume(path, header.extent());
  HostField field;
  require_millimetres(header);
  field.geometry = nifti_geometry(header, field.warnings);
  field.planes = read_nifti_values(header);  // NIfTI keeps the components apart, as we do
  return field;
}

HostField read_other_field(const std::string& path, FileFormat format) {
  if (format == FileFormat::mgh)
    fail_reading(path, "MGH files hold no displacement field; mri_warp_convert writes .m3z");
  FloatImage read = read_float_image(path, format);
  if (read.components != 3)
    fail_reading(path, "it is not a displacement field: its voxels have " +
                           std::to_string(read.components) + " components instead of 3");
  require_volume(path, read.geometry.extent);
  HostField field;
  field.geometry = read.geometry;
  field.warnings = std::move(read.warnings);
  make_orthonormal(path, field.geometry, field.warnings);
  const std::size_t count = field.geometry.extent.count();
  field.planes.resize(3 * count);
  for (std::size_t voxel = 0; voxel < count; ++voxel)
    for (std::size_t component = 0; component < 3; ++component)
      field.planes[component * count + voxel] = read.values[3 * voxel + component];
  return field;
}

/// SPM's fields have the same shape and hold RAS positions, and a copy may have lost their name.
/// `field` is in millimetres.
void refuse_positions(const std::string& path, const HostField& field) {
  const Eigen::Affine3d ras =
      Eigen::Scaling(Eigen::Vector3d(-1, -1, 1)) * field.geometry.index_to_world();
  if (spread_of(field.geometry.extent, field.planes, ras).looks_like_positions())
    fail_reading(path,
                 "its vectors are positions, as SPM writes them, not displacements; read it as "
                 "TransformFormat::spm");
}

}  // namespace

void to_voxels(const std::string& path, HostField& field) {
  const Eigen::Matrix3d world_to_index = field.geometry.world_to_index().linear();
  const std::size_t count = field.geometry.extent.count();
  float* u = field.planes.data();
  std::size_t nonfinite = 0;
#pragma omp parallel for schedule(static) reduction(+ : nonfinite)
  for (std::size_t voxel = 0; voxel < count; ++voxel) {
    const Eigen::Vector3d world_mm(u[voxel], u[count + voxel], u[2 * count + voxel]);
    // of a spacing of next to nothing, finite numbers become too large
    const Eigen::Vector3f in_voxels = (world_to_index * world_mm).cast<float>();
    nonfinite += !in_voxels.allFinite();
    for (int component = 0; component < 3; ++component)
      u[std::size_t(component) * count + voxel] = in_voxels[component];
  }
  if (nonfinite > 0) fail_reading(path, "the displacement field has numbers that are not finite");
}

HostField read_displacement(const std::string& path) {
  const FileFormat format = format_to_read(path);
  HostField field =
      format == FileFormat::nifti ? read_nifti_field(path) : read_other_field(path, format);
  refuse_positions(path, field);
  to_voxels(path, field);
  return field;
}

DisplacementField read_displacement(Context& ctx, const std::string& path) {
  const HostField field = read_displacement(path);
  return DisplacementField(ctx, field.geometry, field.planes);
}

void require_field_name(const std::string& path) {
  const std::optional<FileFormat> format = written_format(path);
  if (!format || *format == FileFormat::mgh)
    fail_writing(
        path,
        "a displacement field is written as .nii, .nii.gz, .mha or .nrrd, of which regtool "
        "convert makes others, such as .h5");
}

void write_displacement(const std::string& path, const Geometry& geometry,
                        std::span<const float> planes, const Compression& compression) {
  require_field_name(path);
  const std::size_t count = geometry.extent.count();
  require(planes.size() == 3 * count, "the number of displacements does not fit the geometry");
  const Eigen::Matrix3d to_world = geometry.index_to_world().linear();
  // In millimetres a chunk at a time, as it is compressed: no second field, and no pass of its own.
  const auto in_world = [&](std::size_t offset, std::size_t bytes, unsigned char* target) {
    const std::size_t end = (offset + bytes) / sizeof(float);
    for (std::size_t i = offset / sizeof(float), n = 0; i < end; i += n) {
      const std::size_t component = i / count, voxel = i % count;
      n = std::min(end - i, count - voxel);
      const Eigen::RowVector3d row = to_world.row(Eigen::Index(component));
      const double along_x = row[0], along_y = row[1], along_z = row[2];
      const float *const x = planes.data() + voxel, *const y = x + count, *const z = y + count;
      for (std::size_t v = 0; v < n; ++v) {
        const auto value =
            float(along_x * double(x[v]) + along_y * double(y[v]) + along_z * double(z[v]));
        std::memcpy(target + v * sizeof value, &value, sizeof value);
      }
      target += n * sizeof(float);
    }
  };
  write_vectors(path, geometry, in_world, compression);
}

void write_displacement(Context& ctx, const std::string& path, const DisplacementField& field) {
  write_displacement(path, field.geometry(), field.to_host(ctx), ctx.threads());
}

}  // namespace freeflow
