#include <freeflow/io/content_hash.h>

#include "io_test_support.h"

namespace freeflow::test {
namespace {

// A cohort takes a pair as done by these.
TEST(ContentHash, ChangesWithEitherFileOfAnImage) {
  const TemporaryFolder folder;
  const auto changes_with = [&](const std::string& image, const std::string& other) {
    write_bytes(folder / other, "12345678");
    const std::string before = content_hash(folder / image);
    write_bytes(folder / other, "1234567X");
    EXPECT_NE(content_hash(folder / image), before) << image << ", " << other;
  };
  write_bytes(folder / "a.mhd",
              "NDims = 3\nDimSize = 2 2 2\nElementType = MET_UCHAR\n"
              "ElementDataFile = voxels.bin\n");
  changes_with("a.mhd", "voxels.bin");
  write_bytes(folder / "b.nhdr",
              "NRRD0004\ntype: uchar\ndimension: 3\nsizes: 2 2 2\n"
              "encoding: raw\ndata file: other.raw\n\n");
  changes_with("b.nhdr", "other.raw");
  for (const std::string data : {"c.img", "d.img.gz"}) {
    const std::string header = data.substr(0, 1) + ".hdr";
    write_bytes(folder / header, "header");
    write_bytes(folder / data, "voxels");
    changes_with(data, header);
    changes_with(header, data);
  }
  write_bytes(folder / "E.IMG", "voxels");
  changes_with("E.IMG", "E.HDR");
  changes_with("E.HDR", "E.IMG");
  write_bytes(folder / "damaged.mhd", "no header");
  EXPECT_EQ(content_hash(folder / "damaged.mhd").substr(0, 2), "9-");
}

}  // namespace
}  // namespace freeflow::test
