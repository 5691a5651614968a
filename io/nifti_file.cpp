#include <freeflow/io/nifti_file.h>

#include <algorithm>
#include <cctype>
#include <cmath>
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

/// The two files of an .hdr/.img pair share a stem, and capitals.
void name_files(NiftiHeader& header) {
  header.header_path = header.data_path = header.path;
  for (const std::string extension : {".hdr", ".img", ".img.gz"}) {
    if (!has_extension(header.path, extension)) continue;
    const std::string stem = header.path.substr(0, header.path.size() - extension.size());
    const bool capitals = std::isupper(static_cast<unsigned char>(header.path.back())) != 0;
    const std::string data = stem + (capitals ? ".IMG" : ".img"), gz = capitals ? ".GZ" : ".gz";
    header.header_path = stem + (capitals ? ".HDR" : ".hdr");
    std::error_code unreadable;  // what else is amiss is said by who opens it
    if (!std::filesystem::exists(header.header_path, unreadable) && !unreadable &&
        std::filesystem::exists(header.header_path + gz, unreadable))
      fail_compressed_header(header.path);
    const bool compressed = !std::filesystem::exists(data) && std::filesystem::exists(data + gz);
    header.data_path = compressed ? data + gz : data;
    return;
  }
}

void parse_sizes(NiftiHeader& header, const NiftiFields& fields) {
  constexpr std::int64_t most_volumes = 32767;
  const std::int64_t dimensions = fields.dim[0];
  if (dimensions < 1 || dimensions > 7)
    fail_reading(header.path, "its header declares " + std::to_string(dimensions) + " dimensions");
  header.dimensions = int(dimensions);
  std::copy_n(fields.dim.begin() + 1, dimensions, header.size.begin());
  count_voxels(header.path, std::span(header.size).first<3>());
  for (auto size = header.size.begin() + 3; size != header.size.end(); ++size) {
    if (*size < 1) fail_reading(header.path, "its header declares a dimension of no volumes");
    if (*size > most_volumes)
      fail_reading(header.path,
                   "its header declares a dimension of " + std::to_string(*size) + " volumes");
  }
}

/// What the values stand for.
void parse_meaning(NiftiHeader& header, const NiftiFields& fields) {
  header.intent_code = fields.intent_code;
  header.intent_name = fields.intent_name;
  std::copy(fields.intent_p.begin(), fields.intent_p.end(), header.intent_p.begin());
  std::copy_n(fields.pixdim.begin() + 4, header.step.size(), header.step.begin());
  header.units = fields.xyzt_units;
  // A slope of 0 means that the stored values are the values.
  if (fields.scl_slope != 0 && std::isfinite(fields.scl_slope)) {
    header.slope = fields.scl_slope;
    header.intercept = std::isfinite(fields.scl_inter) ? fields.scl_inter : 0;
  }
}

/// Of what type the values are and where in the file they begin.
void parse_storage(NiftiHeader& header, const NiftiFields& fields) {
  header.stored_type = stored_type_of(header.path, fields.datatype);
  header.colour_channels = fields.datatype == 128 ? 3 : fields.datatype == 2304 ? 4 : 1;
  const double offset = fields.vox_offset;
  const bool one_file = header.data_path == header.header_path;
  if (!std::isfinite(offset) || offset < 0 || offset > 2147483647)
    fail_reading(header.path, "its header declares no usable data offset");
  header.data_offset =
      std::max<std::uint64_t>(std::uint64_t(offset), one_file ? fields.header_bytes() : 0);
}

/// ITK's matrix library ends the program on numbers that are not finite, so they must not get
/// there.
void require_usable(const std::string& path, std::span<const double> numbers, const char* what) {
  constexpr double largest_mm = 1e9;  // farther off, products overflow as well
  for (const double number : numbers)
    if (!(std::abs(number) < largest_mm))
      fail_reading(path, std::string("its header declares a ") + what + " that is not finite");
}

