#include <freeflow/io/nifti_file.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <future>
#include <span>
#include <system_error>
#include <type_traits>

#include <freeflow/io/byte_order.h>
#include <freeflow/io/byte_source.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/fresh_memory.h>

namespace freeflow {

namespace {

constexpr std::size_t header_bytes = 348;

StoredType stored_type_of(const std::string& path, int datatype) {
  switch (datatype) {
    case 2: return StoredType::uint8;
    case 4: return StoredType::int16;
    case 8: return StoredType::int32;
    case 16: return StoredType::float32;
    case 64: return StoredType::float64;
    case 256: return StoredType::int8;
    case 512: return StoredType::uint16;
    case 768: return StoredType::uint32;
    case 1024: return StoredType::int64;
    case 1280: return StoredType::uint64;
    case 32:
    case 1792:
      fail_reading(path, "its voxels are complex numbers; save their magnitude as a scalar image");
    case 128:
    case 2304: return StoredType::uint8;
    default:
      fail_reading(path, "its NIfTI data type " + std::to_string(datatype) +
                             " is not supported; save it as float32");
  }
}

/// The two files of an .hdr/.img pair share a stem.
void name_files(NiftiHeader& header) {
  header.header_path = header.data_path = header.path;
  for (const std::string extension : {".hdr", ".img", ".img.gz"}) {
    if (!has_extension(header.path, extension)) continue;
    const std::string stem = header.path.substr(0, header.path.size() - extension.size());
    header.header_path = stem + ".hdr";
    header.data_path = std::filesystem::exists(stem + ".img") ? stem + ".img" : stem + ".img.gz";
    return;
  }
}

/// True when the header is in the other byte order. Throws when it is no NIfTI-1 header.
bool find_byte_order(const std::string& path, const unsigned char* raw) {
  const bool swapped =
      load<std::int32_t>(raw, false) != 348 && load<std::int32_t>(raw, false) != 540;
  const auto declared_bytes = load<std::int32_t>(raw, swapped);
  if (declared_bytes == 540)
    fail_reading(path, "it is NIfTI-2, which is not supported; convert it to NIfTI-1");
  const char* magic = reinterpret_cast<const char*>(raw) + 344;
  const bool one_file = std::memcmp(magic, "n+1", 4) == 0;
  const bool two_files = std::memcmp(magic, "ni1", 4) == 0;
  if (declared_bytes == 348 && !one_file && !two_files && has_extension(path, ".hdr"))
    fail_reading(path, "it is an Analyze file, which has no orientation; convert it to NIfTI-1");
  if (declared_bytes != 348 || !(one_file || two_files))
    fail_reading(path, "it is not a NIfTI file");
  return swapped;
}

void parse_sizes(NiftiHeader& header, const unsigned char* raw) {
  header.dimensions = load<std::int16_t>(raw + 40, header.swapped);
  if (header.dimensions < 1 || header.dimensions > 7)
    fail_reading(header.path,
                 "its header declares " + std::to_string(header.dimensions) + " dimensions");
  for (int axis = 0; axis < header.dimensions; ++axis)
    header.size[std::size_t(axis)] = load<std::int16_t>(raw + 42 + 2 * axis, header.swapped);
  count_voxels(header.path, std::span(header.size).first<3>());
  if (std::any_of(header.size.begin() + 3, header.size.end(),
                  [](std::int64_t size) { return size < 1; }))
    fail_reading(header.path, "its header declares a dimension of no volumes");
}

/// What the values stand for.
void parse_meaning(NiftiHeader& header, const unsigned char* raw) {
  const auto real = [&](int offset) { return double(load<float>(raw + offset, header.swapped)); };
  header.intent_code = load<std::int16_t>(raw + 68, header.swapped);
  const char* name = reinterpret_cast<const char*>(raw) + 328;
  header.intent_name.assign(name, strnlen(name, 16));
  for (std::size_t i = 0; i < 3; ++i) header.intent_p[i] = float(real(56 + 4 * int(i)));
  for (std::size_t i = 0; i < 4; ++i) header.step[i] = float(real(92 + 4 * int(i)));
  header.units = raw[123];
  // NIfTI-1: a slope of 0 means that the stored values are the values.
  if (const double slope = real(112); slope != 0 && std::isfinite(slope)) {
    header.slope = slope;
    header.intercept = std::isfinite(real(116)) ? real(116) : 0;
  }
}

/// Of what type the values are and where in the file they begin.
void parse_storage(NiftiHeader& header, const unsigned char* raw) {
  const int datatype = load<std::int16_t>(raw + 70, header.swapped);
  header.stored_type = stored_type_of(header.path, datatype);
  header.colour_channels = datatype == 128 ? 3 : datatype == 2304 ? 4 : 1;
  const double offset = load<float>(raw + 108, header.swapped);
  const bool one_file = header.data_path == header.header_path;
  if (!std::isfinite(offset) || offset < 0 || offset > 2147483647)
    fail_reading(header.path, "its header declares no usable data offset");
  header.data_offset = std::max<std::uint64_t>(std::uint64_t(offset), one_file ? header_bytes : 0);
}

/// ITK's matrix library ends the program on numbers that are not finite, so they must not get
/// there.
void require_usable(const NiftiHeader& header, const unsigned char* raw, int offset, int count,
                    const char* what) {
  constexpr float largest_mm = 1e9f;  // farther off, products overflow as well
  for (int i = 0; i < count; ++i)
    if (!(std::abs(load<float>(raw + offset + 4 * i, header.swapped)) < largest_mm))
      fail_reading(header.path,
                   std::string("its header declares a ") + what + " that is not finite");
}

Eigen::Affine3d qform_of(const unsigned char* raw, bool swapped) {
  const auto real = [&](std::size_t offset) { return double(load<float>(raw + offset, swapped)); };
  const Eigen::Vector3d bcd(real(256), real(260), real(264));
  // The root magnifies the rounding of floats: of a half turn it makes 3e-4 radians. So less than
  // this is nothing, as in NIfTI's own library.
  const double a_squared = 1 - bcd.squaredNorm();
  const double a = a_squared < 1e-7 ? 0 : std::sqrt(a_squared);
  Eigen::Affine3d ras = Eigen::Affine3d::Identity();
  const double handed = real(76) < 0 ? -1 : 1;
  ras.linear() = Eigen::Quaterniond(a, bcd[0], bcd[1], bcd[2]).normalized().toRotationMatrix() *
                 Eigen::Vector3d(real(80), real(84), handed * real(88)).asDiagonal();
  ras.translation() = Eigen::Vector3d(real(268), real(272), real(276));
  return Eigen::Scaling(Eigen::Vector3d(-1, -1, 1)) * ras;
}

void parse_orientation(NiftiHeader& header, const unsigned char* raw) {
  header.qform_code = load<std::int16_t>(raw + 252, header.swapped);
  header.sform_code = load<std::int16_t>(raw + 254, header.swapped);
  require_usable(header, raw, 76, 4, "voxel size");  // pixdim 0 to 3
  if (header.qform_code > 0) require_usable(header, raw, 256, 6, "qform");
  if (header.sform_code > 0) require_usable(header, raw, 280, 12, "sform");
  // ITK 5.2 scales the voxel size of such a file but not its origin.
  if (const int length_unit = header.units & 7; length_unit == 1 || length_unit == 3)
    fail_reading(header.path, std::string("its lengths are in ") +
                                  (length_unit == 1 ? "metres" : "micrometres") +
                                  "; convert it to millimetres");
  for (int axis = 0; axis < 3; ++axis)
    header.voxel_size[axis] = load<float>(raw + 80 + 4 * axis, header.swapped);
  header.qform = qform_of(raw, header.swapped);
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 4; ++column) {
      const double ras = load<float>(raw + 280 + 16 * row + 4 * column, header.swapped);
      header.sform(row, column) = row < 2 ? -ras : ras;
    }
}

template <class T>
void convert(const unsigned char* bytes, std::size_t count, const NiftiHeader& header,
             float* target) {
  const bool scaled = header.slope != 1 || header.intercept != 0;
  for (std::size_t i = 0; i < count; ++i) {
    const T stored = load<T>(bytes + i * sizeof(T), false);
    target[i] = scaled ? float(header.slope * double(stored) + header.intercept) : float(stored);
  }
}

}  // namespace

