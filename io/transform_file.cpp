#include <freeflow/io/transform_file.h>

#include <itkAffineTransform.h>
#include <itkCompositeTransform.h>
#include <itkDisplacementFieldTransform.h>
#include <itkMatlabTransformIO.h>
#include <itkTransformFactory.h>
#include <itkTranslationTransform.h>
#include <itkTxtTransformIO.h>

#include <array>
#include <cstdint>
#include <exception>

#include <freeflow/core/error.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/nifti_file.h>
#include <freeflow/io/orientation.h>
#include <freeflow/io/transform_check.h>
#include <freeflow/io/transforms/hdf5.h>
#include <freeflow/io/write_error.h>

namespace freeflow {

namespace {

using TransformIo = itk::TransformIOBaseTemplate<double>;
using Transform = itk::TransformBaseTemplate<double>;

bool is_hdf5(const std::string& path) {
  return has_extension(path, ".h5") || has_extension(path, ".hdf5");
}
bool is_text_format(const std::string& path) {
  return has_extension(path, ".tfm") || has_extension(path, ".txt");
}

TransformIo::Pointer make_io(const std::string& path) {
  // ANTs has written affines under the name of the base class, which ITK's own list lacks.
  itk::TransformFactory<itk::MatrixOffsetTransformBase<double, 3, 3>>::RegisterTransform();
  TransformIo::Pointer io;
  if (is_text_format(path))
    io = itk::TxtTransformIOTemplate<double>::New().GetPointer();
  else
    io = itk::MatlabTransformIOTemplate<double>::New().GetPointer();
  io->SetFileName(path);
  return io;
}

Eigen::Affine3d affine_of(const std::string& path, const Transform& transform) {
  Eigen::Affine3d affine = Eigen::Affine3d::Identity();
  if (const auto* linear =
          dynamic_cast<const itk::MatrixOffsetTransformBase<double, 3, 3>*>(&transform)) {
    for (int row = 0; row < 3; ++row) {
      for (int column = 0; column < 3; ++column)
        affine(row, column) = linear->GetMatrix()(unsigned(row), unsigned(column));
      affine(row, 3) = linear->GetOffset()[unsigned(row)];
    }
  } else if (const auto* translation =
                 dynamic_cast<const itk::TranslationTransform<double, 3>*>(&transform)) {
    for (unsigned row = 0; row < 3; ++row) affine(row, 3) = translation->GetOffset()[row];
  } else {
    fail_reading(path, "it holds a " + transform.GetTransformTypeAsString() +
                           ", but a linear 3-D transform is needed");
  }
  if (!affine.matrix().allFinite() || affine.linear().determinant() == 0)
    fail_reading(path, "its transform is singular or not finite");
  return affine;
}

using ItkField = itk::DisplacementFieldTransform<double, 3>;

HostField field_of(const std::string& path, const ItkField& transform) {
  const ItkField::DisplacementFieldType* image = transform.GetDisplacementField();
  if (!image) fail_reading(path, "its displacement field is empty");
  HostField field;
  Geometry& grid = field.geometry;
  const auto size = image->GetBufferedRegion().GetSize();
  const std::array<std::int64_t, 3> sizes{std::int64_t(size[0]), std::int64_t(size[1]),
                                          std::int64_t(size[2])};
  const std::size_t count = count_voxels(path, sizes);
  grid.extent = {int(size[0]), int(size[1]), int(size[2])};
  require_volume(path, grid.extent);
  for (unsigned row = 0; row < 3; ++row) {
    grid.spacing[row] = image->GetSpacing()[row];
    grid.origin[row] = image->GetOrigin()[row];
    for (unsigned column = 0; column < 3; ++column)
      grid.direction(row, column) = image->GetDirection()(row, column);
  }
  make_orthonormal(path, grid, field.warnings);
  field.planes.resize(3 * count);
  const ItkField::DisplacementFieldType::PixelType* vectors = image->GetBufferPointer();
  for (std::size_t voxel = 0; voxel < count; ++voxel)
    for (unsigned component = 0; component < 3; ++component)
      field.planes[component * count + voxel] = float(vectors[voxel][component]);
  to_voxels(path, field);
  return field;
}

/// Transforms of one composite, the last of which is applied first.
template <class Transforms>
FileTransform chained(const std::string& path, const Transforms& transforms) {
  FileTransform chain;
  for (auto transform = transforms.begin(); transform != transforms.end(); ++transform) {
    const auto* field = dynamic_cast<const ItkField*>(transform->GetPointer());
    if (!field) {
      if (chain.displacement)
        fail_reading(path,
                     "it maps linearly before it displaces; only the other order can be used");
      chain.affine = chain.affine * affine_of(path, **transform);
    } else if (chain.displacement) {
      fail_reading(path, "it holds two displacement fields; compose them first");
    } else {
      chain.displacement = field_of(path, *field);
    }
  }
  return chain;
}

/// x -> affine(x + u(x)), if it is of that form.
FileTransform displaced_then_mapped(const std::string& path, HostTransform chain) {
  FileTransform transform;
  bool mapped = false;
  for (auto& step : chain.steps) {
    if (const auto* affine = std::get_if<Eigen::Affine3d>(&step)) {
      transform.affine = *affine * transform.affine;
      mapped = true;
      continue;
    }
    if (transform.displacement)
      fail_reading(path, "it holds two displacement fields; compose them first");
    if (mapped)
      fail_reading(path, "it maps linearly before it displaces; only the other order can be used");
    transform.displacement = std::move(std::get<HostField>(step));
    transform.displacement->warnings = chain.warnings;
  }
  return transform;
}

bool is_known_format(const std::string& path) {
  return is_text_format(path) || is_hdf5(path) || has_extension(path, ".mat");
}

constexpr const char* unknown_format =
    "its extension names no known transform format; use .mat, .tfm, .txt or .h5";

FileTransform read_itk_transform(const std::string& path, std::uint64_t bytes) {
  if (is_hdf5(path)) return displaced_then_mapped(path, read_hdf5(path));
  if (is_text_format(path))
    check_text_transform(path);
  else
    check_matlab_transform(path, bytes);
  try {
    const auto io = make_io(path);
    io->Read();
    auto& transforms = io->GetReadTransformList();
    if (transforms.empty()) fail_reading(path, "it holds no transform");
    if (dynamic_cast<const itk::CompositeTransform<double, 3>*>(transforms.front().GetPointer()))
      transforms.pop_front();  // its parts follow it
    else if (transforms.size() > 1)
      fail_reading(path, "it holds " + std::to_string(transforms.size()) +
                             " transforms that are not one composite; give them one by one");
    if (transforms.empty()) fail_reading(path, "it holds a composite of no transform");
    return chained(path, transforms);
  } catch (const IoError&) {
    throw;
  } catch (const std::exception&) {  // ITK's own, and what the standard library throws at names
                                     // that ITK does not check
    fail_reading(path, "ITK finds no transform in it that it knows");
  }
}

}  // namespace

bool is_transform_file(const std::string& path) {
  if (is_known_format(path)) return true;
  return is_image_format(path) && format_to_read(path) == FileFormat::nifti &&
         read_nifti_header(path).size[4] == 3;
}

FileTransform read_transform(const std::string& path) {
  const std::uint64_t bytes = size_of_readable_file(path);
  if (is_known_format(path)) return read_itk_transform(path, bytes);
  if (!is_image_format(path))
    fail_reading(path,
                 std::string(unknown_format) + ", or an image format for a displacement field");
  return {Eigen::Affine3d::Identity(), read_displacement(path)};
}

Eigen::Affine3d read_affine(const std::string& path) {
  const std::uint64_t bytes = size_of_readable_file(path);
  if (!is_known_format(path)) fail_reading(path, unknown_format);
  const FileTransform transform = read_itk_transform(path, bytes);
  if (transform.displacement)
    fail_reading(path, "it holds a displacement field, but a linear 3-D transform is needed");
  return transform.affine;
}

void write_affine(const std::string& path, const Eigen::Affine3d& affine,
                  const Eigen::Vector3d& center) {
  if (!is_known_format(path)) fail_writing(path, unknown_format);
  if (is_hdf5(path)) return write_hdf5(path, {{affine}, {}});
  using Affine = itk::AffineTransform<double, 3>;
  Affine::MatrixType matrix;
  Affine::InputPointType point;
  Affine::OutputVectorType offset;
  for (unsigned row = 0; row < 3; ++row) {
    for (unsigned column = 0; column < 3; ++column) matrix(row, column) = affine(row, column);
    point[row] = center[row];
    offset[row] = affine(row, 3);
  }
  const auto transform = Affine::New();
  transform->SetCenter(point);
  transform->SetMatrix(matrix);
  transform->SetOffset(offset);
  try {
    const auto io = make_io(path);
    TransformIo::ConstTransformListType transforms{transform.GetPointer()};
    io->SetTransformList(transforms);
    io->Write();
  } catch (const itk::ExceptionObject&) {
    fail_cut_short(path);
  }
  // ITK does not say that the disk was full.
  try {
    if (read_affine(path).isApprox(affine, 1e-9)) return;
  } catch (const IoError&) {
  }
  fail_cut_short(path);
}

}  // namespace freeflow
