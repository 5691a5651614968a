#include <freeflow/io/transform_file.h>

#include <itkAffineTransform.h>
#include <itkMatlabTransformIO.h>
#include <itkTxtTransformIO.h>

#include <cstdint>
#include <mutex>
#include <utility>
#include <variant>

#include <freeflow/core/error.h>
#include <freeflow/io/decimal_point.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/itk_mutex.h>
#include <freeflow/io/nifti_file.h>
#include <freeflow/io/transform_check.h>
#include <freeflow/io/transforms/hdf5.h>
#include <freeflow/io/write_error.h>

namespace freeflow {

namespace {

using TransformIo = itk::TransformIOBaseTemplate<double>;

bool is_hdf5(const std::string& path) {
  return has_extension(path, ".h5") || has_extension(path, ".hdf5");
}
bool is_text_format(const std::string& path) {
  return has_extension(path, ".tfm") || has_extension(path, ".txt");
}

TransformIo::Pointer make_io(const std::string& path) {
  TransformIo::Pointer io;
  if (is_text_format(path))
    io = itk::TxtTransformIOTemplate<double>::New().GetPointer();
  else
    io = itk::MatlabTransformIOTemplate<double>::New().GetPointer();
  io->SetFileName(path);
  return io;
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
      fail_reading(path,
                   "it holds two displacement fields; regtool compose -r FIXED -t FILE -o "
                   "FIELD.nii.gz makes one of them");
    if (mapped)
      fail_reading(
          path,
          "it maps linearly before it displaces; only the other order can be used: regtool "
          "compose -r FIXED -t FILE -o FIELD.nii.gz makes one field of it");
    transform.displacement = std::move(std::get<HostField>(step));
    transform.displacement->warnings = chain.warnings;
  }
  if (!transform.affine.matrix().allFinite() || transform.affine.linear().determinant() == 0)
    fail_reading(path, "its transform is singular or not finite");
  return transform;
}

bool is_known_format(const std::string& path) {
  return is_text_format(path) || is_hdf5(path) || has_extension(path, ".mat");
}

constexpr const char* unknown_format =
    "its extension names no known transform format; use .mat, .tfm, .txt or .h5";

}  // namespace

HostTransform read_transform_chain(const std::string& path, const std::optional<Geometry>& fixed) {
  const std::uint64_t bytes = size_of_readable_file(path);
  if (!is_known_format(path)) fail_reading(path, unknown_format);
  const DecimalPoint numbers;
  if (is_hdf5(path)) return read_hdf5(path, fixed);
  return chain_of(
      path, is_text_format(path) ? read_text_transforms(path) : read_matlab_transforms(path, bytes),
      fixed);
}

bool is_transform_file(const std::string& path) {
  if (is_known_format(path)) return true;
  return is_image_format(path) && format_to_read(path) == FileFormat::nifti &&
         read_nifti_header(path).size[4] == 3;
}

FileTransform read_transform(const std::string& path, const std::optional<Geometry>& fixed) {
  size_of_readable_file(path);
  if (is_known_format(path)) return displaced_then_mapped(path, read_transform_chain(path, fixed));
  if (!is_image_format(path))
    fail_reading(path,
                 std::string(unknown_format) + ", or an image format for a displacement field");
  return {Eigen::Affine3d::Identity(), read_displacement(path)};
}

Eigen::Affine3d read_affine(const std::string& path) {
  // A spline is evaluated somewhere, to be refused as the displacement it is.
  const FileTransform transform =
      displaced_then_mapped(path, read_transform_chain(path, Geometry{{1, 1, 1}}));
  if (transform.displacement)
    fail_reading(path, "it holds a displacement field, but a linear 3-D transform is needed");
  return transform.affine;
}

void write_affine(const std::string& path, const Eigen::Affine3d& affine,
                  const Eigen::Vector3d& center) {
  const DecimalPoint numbers;
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
  try {
    const std::lock_guard lock(itk_mutex());
    const auto transform = Affine::New();
    transform->SetCenter(point);
    transform->SetMatrix(matrix);
    transform->SetOffset(offset);
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
