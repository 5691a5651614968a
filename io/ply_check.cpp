#include <freeflow/io/ply_check.h>

#include <charconv>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include <freeflow/io/file_checks.h>

namespace freeflow {

namespace {

enum class Encoding { ascii, little_endian, big_endian };

struct NumberType {
  int bytes = 0;
  bool is_signed = false, is_float = false;
};

std::optional<NumberType> number_type(const std::string& name) {
  if (name == "char" || name == "int8") return NumberType{1, true};
  if (name == "uchar" || name == "uint8") return NumberType{1};
  if (name == "short" || name == "int16") return NumberType{2, true};
  if (name == "ushort" || name == "uint16") return NumberType{2};
  if (name == "int" || name == "int32") return NumberType{4, true};
  if (name == "uint" || name == "uint32") return NumberType{4};
  if (name == "float" || name == "float32") return NumberType{4, true, true};
  if (name == "double" || name == "float64") return NumberType{8, true, true};
  return std::nullopt;
}

struct Property {
  NumberType type;
  std::optional<NumberType> count;  // of a list
  bool is_corners = false;
};

struct Element {
  std::string name;
  std::int64_t count = 0;
  std::vector<Property> properties;
};

class PlyWalk {
 public:
  explicit PlyWalk(const std::string& path) : path_(path), file_(path, std::ios::binary) {}

  void run() {
    read_header();
    for (const Element& element : elements_)
      for (std::int64_t i = 0; i < element.count; ++i) walk(element, i);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { fail_reading(path_, reason); }
  [[noreturn]] void fail_early(const Element& e, std::int64_t i) const {
    fail("it ends or breaks off in element '" + e.name + "' " + std::to_string(i + 1) + " of " +
         std::to_string(e.count));
  }

  std::string line() {
    std::string text;
    if (!std::getline(file_, text)) fail("its header has no end");
    if (!text.empty() && text.back() == '\r') text.pop_back();
    return text;
  }

  void read_header() {
    if (line() != "ply") fail("it does not begin as a PLY file does");
    for (;;) {
      std::istringstream words(line());
      std::string word;
      words >> word;
      if (word == "end_header") break;
      if (word == "format") read_format(words);
      if (word == "element") {
        Element& e = elements_.emplace_back();
        if (!(words >> e.name >> e.count) || e.count < 0)
          fail("its header declares an element without a number");
        if (e.name == "vertex") points_ = e.count;
      }
      if (word == "property") read_property(words);
    }
    // Any number of elements of nothing would fit into the file, and VTK makes room for them.
    for (const Element& e : elements_)
      if (e.properties.empty() && e.count > 0)
        fail("its header declares " + std::to_string(e.count) + " elements '" + e.name +
             "' without a property");
  }

  void read_format(std::istringstream& words) {
    std::string name;
    words >> name;
    if (name != "ascii" && name != "binary_little_endian" && name != "binary_big_endian")
      fail("its format '" + name + "' is unknown");
    encoding_ = name == "ascii"               ? Encoding::ascii
                : name == "binary_big_endian" ? Encoding::big_endian
                                              : Encoding::little_endian;
  }

  void read_property(std::istringstream& words) {
    std::string type, name;
    words >> type;
    Property p;
    if (type == "list") {
      words >> type;
      p.count = number_type(type);
      if (!p.count || p.count->is_float)
        fail("its header has a list whose length is of type '" + type + "'");
      words >> type;
    }
    words >> name;
    const std::optional<NumberType> known = number_type(type);
    if (!known || elements_.empty())
      fail("its header has a property of type '" + type + "', which is unknown");
    p.type = *known;
    p.is_corners = p.count && elements_.back().name == "face" &&
                   (name == "vertex_indices" || name == "vertex_index");
    elements_.back().properties.push_back(p);
  }

  /// One element: in text a line.
  void walk(const Element& element, std::int64_t i) {
    if (encoding_ == Encoding::ascii) {
      if (!std::getline(file_, line_)) fail_early(element, i);
      rest_ = line_.data();
    }
    for (const Property& p : element.properties) {
      double values = 1;
      // not >= 0: text may say nan
      if (p.count && (!next(*p.count, values) || !(values >= 0))) fail_early(element, i);
      for (double k = 0; k < values; ++k) {
        double value = 0;
        if (!next(p.type, value)) fail_early(element, i);
        if (p.is_corners && !(value >= 0 && value < double(points_)))
          fail("face " + std::to_string(i + 1) + " names a point that is not among its " +
               std::to_string(points_));
      }
    }
  }

  /// False where there is no further number.
  bool next(const NumberType& type, double& value) {
    if (encoding_ != Encoding::ascii) return next_binary(type, value);
    const char* const end = line_.data() + line_.size();
    while (rest_ < end && (*rest_ == ' ' || *rest_ == '\t' || *rest_ == '\r' || *rest_ == '+'))
      ++rest_;
    const auto [after, error] = std::from_chars(rest_, end, value);
    rest_ = after;
    return error != std::errc::invalid_argument;
  }

  bool next_binary(const NumberType& type, double& value) {
    unsigned char bytes[8] = {};
    if (!file_.read(reinterpret_cast<char*>(bytes), type.bytes)) return false;
    if (type.is_float) return true;  // coordinates: any bits are a number
    std::uint64_t bits = 0;
    for (int b = 0; b < type.bytes; ++b)
      bits |= std::uint64_t(bytes[encoding_ == Encoding::big_endian ? type.bytes - 1 - b : b])
              << (8 * b);
    const std::uint64_t sign = std::uint64_t(1) << (8 * type.bytes - 1);
    value = type.is_signed && (bits & sign) ? double(bits) - 2 * double(sign) : double(bits);
    return true;
  }

  const std::string& path_;
  std::ifstream file_;
  Encoding encoding_ = Encoding::ascii;
  std::vector<Element> elements_;
  std::int64_t points_ = 0;
  std::string line_;
  const char* rest_ = nullptr;
};

}  // namespace

void check_ply(const std::string& path) { PlyWalk(path).run(); }

}  // namespace freeflow
