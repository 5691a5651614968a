#include <freeflow/io/itk_image_io.h>

#include <itkMetaDataObject.h>
#include <itkMetaImageIO.h>
#include <itkNiftiImageIO.h>
#include <itkNrrdImageIO.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>
#include <utility>

#include <freeflow/io/decimal_point.h>
#include <freeflow/io/fresh_memory.h>
#include <freeflow/io/itk_mutex.h>
#include <freeflow/io/raw_data_check.h>
#include <freeflow/io/write_error.h>

namespace freeflow {

namespace {

using ComponentType = itk::ImageIOBase::IOComponentType;

itk::ImageIOBase::Pointer make_io(const std::string& path, FileFormat format) {
  const std::lock_guard lock(itk_mutex());
  itk::ImageIOBase::Pointer io;
  switch (format) {
    case FileFormat::nifti: io = itk::NiftiImageIO::New().GetPointer(); break;
    case FileFormat::metaimage: io = itk::MetaImageIO::New().GetPointer(); break;
    case FileFormat::nrrd: io = itk::NrrdImageIO::New().GetPointer(); break;
    case FileFormat::mgh: throw InvalidArgument("ITK does not read MGH files");
  }
  io->SetFileName(path);
  return io;
}

/// The same with the file's header read.
itk::ImageIOBase::Pointer open_io(const std::string& path, FileFormat format) {
  itk::ImageIOBase::Pointer io = make_io(path, format);
  const std::lock_guard lock(itk_mutex());
  io->ReadImageInformation();
  return io;
}

/// What ITK says, without class names, addresses, call stacks and line breaks.
std::string reason_of(const itk::ExceptionObject& error) {
  std::string text = error.GetDescription();
  if (text.find("Reason: Success") != std::string::npos) return "ITK cannot parse its header";
  if (text.find("#independent axes") != std::string::npos)
    return "its fourth axis is of no kind that ITK takes; call it list among its kinds, as 3D "
           "Slicer's sequences do";
  if (const auto innermost = text.rfind("[nrrd] "); innermost != std::string::npos)
    text.erase(0, text.find(": ", innermost) + 2);
  if (const auto end = text.find("): ");
      text.starts_with("ITK ERROR: ") && end != std::string::npos)
    text.erase(0, end + 3);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return "ITK says: " + text;
}

std::optional<StoredType> stored_type_of(ComponentType type) {
  constexpr std::pair<ComponentType, StoredType> table[] = {
      {ComponentType::UCHAR, StoredType::uint8},      {ComponentType::CHAR, StoredType::int8},
      {ComponentType::USHORT, StoredType::uint16},    {ComponentType::SHORT, StoredType::int16},
      {ComponentType::UINT, StoredType::uint32},      {ComponentType::INT, StoredType::int32},
      {ComponentType::ULONG, StoredType::uint64},     {ComponentType::LONG, StoredType::int64},
      {ComponentType::FLOAT, StoredType::float32},    {ComponentType::DOUBLE, StoredType::float64},
      {ComponentType::ULONGLONG, StoredType::uint64}, {ComponentType::LONGLONG, StoredType::int64}};
  for (const auto& [itk_type, stored] : table)
    if (itk_type == type) return stored;
  return std::nullopt;
}

StoredType require_stored_type(const std::string& path, ComponentType type) {
  if (const std::optional<StoredType> stored = stored_type_of(type)) return *stored;
  fail_reading(path, "its voxel type is not supported; save it as float");
}

ComponentType component_type(StoredType type) {
  switch (type) {
    case StoredType::uint8: return ComponentType::UCHAR;
    case StoredType::int8: return ComponentType::CHAR;
    case StoredType::uint16: return ComponentType::USHORT;
    case StoredType::int16: return ComponentType::SHORT;
    case StoredType::uint32: return ComponentType::UINT;
    case StoredType::int32: return ComponentType::INT;
    case StoredType::uint64: return ComponentType::ULONG;
    case StoredType::int64: return ComponentType::LONG;
    case StoredType::float32: return ComponentType::FLOAT;
    case StoredType::float64: return ComponentType::DOUBLE;
  }
  throw InvalidArgument("the stored type is not one of StoredType");
}

Geometry geometry_of(const std::string& path, itk::ImageIOBase& io) {
  Geometry geometry;
  // ITK may make other sizes of a damaged header than check_raw_data did.
  count_voxels(path,
               std::array{std::int64_t(io.GetDimensions(0)), std::int64_t(io.GetDimensions(1)),
                          std::int64_t(io.GetDimensions(2))});
  geometry.extent = {int(io.GetDimensions(0)), int(io.GetDimensions(1)), int(io.GetDimensions(2))};
  for (unsigned axis = 0; axis < 3; ++axis) {
    geometry.spacing[axis] = io.GetSpacing(axis);
    geometry.origin[axis] = io.GetOrigin(axis);
    const std::vector<double> direction = io.GetDirection(axis);
    for (unsigned row = 0; row < 3; ++row) geometry.direction(row, axis) = direction[row];
  }
  return geometry;
}

itk::ImageIORegion whole_region(itk::ImageIOBase& io) {
  itk::ImageIORegion region(io.GetNumberOfDimensions());
  for (unsigned axis = 0; axis < io.GetNumberOfDimensions(); ++axis)
    region.SetSize(axis, io.GetDimensions(axis));
  return region;
}

void require_three_dimensions(const std::string& path, itk::ImageIOBase& io) {
  const unsigned dimensions = io.GetNumberOfDimensions();
  if (dimensions < 3)
    fail_reading(path, "it has " + std::to_string(dimensions) + " dimensions; three are needed");
}

int volumes_of(const std::string& path, itk::ImageIOBase& io) {
  for (unsigned axis = 4; axis < io.GetNumberOfDimensions(); ++axis)
    if (io.GetDimensions(axis) != 1) fail_reading(path, "it has more than four dimensions");
  return io.GetNumberOfDimensions() > 3 ? int(io.GetDimensions(3)) : 1;
}

bool is_coloured(itk::ImageIOBase& io) {
  using Pixel = itk::ImageIOBase::IOPixelType;
  return io.GetPixelType() == Pixel::RGB || io.GetPixelType() == Pixel::RGBA;
}

void require_content(const std::string& path, itk::ImageIOBase& io, ImageContent content) {
  if (io.GetPixelType() == itk::ImageIOBase::IOPixelType::COMPLEX)
    fail_reading(path, "its voxels are complex numbers; save their magnitude as a scalar image");
  if (content == ImageContent::any) return;
  if (const int volumes = volumes_of(path, io); volumes != 1)
    fail_reading(path, "it holds " + std::to_string(volumes) + " volumes; extract one of them");
  if (is_coloured(io)) fail_reading(path, "its voxels are RGB colours; save a scalar image");
}

void require_size(const std::string& path, itk::ImageIOBase& io, std::uint64_t bytes) {
  std::vector<std::int64_t> sizes;
  for (unsigned axis = 0; axis < io.GetNumberOfDimensions(); ++axis)
    sizes.push_back(std::int64_t(io.GetDimensions(axis)));
  count_voxels(path, sizes);  // so that the product of the next line is none that wrapped around
  if (std::uint64_t(io.GetImageSizeInBytes()) > bytes)  // less: ITK leaves out masks of tensors
    fail_reading(path, "its header is damaged: it says in two ways how many voxels there are");
}

constexpr const char* measurement_frame = "NRRD_measurement frame";

/// Other keys that begin with NRRD_ are of the file itself, those with ITK_ of ITK.
NrrdNotes notes_of(itk::ImageIOBase& io) {
  const itk::MetaDataDictionary& keys = io.GetMetaDataDictionary();
  NrrdNotes notes;
  notes.tensors = io.GetPixelType() == itk::ImageIOBase::IOPixelType::SYMMETRICSECONDRANKTENSOR;
  notes.volumes = nrrd_lists_images(io.GetFileName());
  itk::ExposeMetaData(keys, measurement_frame, notes.measurement_frame);
  const auto is_of_space = [](const std::vector<double>& row) { return row.size() == 3; };
  if (notes.measurement_frame.size() != 3 ||
      !std::ranges::all_of(notes.measurement_frame, is_of_space))
    notes.measurement_frame.clear();  // ITK would read beyond it
  for (const std::string& key : keys.GetKeys())
    if (std::string text; !key.starts_with("NRRD_") && !key.starts_with("ITK_") &&
                          itk::ExposeMetaData(keys, key, text))
      notes.texts.emplace(key, text);
  // What names no frame is in the axes of the file's space, of which ITK makes LPS.
  const bool in_axes = notes.measurement_frame.empty() && (notes.tensors || notes.has_gradients());
  if (in_axes && is_nrrd_in_ras(io.GetFileName()))
    notes.measurement_frame = {{-1, 0, 0}, {0, -1, 0}, {0, 0, 1}};
  return notes;
}

/// 3D Slicer cuts a segment off at the extent that a segmentation gives it, in voxels of a grid
/// that may be another by now: on this one it may fill all.
std::string on_grid(const std::string& key, const std::string& text, const Extent& n) {
  if (key == "Segmentation_ReferenceImageExtentOffset") return "0 0 0";
  if (!key.starts_with("Segment") || !key.ends_with("_Extent")) return text;
  std::string whole;
  for (const int size : {n.x, n.y, n.z})
    whole += (whole.empty() ? "0 " : " 0 ") + std::to_string(size - 1);
  return whole;
}

/// What 3D Slicer's sequences say of the axis that lists images, which ITK writes as the first.
std::string on_first_axis(const std::string& key) {
  const std::size_t index = key.find(" index ");
  return key.starts_with("axis ") && index != std::string::npos ? "axis 0" + key.substr(index)
                                                                : key;
}

/// ITK calls the values of a voxel a vector, be they of as many images.
void call_list(const std::string& path) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  const std::string before = "kinds: ", vector = "vector";
  std::streamoff at = 0;
  for (std::string line; std::getline(file, line) && !line.empty();
       at += std::streamoff(line.size()) + 1) {
    if (!line.starts_with(before + vector)) continue;
    file.seekp(at + std::streamoff(before.size()));
    if (!(file << "list  " << std::flush)) fail_cut_short(path);
    return;
  }
}

/// ITK gives a frame as many axes as the image, which space has not where there are volumes.
void add_notes(itk::MetaDataDictionary& keys, const StoredLayout& layout) {
  const NrrdNotes& notes = *layout.nrrd;
  if (!notes.measurement_frame.empty() && layout.volumes == 1)
    itk::EncapsulateMetaData(keys, measurement_frame, notes.measurement_frame);
  for (const auto& [key, text] : notes.texts)
    itk::EncapsulateMetaData(keys, notes.volumes ? on_first_axis(key) : key,
                             on_grid(key, text, layout.geometry.extent));
}

/// ITK's writers print to stderr when a file cannot be opened.
void require_writable(const std::string& path) {
  errno = 0;
  if (!std::ofstream(path, std::ios::binary)) fail_writing(path, errno);
}

}  // namespace

