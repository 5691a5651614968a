#include <freeflow/io/raw_data_check.h>

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

namespace freeflow {

namespace {

using Fields = std::map<std::string, std::string>;

/// Where a header says the voxels are, and how many.
struct DeclaredData {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t stored_bytes = 0;  // from the offset on, at most what the file has
  std::uint64_t voxels = 0;
  std::uint64_t voxel_bytes = 0;
  bool compressed = false;
};

std::string trimmed(const std::string& text) {
  const auto is_space = [](unsigned char c) { return std::isspace(c) != 0; };
  const auto first = std::find_if_not(text.begin(), text.end(), is_space);
  const auto last =
      std::find_if_not(text.rbegin(), std::make_reverse_iterator(first), is_space).base();
  return {first, last};
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

/// A header line. False at the end of the file; a line longer than any header has means that this
/// is no header.
bool next_line(std::istream& in, const std::string& path, std::string& line) {
  constexpr std::size_t longest_line = 1 << 16;
  line.clear();
  for (int c = in.get(); c != '\n'; c = in.get()) {
    if (!in) return !line.empty();
    line.push_back(char(c));
    if (line.size() > longest_line) fail_reading(path, "it has no header of its format");
  }
  return true;
}

std::string field(const Fields& fields, const std::string& name, const std::string& fallback = "") {
  const auto found = fields.find(name);
  return found == fields.end() ? fallback : found->second;
}

std::vector<std::int64_t> integers(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::int64_t> values;
  for (std::int64_t value; in >> value;) values.push_back(value);
  return values;
}

std::uint64_t bytes_after(const std::string& file, std::uint64_t offset) {
  const std::uint64_t bytes = size_of_readable_file(file);
  return bytes - std::min(offset, bytes);
}

/// A data file that is named in a header lies beside it. A pattern or a list means one file per
/// slice.
std::string beside(const std::string& path, const std::string& name) {
  if (name.starts_with("LIST") || name.find('%') != std::string::npos)
    fail_reading(path, "its voxels are spread over several files; save it as one file");
  if (one_line(name) != name)
    fail_reading(path, "its header is damaged: the file of its voxels is '" + name + "'");
  return (std::filesystem::path(path).parent_path() / name).string();
}

std::uint64_t metaimage_type_bytes(const std::string& path, const std::string& type) {
  static const std::map<std::string, std::uint64_t> table = {
      {"MET_CHAR", 1},      {"MET_UCHAR", 1},      {"MET_SHORT", 2}, {"MET_USHORT", 2},
      {"MET_INT", 4},       {"MET_UINT", 4},       {"MET_LONG", 4},  {"MET_ULONG", 4},
      {"MET_LONG_LONG", 8}, {"MET_ULONG_LONG", 8}, {"MET_FLOAT", 4}, {"MET_DOUBLE", 8}};
  const auto found = table.find(type);
  if (found == table.end())
    fail_reading(path, "its voxel type '" + type + "' is not supported; save it as float");
  return found->second;
}

/// Takes MetaIO's words; it reads any other as one of them.
bool is_true(const std::string& path, const Fields& fields, const std::string& name,
             const std::string& fallback) {
  const std::string word = lower(field(fields, name, fallback));
  const bool yes = word == "true" || word == "t" || word == "1" || word == "yes";
  const bool no = word == "false" || word == "f" || word == "0" || word == "no";
  if (!yes && !no)
    fail_reading(path, "its header is damaged: " + name + " = " + field(fields, name) +
                           " is neither True nor False");
  return yes;
}

/// Three numbers, of which MetaIO takes what there is and forgets the rest of the header.
void check_spacing(const std::string& path, const Fields& fields, const std::string& name,
                   std::size_t axes) {
  if (!fields.contains(name)) return;
  std::istringstream in(field(fields, name));
  std::vector<double> values;
  for (double value; in >> value;) values.push_back(value);
  if (values.size() < axes || !in.eof())
    fail_reading(path, "its header is damaged: " + name + " = " + field(fields, name) + " is not " +
                           std::to_string(axes) + " numbers");
}

bool is_text(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c == '\t' || std::iscntrl(c) == 0; });
}

/// As MetaIO takes a value: without the blanks before it and the end that other systems give a
/// line.
std::string without_blanks(std::string text) {
  if (text.ends_with('\r')) text.pop_back();
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

/// A line of a MetaImage's header. MetaIO copies names, and the values of some fields, into 255
/// bytes, takes no more than blanks from the ends of both, and sizes what follows by the NDims read
/// until then.
void add_metaimage_field(const std::string& path, const std::string& line, Fields& fields) {
  constexpr std::size_t longest = 254;
  const auto equals = line.find('=');
  if (equals == std::string::npos) fail_reading(path, "it is not a MetaImage");
  const std::string before = line.substr(0, equals), name = trimmed(before),
                    value = trimmed(line.substr(equals + 1)),
                    bare = without_blanks(line.substr(equals + 1));
  if (before.size() > longest || !is_text(before))
    fail_reading(path, "its header is damaged: a line begins with no field's name");
  for (const char* copied : {"Comment", "ObjectType", "ObjectSubType", "Name", "AcquisitionDate"})
    if (name == copied && bare.size() > longest)
      fail_reading(path, "its " + name + " has " + std::to_string(bare.size()) +
                             " characters; a MetaImage takes " + std::to_string(longest));
  if (name == "ElementDataFile" && !is_text(bare))
    fail_reading(path, "its header is damaged: the file of its voxels is '" + bare + "'");
  if (name == "NDims" && fields.contains(name))
    fail_reading(path, "its header is damaged: NDims stands there twice");
  fields[name] = value;
}

DeclaredData declared_by_metaimage(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  Fields fields;
  for (std::string line; !fields.contains("ElementDataFile") && next_line(in, path, line);)
    add_metaimage_field(path, line, fields);
  for (const char* name : {"NDims", "DimSize", "ElementType", "ElementDataFile"})
    if (!fields.contains(name))
      fail_reading(path, fields.size() < 3 ? "it is not a MetaImage"
                                           : std::string("its header lacks ") + name);
  for (const char* name : {"BinaryDataByteOrderMSB", "ElementByteOrderMSB"})
    is_true(path, fields, name, "False");
  if (!is_true(path, fields, "BinaryData", "True"))
    fail_reading(path, "its voxels are text; save it as binary");

  DeclaredData data;
  const auto channels = integers(field(fields, "ElementNumberOfChannels", "1"));
  const auto sizes = integers(field(fields, "DimSize"));
  if (std::to_string(sizes.size()) != field(fields, "NDims"))
    fail_reading(path, "its DimSize does not have NDims numbers");
  if (constexpr std::size_t most = 10; sizes.size() > most)  // MetaIO's arrays
    fail_reading(path, "its header declares " + std::to_string(sizes.size()) + " dimensions");
  data.voxels = count_voxels(path, sizes);
  data.voxel_bytes =
      metaimage_type_bytes(path, field(fields, "ElementType")) * count_voxels(path, channels);
  for (const char* name : {"ElementSpacing", "ElementSize", "Offset", "Origin", "Position"})
    check_spacing(path, fields, name, sizes.size());
  data.compressed = is_true(path, fields, "CompressedData", "False");
  const std::string name = field(fields, "ElementDataFile");
  const auto header_size = integers(field(fields, "HeaderSize", "0"));
  // MetaIO's three spellings: any other is a file's name to it
  if (name == "LOCAL" || name == "Local" || name == "local") {
    data.file = path;
    data.offset = std::uint64_t(in.tellg());
  } else {
    data.file = beside(path, name);
    if (!header_size.empty())
      // -1: at the file's end
      data.offset = std::uint64_t(std::max<std::int64_t>(header_size[0], 0));
  }
  data.stored_bytes = bytes_after(data.file, data.offset);
  if (data.compressed) {
    const auto compressed_bytes = integers(field(fields, "CompressedDataSize"));
    if (compressed_bytes.empty() || compressed_bytes[0] <= 0)
      fail_reading(
          path,
          "its header lacks the CompressedDataSize, without which ITK reads noise; save it again");
    data.stored_bytes = std::min(data.stored_bytes, std::uint64_t(compressed_bytes[0]));
  }
  return data;
}

std::uint64_t nrrd_type_bytes(const std::string& path, const std::string& type) {
  const auto has = [&](const char* word) { return type.find(word) != std::string::npos; };
  if (has("double") || has("longlong") || has("long long") || has("int64")) return 8;
  if (has("float") || has("int32")) return 4;
  if (has("short") || has("int16")) return 2;
  if (has("char") || has("int8")) return 1;
  if (has("int")) return 4;
  fail_reading(path, "its voxel type '" + type + "' is not supported; save it as float");
}

/// Three axes of space with a direction or a spacing each: teem takes a millimetre where there is
/// none.
void check_nrrd_axes(const std::string& path, const Fields& fields, std::size_t dimension) {
  const std::size_t needed = std::min<std::size_t>(3, dimension);
  const std::string directions = lower(field(fields, "space directions")),
                    spacings = lower(field(fields, "spacings"));
  std::istringstream words(spacings);
  std::size_t given = std::size_t(std::ranges::count(directions, '('));
  for (std::string word; directions.empty() && words >> word;) given += word != "nan";
  if ((directions.empty() && spacings.empty()) || given >= needed) return;
  fail_reading(path, "its header gives " + std::to_string(given) + " of its axes a " +
                         (directions.empty() ? "spacing" : "direction") +
                         "; three axes of space are needed");
}

/// Of a space, whose words stand together, or apart by dashes or blanks.
std::string letters_of(std::string space) {
  std::erase_if(space, [](char c) { return c == '-' || c == ' '; });
  return space;
}

/// ITK 5.2 turns images of these spaces by half a turn.
void refuse_nrrd_space(const std::string& path, const Fields& fields) {
  const std::string space = lower(field(fields, "space")), word = letters_of(space);
  if (word == "las" || word == "last" || word == "rast" ||
      word.starts_with("leftanteriorsuperior") || word == "rightanteriorsuperiortime")
    fail_reading(path, "its space is " + space +
                           ", which ITK reads wrongly; save it as left-posterior-superior");
}

/// Of which teem, ITK's reader, prints a line of its own on stderr and then names no size.
void refuse_nrrd_kind(const std::string& path, const Fields& fields) {
  if (lower(field(fields, "kinds")).find("3-gradient") != std::string::npos)
    fail_reading(path, "its kind 3-gradient is one that ITK cannot read; name it vector");
}

/// ITK's reader writes what it refuses, a file's name or a line of the header, into 1024 bytes and
/// does not look whether they fit.
void require_room_in_teem(const std::string& path, std::size_t characters, const char* what) {
  constexpr std::size_t most = 800;
  if (characters > most)
    fail_reading(path, std::string(what) + " of " + std::to_string(characters) +
                           " characters, and NRRD files can be read with up to " +
                           std::to_string(most));
}

bool next_nrrd_line(std::istream& in, const std::string& path, std::string& line) {
  if (!next_line(in, path, line)) return false;
  const bool free_text =
      line.starts_with('#') || lower(line).starts_with("content: ") || line.find(":=") != line.npos;
  if (!free_text) require_room_in_teem(path, line.size(), "its header has a line");
  return true;
}

/// Up to the voxels.
Fields nrrd_fields(std::istream& in, const std::string& path) {
  std::string line;
  if (!next_nrrd_line(in, path, line) || !line.starts_with("NRRD000"))
    fail_reading(path, "it is not an NRRD file");
  Fields fields;
  while (next_nrrd_line(in, path, line) && !trimmed(line).empty()) {
    if (const auto colon = line.find(": "); colon != std::string::npos && line[0] != '#')
      fields[lower(line.substr(0, colon))] = trimmed(line.substr(colon + 2));
  }
  return fields;
}

DeclaredData declared_by_nrrd(const std::string& path) {
  require_room_in_teem(path, path.size(), "it lies at a path");
  std::ifstream in(path, std::ios::binary);
  const Fields fields = nrrd_fields(in, path);
  const std::string encoding = lower(field(fields, "encoding"));
  if (encoding != "raw" && encoding != "gzip" && encoding != "gz")
    fail_reading(path, "its encoding '" + encoding + "' is not supported; save it as raw or gzip");
  if (field(fields, "line skip", "0") != "0" || field(fields, "lineskip", "0") != "0")
    fail_reading(path, "its 'line skip' is not supported; save it as one .nrrd file");

  DeclaredData data;
  data.compressed = encoding != "raw";
  data.voxel_bytes = nrrd_type_bytes(path, lower(field(fields, "type")));
  const auto sizes = integers(field(fields, "sizes"));
  if (sizes.empty()) fail_reading(path, "its header declares no sizes");
  data.voxels = count_voxels(path, sizes);
  check_nrrd_axes(path, fields, sizes.size());
  refuse_nrrd_space(path, fields);
  refuse_nrrd_kind(path, fields);
  const std::string name = field(fields, "data file", field(fields, "datafile"));
  data.file = name.empty() ? path : beside(path, name);
  require_room_in_teem(path, data.file.size(), "its data file lies at a path");
  if (name.empty()) data.offset = in ? std::uint64_t(in.tellg()) : size_of_readable_file(path);
  const auto skip = integers(field(fields, "byte skip", field(fields, "byteskip", "0")));
  if (!data.compressed && !skip.empty())
    data.offset += std::uint64_t(std::max<std::int64_t>(skip[0], 0));  // -1: at the file's end
  data.stored_bytes = bytes_after(data.file, data.offset);
  return data;
}

/// The bytes that a zlib stream at `offset` decompresses to, or a gzip stream of as many members as
/// there are. Throws when the stream is damaged.
std::uint64_t inflated_bytes(const std::string& path, const DeclaredData& data) {
  std::ifstream in(data.file, std::ios::binary);
  in.seekg(std::streamoff(data.offset));
  std::vector<unsigned char> source(1 << 16), sink(1 << 18);
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 32) != Z_OK) fail_reading(path, "zlib cannot be started");
  int status = Z_OK;
  std::uint64_t left = data.stored_bytes, bytes = 0;
  while (status == Z_OK || status == Z_BUF_ERROR || status == Z_STREAM_END) {
    if (stream.avail_in == 0) {
      in.read(reinterpret_cast<char*>(source.data()),
              std::streamsize(std::min<std::uint64_t>(source.size(), left)));
      stream.next_in = source.data();
      stream.avail_in = unsigned(in.gcount());
      left -= stream.avail_in;
      if (stream.avail_in == 0) break;
    }
    if (status == Z_STREAM_END) {
      constexpr unsigned char begins_member = 0x1f;
      if (*stream.next_in != begins_member) break;  // padding, which nobody reads
      inflateReset(&stream);
    }
    stream.next_out = sink.data();
    stream.avail_out = unsigned(sink.size());
    status = inflate(&stream, Z_NO_FLUSH);
    bytes += sink.size() - stream.avail_out;
  }
  inflateEnd(&stream);
  if (status != Z_OK && status != Z_BUF_ERROR && status != Z_STREAM_END)
    fail_reading(path, "its compressed data are damaged");
  return bytes;
}

}  // namespace