Eigen::Affine3d qform_of(const NiftiFields& fields) {
  const Eigen::Vector3d bcd(fields.qform.data());
  // The root magnifies the rounding of floats: of a half turn it makes 3e-4 radians. So less than
  // this is nothing, as in NIfTI's own library.
  const double a_squared = 1 - bcd.squaredNorm();
  const double a = a_squared < 1e-7 ? 0 : std::sqrt(a_squared);
  Eigen::Affine3d ras = Eigen::Affine3d::Identity();
  const double handed = fields.pixdim[0] < 0 ? -1 : 1;
  ras.linear() =
      Eigen::Quaterniond(a, bcd[0], bcd[1], bcd[2]).normalized().toRotationMatrix() *
      Eigen::Vector3d(fields.pixdim[1], fields.pixdim[2], handed * fields.pixdim[3]).asDiagonal();
  ras.translation() = Eigen::Vector3d(fields.qform.data() + 3);
  return Eigen::Scaling(Eigen::Vector3d(-1, -1, 1)) * ras;
}

double mm_per_unit(int xyzt_units) {
  const int of_length = xyzt_units & 7;
  return of_length == 1 ? 1e3 : of_length == 3 ? 1e-3 : 1;  // metres, micrometres
}

void scale(std::span<double> lengths, double factor) {
  for (double& length : lengths) length *= factor;
}

void parse_orientation(NiftiHeader& header, NiftiFields fields) {
  header.mm_per_unit = mm_per_unit(header.units);
  scale(std::span(fields.pixdim).subspan<1, 3>(), header.mm_per_unit);
  scale(std::span(fields.qform).last<3>(), header.mm_per_unit);
  scale(fields.sform, header.mm_per_unit);
  header.qform_code = fields.qform_code;
  header.sform_code = fields.sform_code;
  require_usable(header.path, std::span(fields.pixdim).first<4>(), "voxel size");
  if (header.qform_code > 0) require_usable(header.path, fields.qform, "qform");
  if (header.sform_code > 0) require_usable(header.path, fields.sform, "sform");
  header.voxel_size = Eigen::Vector3d(fields.pixdim.data() + 1);
  header.qform = qform_of(fields);
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 4; ++column) {
      const double ras = fields.sform[4 * std::size_t(row) + std::size_t(column)];
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

const char* NiftiHeader::length_unit() const {
  return mm_per_unit > 1 ? "metres" : mm_per_unit < 1 ? "micrometres" : "millimetres";
}

std::uint64_t NiftiHeader::value_count() const {
  auto count = std::uint64_t(colour_channels);
  for (const std::int64_t axis_size : size) count *= std::uint64_t(axis_size);
  return count;
}

NiftiStart read_nifti_start(const std::string& path) {
  NiftiStart start;
  NiftiHeader& header = start.header;
  header.path = path;
  name_files(header);
  size_of_readable_file(header.header_path);
  size_of_readable_file(header.data_path);
  ByteSource source(path, header.header_path);
  if (source.compressed() && has_extension(path, ".nii"))
    fail_reading(path, "it is compressed (gzip), which its name must say: name it .nii.gz");
  start.fields = read_nifti_fields(source, path);
  header.version = start.fields.version;
  header.swapped = start.fields.swapped;
  parse_sizes(header, start.fields);
  parse_meaning(header, start.fields);
  parse_orientation(header, start.fields);
  return start;
}

NiftiHeader read_nifti_header(const std::string& path, NiftiColours colours) {
  const NiftiStart start = read_nifti_start(path);
  NiftiHeader header = start.header;
  parse_storage(header, start.fields);
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

void require_millimetres(const NiftiHeader& header) {
  if (header.mm_per_unit != 1)
    fail_reading(header.path, std::string("its lengths are in ") + header.length_unit() +
                                  "; convert it to millimetres, its vectors as well");
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
  if (header_.swapped) reverse_each(static_cast<unsigned char*>(target), count, value_bytes);
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