std::optional<Geometry> itk_geometry(const std::string& path, FileFormat format) {
  const DecimalPoint numbers;
  try {
    const auto io = open_io(path, format);
    require_three_dimensions(path, *io);
    return geometry_of(path, *io);
  } catch (const itk::ExceptionObject& error) {
    if (std::string(error.GetDescription()).find("orthonormal") != std::string::npos)
      return std::nullopt;
    fail_reading(path, reason_of(error));
  }
}

StoredHeader read_itk_header(const std::string& path, FileFormat format) {
  const DecimalPoint numbers;
  using Pixel = itk::ImageIOBase::IOPixelType;
  try {
    const auto io = open_io(path, format);
    StoredHeader header;
    for (unsigned axis = 0; axis < io->GetNumberOfDimensions(); ++axis)
      header.size.push_back(std::int64_t(io->GetDimensions(axis)));
    while (header.size.size() > 3 && header.size.back() == 1) header.size.pop_back();
    header.components = int(io->GetNumberOfComponents());
    const Pixel pixel = io->GetPixelType();
    header.voxels = pixel == Pixel::RGB       ? "RGB colours"
                    : pixel == Pixel::RGBA    ? "RGBA colours"
                    : pixel == Pixel::COMPLEX ? "complex numbers"
                    : header.components > 1   ? "vectors"
                                              : "scalars";
    header.stored_type = "an unknown type";
    for (const auto& [word, type] : stored_type_words)
      if (stored_type_of(io->GetComponentType()) == type) header.stored_type = word;
    if (header.size.size() >= 3) header.geometry = geometry_of(path, *io);
    return header;
  } catch (const itk::ExceptionObject& error) {
    fail_reading(path, reason_of(error));
  }
}

