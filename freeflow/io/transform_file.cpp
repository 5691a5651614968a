#include <freeflow/io/transform_file.h>

#include <itkAffineTransform.h>
#include <itkCompositeTransform.h>
#include <itkMatlabTransformIO.h>
#include <itkTransformFactory.h>
#include <itkTranslationTransform.h>
#include <itkTxtTransformIO.h>

#include <array>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iterator>

#include <freeflow/core/error.h>
#include <freeflow/io/file_checks.h>

namespace freeflow {

namespace {

using TransformIo = itk::TransformIOBaseTemplate<double>;
using Transform = itk::TransformBaseTemplate<double>;

bool is_text_format(const std::string& path) { return has_extension(path, ".tfm") || has_extension(path, ".txt"); }

TransformIo::Pointer make_io(const std::string& path) {
  itk::Object::GlobalWarningDisplayOff();  // the library never prints
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

/// ITK allocates whatever size a MATLAB v4 file declares: check that every matrix lies within the file and is one of doubles or floats.
void check_matlab_file(const std::string& path, std::uint64_t bytes) {
  std::ifstream in(path, std::ios::binary);
  std::array<std::int32_t, 5> head{};  // type, rows, columns, imaginary, length of the name
  std::uint64_t position = 0;
  while (position < bytes) {
    in.seekg(std::streamoff(position));
    const bool complete = bool(in.read(reinterpret_cast<char*>(head.data()), sizeof head));
    const auto [type, rows, columns, imaginary, name_bytes] = head;
    constexpr std::int32_t limit = 1 << 20;
    const bool plausible = (type == 0 || type == 10) && rows > 0 && columns > 0 && rows < limit && columns < limit && imaginary == 0 &&
                           name_bytes > 0 && name_bytes < 256;
    if (!complete || !plausible)
      fail_reading(path, "it is not a MATLAB v4 transform as ITK writes it (an FSL matrix must be converted first)");
    position += sizeof head + std::uint64_t(name_bytes) + std::uint64_t(rows) * std::uint64_t(columns) * (type == 0 ? 8 : 4);
  }
  if (position > bytes) fail_reading(path, "the file ends within its numbers");
}

void check_text_file(const std::string& path) {
  std::ifstream in(path);
  std::string first(23, '\0');
  in.read(first.data(), std::streamsize(first.size()));
  if (first != "#Insight Transform File") fail_reading(path, "it is not an ITK transform file ('#Insight Transform File')");
}

Eigen::Affine3d affine_of(const std::string& path, const Transform& transform) {
  Eigen::Affine3d affine = Eigen::Affine3d::Identity();
  if (const auto* linear = dynamic_cast<const itk::MatrixOffsetTransformBase<double, 3, 3>*>(&transform)) {
    for (int row = 0; row < 3; ++row) {
      for (int column = 0; column < 3; ++column) affine(row, column) = linear->GetMatrix()(unsigned(row), unsigned(column));
      affine(row, 3) = linear->GetOffset()[unsigned(row)];
    }
  } else if (const auto* translation = dynamic_cast<const itk::TranslationTransform<double, 3>*>(&transform)) {
    for (unsigned row = 0; row < 3; ++row) affine(row, 3) = translation->GetOffset()[row];
  } else {
    fail_reading(path, "it holds a " + transform.GetTransformTypeAsString() + ", but a linear 3-D transform is needed");
  }
  if (!affine.matrix().allFinite() || affine.linear().determinant() == 0) fail_reading(path, "its transform is singular or not finite");
  return affine;
}

bool is_known_format(const std::string& path) { return is_text_format(path) || has_extension(path, ".mat"); }

constexpr const char* unknown_format = "its extension names no known transform format; use .mat, .tfm or .txt (convert .h5 to one of them)";

}  // namespace

Eigen::Affine3d read_affine(const std::string& path) {
  const std::uint64_t bytes = size_of_readable_file(path);
  if (!is_known_format(path)) fail_reading(path, unknown_format);
  if (is_text_format(path))
    check_text_file(path);
  else
    check_matlab_file(path, bytes);
  try {
    const auto io = make_io(path);
    io->Read();
    const auto& transforms = io->GetReadTransformList();
    if (transforms.empty()) fail_reading(path, "it holds no transform");
    const bool composite = dynamic_cast<const itk::CompositeTransform<double, 3>*>(transforms.front().GetPointer()) != nullptr;
    if (!composite && transforms.size() > 1)
      fail_reading(path, "it holds " + std::to_string(transforms.size()) + " transforms that are not one composite; give them one by one");
    Eigen::Affine3d affine = Eigen::Affine3d::Identity();
    for (auto transform = std::next(transforms.begin(), composite ? 1 : 0); transform != transforms.end(); ++transform)
      affine = affine * affine_of(path, **transform);
    return affine;
  } catch (const IoError&) {
    throw;
  } catch (const std::exception&) {  // ITK's own, and what the standard library throws at names that ITK does not check
    fail_reading(path, "ITK finds no transform in it that it knows");
  }
}

void write_affine(const std::string& path, const Eigen::Affine3d& affine, const Eigen::Vector3d& center) {
  if (!is_known_format(path)) fail_writing(path, unknown_format);
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
    fail_writing(path, "its folder is missing or not writable");
  }
}

}  // namespace freeflow
