#include <freeflow/io/nifti_fields.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <freeflow/io/byte_order.h>
#include <freeflow/io/file_checks.h>

namespace freeflow {

namespace {

constexpr std::size_t bytes_of_1 = 348, bytes_of_2 = 540;
using HeaderBytes = std::array<unsigned char, bytes_of_2>;

bool begins_with_size(const HeaderBytes& raw, std::size_t bytes, bool swapped) {
  return load<std::int32_t>(raw.data(), swapped) == std::int32_t(bytes);
}

/// The end of a version's magic: "n+1" of one file, "ni1" of an .hdr and an .img.
bool has_magic(const unsigned char* magic, char version) {
  const char one_file[] = {'n', '+', version, '\0'}, two_files[] = {'n', 'i', version, '\0'};
  return std::memcmp(magic, one_file, 4) == 0 || std::memcmp(magic, two_files, 4) == 0;
}

/// Reads numbers of one type one after the other, and texts.
struct Reader {
  const HeaderBytes& raw;
  bool swapped;

  template <class T>
  T one(std::size_t offset) const {
    return load<T>(raw.data() + offset, swapped);
  }
  template <class T, class To, std::size_t N>
  void all(std::size_t offset, std::array<To, N>& to) const {
    for (std::size_t i = 0; i < N; ++i) to[i] = To(one<T>(offset + i * sizeof(T)));
  }
  std::string text(std::size_t offset, std::size_t most) const {
    const char* begin = reinterpret_cast<const char*>(raw.data()) + offset;
    return {begin, strnlen(begin, most)};
  }
};

NiftiFields fields_of_1(const Reader& from) {
  NiftiFields f;
  from.all<std::int16_t>(40, f.dim);
  from.all<float>(56, f.intent_p);
  f.intent_code = from.one<std::int16_t>(68);
  f.datatype = from.one<std::int16_t>(70);
  from.all<float>(76, f.pixdim);
  f.vox_offset = from.one<float>(108);
  f.scl_slope = from.one<float>(112);
  f.scl_inter = from.one<float>(116);
  f.xyzt_units = from.raw[123];
  f.qform_code = from.one<std::int16_t>(252);
  f.sform_code = from.one<std::int16_t>(254);
  from.all<float>(256, f.qform);
  from.all<float>(280, f.sform);
  f.intent_name = from.text(328, 16);
  return f;
}

NiftiFields fields_of_2(const Reader& from) {
  NiftiFields f;
  f.version = 2;
  f.datatype = from.one<std::int16_t>(12);
  from.all<std::int64_t>(16, f.dim);
  from.all<double>(80, f.intent_p);
  from.all<double>(104, f.pixdim);
  f.vox_offset = double(from.one<std::int64_t>(168));
  f.scl_slope = from.one<double>(176);
  f.scl_inter = from.one<double>(184);
  f.qform_code = from.one<std::int32_t>(344);
  f.sform_code = from.one<std::int32_t>(348);
  from.all<double>(352, f.qform);
  from.all<double>(400, f.sform);
  f.xyzt_units = static_cast<unsigned char>(from.one<std::int32_t>(500));
  f.intent_code = from.one<std::int32_t>(504);
  f.intent_name = from.text(508, 16);
  return f;
}

}  // namespace

NiftiFields read_nifti_fields(ByteSource& source, const std::string& path) {
  HeaderBytes raw{};
  const auto read = [&](std::size_t from, std::size_t to) {
    if (source.read(raw.data() + from, to - from) < to - from)
      fail_reading(path, "it ends within its header or is not a NIfTI file");
  };
  read(0, bytes_of_1);
  for (const bool swapped : {false, true}) {
    if (begins_with_size(raw, bytes_of_1, swapped)) {
      const bool two_files = has_extension(path, ".hdr") || has_extension(path, ".img") ||
                             has_extension(path, ".img.gz");
      if (!has_magic(raw.data() + 344, '1') && two_files)
        fail_reading(path,
                     "it is an Analyze file, which has no orientation; convert it to NIfTI-1");
      if (!has_magic(raw.data() + 344, '1')) break;
      NiftiFields fields = fields_of_1({raw, swapped});
      fields.swapped = swapped;
      return fields;
    }
    if (begins_with_size(raw, bytes_of_2, swapped) && has_magic(raw.data() + 4, '2')) {
      read(bytes_of_1, bytes_of_2);
      NiftiFields fields = fields_of_2({raw, swapped});
      fields.swapped = swapped;
      return fields;
    }
  }
  fail_reading(path, "it is not a NIfTI file");
}

}  // namespace freeflow