StoredImage read_itk_image(const std::string& path, FileFormat format, ImageContent content) {
  const std::uint64_t declared_bytes = check_raw_data(path, format);
  const DecimalPoint numbers;
  try {
    const auto io = open_io(path, format);
    require_three_dimensions(path, *io);
    require_content(path, *io, content);
    StoredImage image;
    image.geometry = geometry_of(path, *io);
    image.components = int(io->GetNumberOfComponents());
    image.volumes = volumes_of(path, *io);
    if (io->GetNumberOfDimensions() > 3 && usable_step(io->GetSpacing(3)))
      image.step = io->GetSpacing(3);
    if (format == FileFormat::nrrd) image.nrrd = notes_of(*io);
    image.colours = is_coloured(*io);
    image.stored_type = require_stored_type(path, io->GetComponentType());
    io->SetIORegion(whole_region(*io));
    // What ITK writes is what it made of the header, of which damage can have made two meanings.
    require_size(path, *io, declared_bytes);
    image.bytes = zeros<unsigned char>(std::size_t(io->GetImageSizeInBytes()));
    io->Read(image.bytes.data());
    return image;
  } catch (const itk::ExceptionObject& error) {
    fail_reading(path, reason_of(error));
  }
}

void write_itk_image(const std::string& path, FileFormat format, const StoredLayout& layout,
                     const void* values) {
  const DecimalPoint numbers;
  const Geometry& geometry = layout.geometry;
  const int components = layout.components;
  require_writable(path);
  try {
    const auto io = make_io(path, format);
    const unsigned dimensions = layout.volumes > 1 ? 4 : 3;
    io->SetNumberOfDimensions(dimensions);
    if (layout.volumes > 1) {
      io->SetDimensions(3, std::size_t(layout.volumes));
      io->SetSpacing(3, layout.step);
      io->SetOrigin(3, 0);
      io->SetDirection(3, std::vector<double>{0, 0, 0, 1});
    }
    for (unsigned axis = 0; axis < 3; ++axis) {
      io->SetDimensions(axis, std::size_t(geometry.extent[int(axis)]));
      io->SetSpacing(axis, geometry.spacing[axis]);
      io->SetOrigin(axis, geometry.origin[axis]);
      const Eigen::Vector3d column = geometry.direction.col(axis);
      std::vector<double> direction(column.data(), column.data() + 3);
      direction.resize(dimensions);
      io->SetDirection(axis, direction);
    }
    io->SetComponentType(component_type(layout.stored_type));
    io->SetNumberOfComponents(unsigned(components));
    using Pixel = itk::ImageIOBase::IOPixelType;
    io->SetPixelType(components == 1   ? Pixel::SCALAR
                     : !layout.colours ? Pixel::VECTOR
                     : components == 3 ? Pixel::RGB
                                       : Pixel::RGBA);
    if (layout.nrrd && format == FileFormat::nrrd) {
      add_notes(io->GetMetaDataDictionary(), layout);
      if (layout.nrrd->tensors) io->SetPixelType(Pixel::SYMMETRICSECONDRANKTENSOR);
    }
    io->SetUseCompression(false);
    io->SetIORegion(whole_region(*io));
    io->Write(values);
    if (layout.nrrd && layout.nrrd->volumes && format == FileFormat::nrrd) call_list(path);
  } catch (const itk::ExceptionObject&) {
    fail_cut_short(path);
  }
  // ITK's writers do not all report a full disk.
  std::error_code error;
  const auto expected = geometry.extent.count() * std::size_t(components) *
                        std::size_t(layout.volumes) * bytes_of(layout.stored_type);
  if (const auto bytes = std::filesystem::file_size(path, error); error || bytes < expected)
    fail_cut_short(path);
}

}  // namespace freeflow