std::uint64_t NiftiHeader::value_count() const {
  auto count = std::uint64_t(colour_channels);
  for (const std::int64_t axis_size : size) count *= std::uint64_t(axis_size);
  return count;
}

NiftiStart read_nifti_start(const std::string& path) {
  NiftiStart start;
  NiftiHeader& header = start.header;
  const unsigned char* raw = start.bytes.data();
  header.path = path;
  name_files(header);
  size_of_readable_file(header.header_path);
  size_of_readable_file(header.data_path);
  ByteSource source(path, header.header_path);
  if (source.compressed() && has_extension(path, ".nii"))
    fail_reading(path, "it is compressed (gzip), which its name must say: name it .nii.gz");
  if (source.read(start.bytes.data(), header_bytes) < header_bytes)
    fail_reading(path, "it ends within its header or is not a NIfTI file");
  header.swapped = find_byte_order(path, raw);
  parse_sizes(header, raw);
  parse_meaning(header, raw);
  parse_orientation(header, raw);
  return start;
}

NiftiHeader read_nifti_header(const std::string& path, NiftiColours colours) {
  const NiftiStart start = read_nifti_start(path);
  NiftiHeader header = start.header;
  parse_storage(header, start.bytes.data());
  if (header.colour_channels > 1 && colours == NiftiColours::refused)
    fail_reading(path, "its voxels are RGB colours; save a scalar image");
  const std::uint64_t data_bytes = size_of_readable_file(header.data_path);

  if (header.size[5] != 1 || header.size[6] != 1 || header.size[3] * header.size[4] > 32767)
    fail_reading(path, "it has too many dimensions for an image or a displacement field");
  const bool compressed = ByteSource(path, header.data_path).compressed();
  const std::uint64_t skipped = compressed ? 0 : std::min(header.data_offset, data_bytes);
  check_size(path, header.value_count(), bytes_of(header.stored_type), data_bytes - skipped,
             compressed);
  return header;
}

