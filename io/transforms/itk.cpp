#include <freeflow/io/transforms/itk.h>

#include <itkAffineTransform.h>
#include <itkCompositeTransform.h>
#include <itkDisplacementFieldTransform.h>
#include <itkHDF5TransformIO.h>
#include <itkTranslationTransform.h>

#include <algorithm>
#include <exception>

#include <freeflow/core/error.h>
#include <freeflow/io/orientation.h>
#include <freeflow/io/transform_check.h>
#include <freeflow/io/transform_file.h>
#include <freeflow/io/transforms/chain.h>
#include <freeflow/io/transforms/vector_nifti.h>

namespace freeflow {

namespace {

using Base = itk::TransformBaseTemplate<double>;
using Linear = itk::MatrixOffsetTransformBase<double, 3, 3>;
using Field = itk::DisplacementFieldTransform<double, 3>;
using Composite = itk::CompositeTransform<double, 3>;

bool is_hdf5(const std::string& path) {
  return has_extension(path, ".h5") || has_extension(path, ".hdf5");
}

/// In double until the last step, so that a field that was written by write_hdf5 has its own bits.
HostField field_of(const std::string& path, const Field& transform,
                   std::vector<std::string>& warnings) {
  const Field::DisplacementFieldType* image = transform.GetDisplacementField();
  if (!image) fail_reading(path, "its displacement field is empty");
  Geometry grid;
  const auto size = image->GetBufferedRegion().GetSize();
  const std::array<std::int64_t, 3> sizes{std::int64_t(size[0]), std::int64_t(size[1]),
                                          std::int64_t(size[2])};
  count_voxels(path, sizes);
  grid.extent = {int(size[0]), int(size[1]), int(size[2])};
  require_volume(path, grid.extent);
  for (unsigned row = 0; row < 3; ++row) {
    grid.spacing[row] = image->GetSpacing()[row];
    grid.origin[row] = image->GetOrigin()[row];
    for (unsigned column = 0; column < 3; ++column)
      grid.direction(row, column) = image->GetDirection()(row, column);
  }
  make_orthonormal(path, grid, warnings);
  const Eigen::Matrix3d to_voxels = grid.world_to_index().linear();
  const Field::DisplacementFieldType::PixelType* vectors = image->GetBufferPointer();
  return make_field(path, grid, warnings, [&](std::size_t voxel, const Eigen::Vector3d&) {
    return Eigen::Vector3d(
        to_voxels * Eigen::Vector3d(vectors[voxel][0], vectors[voxel][1], vectors[voxel][2]));
  });
}

Eigen::Affine3d affine_of(const std::string& path, const Base& transform) {
  const auto* linear = dynamic_cast<const Linear*>(&transform);
  if (const auto* shift = dynamic_cast<const itk::TranslationTransform<double, 3>*>(&transform)) {
    const auto& offset = shift->GetOffset();
    return Eigen::Affine3d(Eigen::Translation3d(offset[0], offset[1], offset[2]));
  }
  if (!linear)
    fail_reading(path, "it holds a " + transform.GetTransformTypeAsString() +
                           ", which is neither linear nor a displacement field");
  Eigen::Affine3d affine = Eigen::Affine3d::Identity();
  for (unsigned row = 0; row < 3; ++row) {
    for (unsigned column = 0; column < 3; ++column)
      affine(row, column) = linear->GetMatrix()(row, column);
    affine(row, 3) = linear->GetOffset()[row];
  }
  if (!affine.matrix().allFinite() || affine.linear().determinant() == 0)
    fail_reading(path, "its transform is singular or not finite");
  return affine;
}

/// Chains of any order, which read_transform does not take.
HostTransform read_hdf5(const std::string& path) {
  check_hdf5_transform(path);
  HostTransform chain;
  try {
    const auto io = itk::HDF5TransformIOTemplate<double>::New();
    io->SetFileName(path);
    io->Read();
    auto& transforms = io->GetReadTransformList();
    if (transforms.empty()) fail_reading(path, "it holds no transform");
    if (dynamic_cast<const Composite*>(transforms.front().GetPointer()))
      transforms.pop_front();  // its parts follow it
    else if (transforms.size() > 1)
      fail_reading(path, "it holds " + std::to_string(transforms.size()) +
                             " transforms that are not one composite; give them one by one");
    for (const auto& part : transforms)
      if (const auto* field = dynamic_cast<const Field*>(part.GetPointer()))
        chain.steps.emplace_back(field_of(path, *field, chain.warnings));
      else
        chain.steps.emplace_back(affine_of(path, *part));
    std::reverse(chain.steps.begin(), chain.steps.end());  // the last is applied first
    return chain;
  } catch (const IoError&) {
    throw;
  } catch (const std::exception&) {
    fail_reading(path, "it is damaged, or ITK finds no transform in it that it knows");
  }
}

Composite::TransformType::Pointer itk_affine(const Eigen::Affine3d& affine) {
  const auto transform = itk::AffineTransform<double, 3>::New();
  itk::AffineTransform<double, 3>::MatrixType matrix;
  itk::AffineTransform<double, 3>::OutputVectorType offset;
  for (unsigned row = 0; row < 3; ++row) {
    for (unsigned column = 0; column < 3; ++column) matrix(row, column) = affine(row, column);
    offset[row] = affine(row, 3);
  }
  transform->SetMatrix(matrix);
  transform->SetOffset(offset);
  return transform.GetPointer();
}

Composite::TransformType::Pointer itk_field(const HostField& field) {
  const Geometry& grid = field.geometry;
  const auto image = Field::DisplacementFieldType::New();
  Field::DisplacementFieldType::SizeType size;
  Field::DisplacementFieldType::DirectionType direction;
  for (unsigned row = 0; row < 3; ++row)
    for (unsigned column = 0; column < 3; ++column)
      direction(row, column) = grid.direction(row, column);
  size[0] = itk::SizeValueType(grid.extent.x);
  size[1] = itk::SizeValueType(grid.extent.y);
  size[2] = itk::SizeValueType(grid.extent.z);
  image->SetRegions(size);
  image->SetSpacing(grid.spacing.data());
  image->SetOrigin(grid.origin.data());
  image->SetDirection(direction);
  image->Allocate();
  const Eigen::Matrix3d to_world = grid.index_to_world().linear();
  const std::size_t count = grid.extent.count();
  auto* vectors = image->GetBufferPointer();
  for_each_index(grid.extent, [&](std::size_t voxel, const Eigen::Vector3d&) {
    const Eigen::Vector3d u =
        to_world * Eigen::Vector3d(field.planes[voxel], field.planes[count + voxel],
                                   field.planes[2 * count + voxel]);
    for (unsigned component = 0; component < 3; ++component)
      vectors[voxel][component] = u[component];
  });
  const auto transform = Field::New();
  transform->SetDisplacementField(image);
  return transform.GetPointer();
}

/// Doubles, so that reading gives the field's bits back. One affine stands alone, as ANTs and ITK
/// write it; everything else is a composite, whose last part is applied first.
void write_hdf5(const std::string& path, const HostTransform& transform) {
  try {
    const auto io = itk::HDF5TransformIOTemplate<double>::New();
    io->SetFileName(path);
    io->SetUseCompression(true);
    const auto composite = Composite::New();
    for (const auto& step : transform.steps)
      if (const auto* field = std::get_if<HostField>(&step))
        composite->PrependTransform(itk_field(*field));
      else
        composite->PrependTransform(itk_affine(std::get<Eigen::Affine3d>(step)));
    if (composite->IsTransformQueueEmpty())
      composite->AddTransform(itk_affine(Eigen::Affine3d::Identity()));
    itk::HDF5TransformIOTemplate<double>::ConstTransformListType list;
    const bool one_affine = transform.steps.size() < 2 && composite->GetNthTransform(0)->IsLinear();
    if (one_affine)
      list.push_back(composite->GetNthTransformConstPointer(0));
    else
      list.push_back(composite.GetPointer());
    io->SetTransformList(list);
    io->Write();
  } catch (const std::exception&) {
    fail_writing(path, "its folder is missing or not writable, or the disk is full");
  }
}

void refuse_positions(const std::string& path, const HostField& field) {
  // SPM's fields have the same shape and hold RAS positions; in the units of `field`, voxels:
  const Eigen::Affine3d to_world = field.geometry.index_to_world();
  Eigen::Affine3d positions = swap_ras_lps() * to_world;
  positions = Eigen::Affine3d(to_world.linear().inverse()) * positions;
  if (spread_of(field.geometry.extent, field.planes, positions).looks_like_positions())
    fail_reading(path,
                 "its vectors are positions, as SPM writes them, not displacements; read it as "
                 "TransformFormat::spm");
}

}  // namespace

HostTransform read_itk(const std::string& path, const TransformContext&) {
  size_of_readable_file(path);
  if (is_hdf5(path)) return read_hdf5(path);
  if (is_nifti(path) && read_nifti_header(path).intent_name == "Mapping")
    fail_reading(path, "it is named \"Mapping\", which is SPM's; read it as TransformFormat::spm");
  FileTransform read = read_transform(path);
  HostTransform transform;
  if (read.displacement) {
    if (is_image_format(path)) refuse_positions(path, *read.displacement);
    transform.warnings = std::move(read.displacement->warnings);
    read.displacement->warnings.clear();
    transform.steps.emplace_back(std::move(*read.displacement));
  }
  if (!read.displacement || !read.affine.matrix().isIdentity(0))
    transform.steps.emplace_back(read.affine);
  return transform;
}

void write_itk(const std::string& path, const HostTransform& transform,
               const TransformContext& context) {
  if (is_hdf5(path)) return write_hdf5(path, transform);
  if (!is_image_format(path)) {
    const Eigen::Vector3d center =
        context.fixed ? context.fixed->center() : Eigen::Vector3d::Zero().eval();
    return write_affine(path, affine_to_write(path, transform), center);
  }
  const GridMap map = grid_map(path, transform, context);
  if (map.field && map.after.matrix().isIdentity(0))
    return write_displacement(path, map.grid, map.field->planes);
  const Eigen::Affine3d to_index = map.grid.world_to_index();
  std::vector<std::string> none;
  const HostField whole =
      make_field(path, map.grid, none, [&](std::size_t voxel, const Eigen::Vector3d& index) {
        return Eigen::Vector3d(to_index * map.position(voxel, index) - index);
      });
  write_displacement(path, whole.geometry, whole.planes);
}

}  // namespace freeflow