namespace {

DeclaredData declared_by(const std::string& path, FileFormat format) {
  return format == FileFormat::metaimage ? declared_by_metaimage(path) : declared_by_nrrd(path);
}

bool has_kind(const Fields& fields, const std::string& wanted) {
  std::istringstream kinds(lower(field(fields, "kinds")));
  for (std::string kind; kinds >> kind;)
    if (kind == wanted) return true;
  return false;
}

/// As 3D Slicer's .seg.nrrd does.
bool holds_segments(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  for (std::string line; next_nrrd_line(in, path, line) && !trimmed(line).empty();)
    if (line.starts_with("Segment0_")) return true;
  return false;
}

}  // namespace

bool is_nrrd_in_ras(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string word = letters_of(lower(field(nrrd_fields(in, path), "space")));
  return word == "ras" || word == "rightanteriorsuperior";
}

bool nrrd_lists_images(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return has_kind(nrrd_fields(in, path), "list");
}

void warn_of_nrrd(const std::string& path, std::vector<std::string>& warnings) {
  std::ifstream in(path, std::ios::binary);
  const Fields fields = nrrd_fields(in, path);
  const std::string space = field(fields, "space"), letters = letters_of(lower(space));
  if (letters.starts_with("scannerxyz") || letters.starts_with("3drighthanded") ||
      letters.starts_with("3dlefthanded"))
    warnings.push_back("'" + path + "': its space is " + space +
                       ", which says nothing of left, posterior and superior; its axes are taken "
                       "for these, as ITK takes them");
  if (has_kind(fields, "3d-masked-symmetric-matrix"))
    warnings.push_back("'" + path +
                       "': the mask of its tensors (kind 3D-masked-symmetric-matrix) is left out, "
                       "as ITK leaves it");
  if (has_kind(fields, "list") && holds_segments(path))
    warnings.push_back("'" + path +
                       "': its layers hold segments, which may overlap; each layer is taken for an "
                       "image of its own");
}

std::string raw_data_file(const std::string& path, FileFormat format) {
  return declared_by(path, format).file;
}

std::uint64_t check_raw_data(const std::string& path, FileFormat format) {
  size_of_readable_file(path);
  const DeclaredData data = declared_by(path, format);
  check_size(path, data.voxels, data.voxel_bytes, data.stored_bytes, data.compressed);
  if (data.compressed)
    check_size(path, data.voxels, data.voxel_bytes, inflated_bytes(path, data), false);
  return data.voxels * data.voxel_bytes;
}

}  // namespace freeflow