NiftiStream::NiftiStream(const NiftiHeader& header)
    : header_(header), source_(header.path, header.data_path) {
  source_.skip(header.data_offset);
}

void NiftiStream::read(void* target, std::size_t count) {
  const std::size_t value_bytes = bytes_of(header_.stored_type);
  const std::size_t present = source_.read(target, count * value_bytes) / value_bytes;
  if (present < count) fail_truncated(header_.path, done_ + present, header_.value_count());
  done_ += count;
  if (!header_.swapped) return;
  auto* bytes = static_cast<unsigned char*>(target);
  for (std::size_t i = 0; i < count * value_bytes; i += value_bytes)
    std::reverse(bytes + i, bytes + i + value_bytes);
}

void NiftiStream::finish() {
  if (!source_.read_to_end())
    fail_reading(header_.path, "file ends within the checksum of its compressed data");
}

namespace {

/// On a thread of its own; where there are no more, when its result is asked for.
template <class F>
std::future<void> started(const F& f) {
  try {
    return std::async(std::launch::async, f);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, f);
  }
}

}  // namespace

std::vector<float> read_nifti_values(const NiftiHeader& header) {
  constexpr std::size_t most = std::size_t(1) << 19;  // values at a time
  const std::size_t count = header.value_count(), value_bytes = bytes_of(header.stored_type);
  std::vector<float> values = room_for<float>(count);
  NiftiStream stream(header);
  // One block is read and inflated while the one before it becomes floats.
  std::vector<unsigned char> block(std::min(most, count) * value_bytes), next(block.size());
  std::vector<float> floats(std::min(most, count));
  stream.read(block.data(), floats.size());
  for (std::size_t done = 0; done < count;) {
    const std::size_t here = std::min(most, count - done);
    done += here;
    std::future<void> reading;
    if (done < count)
      reading = started([&stream, &next, ahead = std::min(most, count - done)] {
        stream.read(next.data(), ahead);
      });
    with_stored_type(header.stored_type, [&](auto type) {
      convert<decltype(type)>(block.data(), here, header, floats.data());
    });
    values.insert(values.end(), floats.begin(), floats.begin() + std::ptrdiff_t(here));
    if (reading.valid()) reading.get();
    block.swap(next);
  }
  stream.finish();
  return values;
}

std::vector<unsigned char> read_nifti_bytes(const NiftiHeader& header) {
  std::vector<unsigned char> values(header.value_count() * bytes_of(header.stored_type));
  NiftiStream stream(header);
  stream.read(values.data(), header.value_count());
  stream.finish();
  return values;
}

}  // namespace freeflow
