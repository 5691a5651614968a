// PLY files that VTK's reader would not survive: each gives one sentence.
#include <freeflow/io/ply_check.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "io_test_support.h"

namespace freeflow::test {
namespace {

std::string header(const std::string& format,
                   const std::string& corners = "list uchar int vertex_indices") {
  return "ply\nformat " + format +
         " 1.0\ncomment a tetrahedron\nelement vertex 4\nproperty float x\nproperty float "
         "y\nproperty float z\n" +
         "element face 4\nproperty " + corners + "\nend_header\n";
}

const std::string points = "0 0 0\n9 0 0\n0 9 0\n0 0 9.5e0\n",
                  faces = "3 0 1 2\n3 0 1 3\n3 0 2 3\n3 1 2 3\n";

template <class T>
void append(std::string& bytes, T value, bool big_endian) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  if (big_endian != (std::endian::native == std::endian::big))
    std::reverse(raw, raw + sizeof value);
  bytes.append(raw, sizeof value);
}

std::string binary(bool big_endian, std::int32_t last_corner = 3) {
  std::string bytes = header(big_endian ? "binary_big_endian" : "binary_little_endian");
  for (const float v : {0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0, 9}) append(bytes, v, big_endian);
  for (const auto& f : {std::array{0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2, last_corner}}) {
    append<std::uint8_t>(bytes, 3, big_endian);
    for (const std::int32_t corner : f) append(bytes, corner, big_endian);
  }
  return bytes;
}

TEST(PlyCheck, TakesWhatIsWhole) {
  const TemporaryFolder folder;
  const std::string file = folder / "x.ply";
  std::string windows = header("ascii") + points + faces;
  for (std::size_t i = 0; (i = windows.find('\n', i)) != std::string::npos; i += 2)
    windows.insert(i, 1, '\r');
  for (const std::string& bytes :
       {header("ascii") + points + faces, windows, binary(false), binary(true)}) {
    write_bytes(file, bytes);
    EXPECT_NO_THROW(check_ply(file)) << bytes;
  }
}

TEST(PlyCheck, RefusesWhatIsNot) {
  const TemporaryFolder folder;
  const std::string file = folder / "x.ply";
  const auto refused = [&](const std::string& bytes, const std::string& words) {
    write_bytes(file, bytes);
    expect_io_error([&] { check_ply(file); }, {"cannot read '" + file + "': ", words});
  };
  refused("this is not a mesh", "does not begin");
  refused("ply\nformat ascii 1.0\n", "no end");
  refused(header("ebcdic") + points + faces, "'ebcdic'");
  refused(header("ascii", "list float int vertex_indices") + points + faces,
          "length is of type 'float'");
  refused(header("ascii", "quad vertex_indices") + points + faces, "'quad'");
  refused(header("ascii") + points + "3 0 1 2\n3 0 1 3\n", "element 'face' 3 of 4");
  refused(header("ascii") + "0 0 0\n9 0\n0 9 0\n0 0 9\n" + faces, "element 'vertex' 2 of 4");
  refused(header("ascii") + points + "3 0 1 2\n3 0 1 3\n3 0 2 3\n3 1 2 100000000\n",
          "face 4 names a point that is not among its 4");
  refused(header("ascii") + points + "3 0 1 2\n3 0 1 3\n3 0 2 3\n3 1 2 -1\n", "face 4 names");
  for (const bool big_endian : {false, true}) {
    const std::string whole = binary(big_endian);
    refused(whole.substr(0, whole.size() - 1), "element 'face' 4 of 4");
    refused(binary(big_endian, 4), "face 4 names");
    refused(binary(big_endian, -2), "face 4 names");
  }
}

}  // namespace
}  // namespace freeflow::test
