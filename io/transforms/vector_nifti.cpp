#include <freeflow/io/transforms/vector_nifti.h>

#include <algorithm>
#include <cmath>

#include <freeflow/core/geometry.h>
#include <freeflow/io/byte_order.h>
#include <freeflow/io/byte_source.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/nifti_writer.h>
#include <freeflow/io/orientation.h>

namespace freeflow {

namespace {

constexpr int afni_extension = 4;

}  // namespace

Geometry vector_grid(const VectorNifti& file, std::vector<std::string>& warnings) {
  const NiftiHeader& header = file.header;
  Geometry grid;
  grid.extent = header.extent();
  grid.space_code = header.sform_code > 0   ? header.sform_code
                    : header.qform_code > 0 ? header.qform_code
                                            : 0;
  if (header.sform_code <= 0 && header.qform_code <= 0) {
    warnings.push_back("'" + header.path +
                       "' has neither sform nor qform: its axes are taken as left, posterior, "
                       "superior from origin 0");
    grid.spacing = header.voxel_size;
  } else {
    const Eigen::Affine3d& to_world = header.sform_code > 0 ? header.sform : header.qform;
    grid.spacing = to_world.linear().colwise().norm().transpose();
    grid.origin = to_world.translation();
    grid.direction = to_world.linear() * grid.spacing.cwiseInverse().asDiagonal();
  }
  make_orthonormal(header.path, grid, warnings);
  const Eigen::Vector3d last(grid.extent.x - 1, grid.extent.y - 1, grid.extent.z - 1);
  if (header.sform_code > 0 && header.qform_code > 0) {
    const Eigen::Affine3d apart = header.qform.inverse() * header.sform;
    const double voxels = std::max((apart * last - last).norm(), apart.translation().norm());
    if (!(voxels < 0.05))
      warnings.push_back("'" + header.path +
                         "': qform and sform differ; the sform is taken, as FSL and SPM do, but "
                         "ITK takes the qform of such images");
  }
  return grid;
}

void require_placed(const VectorNifti& file) {
  if (file.header.sform_code <= 0 && file.header.qform_code <= 0)
    fail_reading(file.header.path,
                 "it has neither sform nor qform, and programs differ in where they put the places "
                 "that it holds; give it its image's (fslcpgeom IMAGE FILE -d)");
}

bool is_nifti(const std::string& path) {
  return is_image_format(path) && format_to_read(path) == FileFormat::nifti;
}

VectorNifti read_vector_header(const std::string& path) {
  VectorNifti file;
  file.header = read_nifti_header(path);
  const Eigen::Vector3d lps = file.header.qform.translation();
  file.qform_offset = {-lps[0], -lps[1], lps[2]};
  // After the header: whether there are extensions, and of the first its size and code.
  const std::size_t header_bytes = file.header.version == 1 ? 348 : 540;
  std::vector<unsigned char> raw(header_bytes + 12);
  ByteSource(path, file.header.header_path).read(raw.data(), raw.size());
  const unsigned char* const extension = raw.data() + header_bytes;
  file.by_afni =
      extension[0] != 0 && load<std::int32_t>(extension + 8, file.header.swapped) == afni_extension;
  return file;
}

VectorNifti require_vectors(const std::string& path) {
  VectorNifti file = read_vector_header(path);
  if (!file.four_dimensional() && !file.five_dimensional())
    fail_reading(path, "it is no field of 3-vectors (x, y, z, 3 or x, y, z, 1, 3)");
  require_volume(path, file.header.extent());
  require_millimetres(file.header);
  return file;
}

void write_vectors(const std::string& path, const Geometry& grid, const std::vector<float>& planes,
                   const VectorStyle& style) {
  if (!has_extension(path, ".nii.gz") && !has_extension(path, ".nii"))
    fail_writing(path, "fields of this format are written as .nii or .nii.gz");
  if (!std::ranges::all_of(planes, [](float v) { return std::isfinite(v); }))
    fail_writing(path, "the transform has numbers that are not finite");
  NiftiLayout layout;
  layout.dimensions = style.dimensions;
  layout.size[style.dimensions == 5 ? 1 : 0] = 3;
  layout.intent_code = style.intent_code;
  layout.intent_name = style.intent_name;
  layout.intent_p[0] = style.intent_p1;
  layout.step = {1, 1, 1, 1};
  layout.oriented = style.oriented;
  NiftiWriter writer(path, grid, layout);
  writer.write(planes.data(), planes.size() * sizeof(float));
  writer.close();
}

}  // namespace freeflow
