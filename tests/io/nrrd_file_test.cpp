// What NRRD says beside an image's grid: kinds of an axis, spaces, frames, several members of gzip.
#include <freeflow/io/image_file.h>

#include <freeflow/io/byte_sink.h>
#include <freeflow/io/series_file.h>

#include "io_test_support.h"

namespace freeflow::test {
namespace {

const std::string nrrd_start = "NRRD0005\ntype: uchar\nencoding: raw\n",
                  nrrd_axes =
                      "dimension: 4\nspace: LPS\nspace directions: none (1,0,0) (0,1,0) "
                      "(0,0,1)\nspace origin: (0,0,0)\n";

TEST(NrrdFile, ANrrdOfTensorsStaysOne) {
  const TemporaryFolder folder;
  write_bytes(folder / "t.nrrd",
              "NRRD0004\ntype: uchar\ndimension: 4\nsizes: 6 2 2 2\nencoding: raw\nspace: LPS\n"
              "space directions: none (1,0,0) (0,1,0) (0,0,1)\nspace origin: (0,0,0)\n"
              "kinds: 3D-symmetric-matrix domain domain domain\n\n" +
                  std::string(48, 'a'));
  SeriesReader reader(folder / "t.nrrd");
  SeriesWriter writer(folder / "u.nrrd", reader.layout());
  writer.write(reader.read());
  writer.close();
  const std::string header = read_bytes(folder / "u.nrrd");
  EXPECT_NE(header.find("kinds: 3D-symmetric-matrix domain domain domain"), std::string::npos)
      << header.substr(0, 400);
}

TEST(NrrdFile, WhatANrrdInRasGivesInItsAxesIsSaidToBeInThem) {
  const TemporaryFolder folder;
  const std::string start =
      "NRRD0005\ntype: uchar\ndimension: 4\nsizes: 6 2 2 2\nencoding: raw\nspace: "
      "right-anterior-superior\nspace directions: none (1,0,0) (0,1,0) (0,0,1)\nspace origin: "
      "(0,0,0)\n";
  for (const char* last : {"kinds: 3D-symmetric-matrix domain domain domain\n\n",
                           "kinds: vector domain domain domain\nDWMRI_gradient_0000:=1 0 1\n\n"}) {
    std::string bytes = start;
    bytes += last;
    bytes.append(48, 'a');
    write_bytes(folder / "t.nrrd", bytes);
    SeriesReader reader(folder / "t.nrrd");
    SeriesWriter writer(folder / "u.nrrd", reader.layout());
    writer.write(reader.read());
    writer.close();
    const std::string header = read_bytes(folder / "u.nrrd").substr(0, 700);
    EXPECT_NE(header.find("space: left-posterior-superior"), std::string::npos) << header;
    EXPECT_NE(header.find("measurement frame: (-1,0,0) (0,-1,0) (0,0,1)"), std::string::npos)
        << header;
  }
}

TEST(NrrdFile, WhatANrrdSaysBesideAnImageIsSaid) {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& header) {
    write_bytes(folder / "x.nrrd", nrrd_start + header + "\n" + std::string(56, 'a'));
    return SeriesReader(folder / "x.nrrd").layout().warnings;
  };
  const auto of_space = [&](const std::string& name) {
    return said("dimension: 3\nsizes: 2 2 2\nspace: " + name +
                "\nspace directions: (1,0,0) (0,1,0) (0,0,1)\nspace origin: (0,0,0)\n");
  };
  for (const std::string name : {"scanner-xyz", "3D-right-handed", "3D-left-handed"}) {
    const auto warnings = of_space(name);
    ASSERT_EQ(warnings.size(), 1U) << name;
    EXPECT_NE(warnings[0].find("its space is " + name + ", which says nothing of left"),
              std::string::npos)
        << warnings[0];
  }
  EXPECT_TRUE(of_space("left-posterior-superior").empty());
  const std::string of_tensors = nrrd_axes + "sizes: 7 2 2 2\nkinds: ",
                    of_layers = nrrd_axes +
                                "sizes: 3 2 2 2\nkinds: list domain "
                                "domain domain\n";
  const auto masked = said(of_tensors + "3D-masked-symmetric-matrix domain domain domain\n");
  ASSERT_EQ(masked.size(), 1U);
  EXPECT_NE(masked[0].find("the mask of its tensors"), std::string::npos) << masked[0];
  const auto layers = said(of_layers + "Segment0_ID:=a\n");
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_NE(layers[0].find("its layers hold segments"), std::string::npos) << layers[0];
  EXPECT_TRUE(said(of_layers + "modality:=DWMRI\n").empty());
}

TEST(NrrdFile, AKindThatItkCannotReadIsRefused) {
  const TemporaryFolder folder;
  write_bytes(folder / "g.nrrd", nrrd_start + nrrd_axes +
                                     "sizes: 3 2 2 2\nkinds: 3-gradient domain " +
                                     "domain domain\n\n" + std::string(24, 'a'));
  expect_io_error([&] { SeriesReader(folder / "g.nrrd"); },
                  {"its kind 3-gradient is one that ITK cannot read"});
}

TEST(NrrdFile, AnNrrdIsReadFromSeveralMembersOfGzip) {
  const TemporaryFolder folder;
  const auto compressed = [&](const std::string& bytes) {
    ByteSink sink(folder / "m.gz", true, Compression());
    sink.write(bytes.data(), bytes.size());
    sink.close();
    return read_bytes(folder / "m.gz");
  };
  const std::string header =
                        "NRRD0005\ntype: uchar\ndimension: 3\nsizes: 2 2 2\nspacings: 1 1 "
                        "1\nencoding: gzip\n\n",
                    members = compressed("abcde") + compressed("fgh");
  write_bytes(folder / "x.nrrd", header + members);
  EXPECT_EQ(read_image(folder / "x.nrrd").voxels[7], 'h');
  write_bytes(folder / "x.nrrd", header + members + std::string(5, '\0'));
  EXPECT_EQ(read_image(folder / "x.nrrd").voxels[7], 'h') << "padding";
  write_bytes(folder / "x.nrrd", header + compressed("abcde") + compressed("fg"));
  expect_io_error([&] { read_image(folder / "x.nrrd"); }, {"file ends after 7 of 8 voxels"});
}

TEST(NrrdFile, ANrrdsListOfImagesIsASeriesInNifti) {
  const TemporaryFolder folder;
  const std::string head =
      "NRRD0004\ntype: uchar\ndimension: 4\nsizes: 3 2 2 2\nencoding: raw\nspace: LPS\nspace "
      "directions: none (1,0,0) (0,1,0) (0,0,1)\nspace origin: (0,0,0)\nkinds: ";
  for (const std::string kind : {"list", "vector"}) {
    write_bytes(folder / "d.nrrd",
                head + kind + " domain domain domain\n\n" + "abcdefghijklmnopqrstuvwx");
    SeriesReader reader(folder / "d.nrrd");
    SeriesWriter writer(folder / "d.nii", reader.layout());
    writer.write(reader.read());
    writer.close();
    const SeriesLayout layout = SeriesReader(folder / "d.nii").layout();
    EXPECT_EQ(layout.volumes, kind == "list" ? 3 : 1);
    EXPECT_EQ(layout.components, kind == "list" ? 1 : 3);
    EXPECT_EQ(read_bytes(folder / "d.nii").substr(352), "adgjmpsvbehknqtwcfilorux");
  }
}

/// As 3D Slicer's sequences are; ITK calls any values of a voxel a vector.
TEST(NrrdFile, ANrrdsListOfImagesStaysOne) {
  const TemporaryFolder folder;
  const std::string head =
      "NRRD0005\ntype: uchar\ndimension: 4\nsizes: 2 2 2 3\nencoding: raw\nspace: LPS\nspace "
      "directions: (1,0,0) (0,1,0) (0,0,1) none\nspace origin: (0,0,0)\nkinds: domain domain "
      "domain ";
  for (const std::string kind : {"list", "vector"}) {
    write_bytes(folder / "d.nrrd",
                head + kind + "\naxis 3 index values:=0 1 2\n\n" + "abcdefghijklmnopqrstuvwx");
    SeriesReader reader(folder / "d.nrrd");
    const std::vector<unsigned char> voxels = reader.read();
    SeriesWriter writer(folder / "o.nrrd", reader.layout());
    writer.write(voxels);
    writer.close();
    const std::string written = read_bytes(folder / "o.nrrd");
    const bool list = kind == "list";
    EXPECT_EQ(written.find("\nkinds: list   domain domain domain\n") != std::string::npos, list);
    EXPECT_EQ(written.find("\naxis 0 index values:=0 1 2\n") != std::string::npos, list);
    EXPECT_EQ(SeriesReader(folder / "o.nrrd").read(), voxels);
  }
  write_bytes(folder / "t.nrrd", head + "time\n\n" + "abcdefghijklmnopqrstuvwx");
  expect_io_error([&] { SeriesReader reader(folder / "t.nrrd"); },
                  {"its fourth axis is of no kind that ITK takes; call it list"});
}
}  // namespace
}  // namespace freeflow::test
