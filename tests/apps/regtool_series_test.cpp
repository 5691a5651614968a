// regtool apply on images of several volumes, vectors and colours, and what it refuses.
#include <cmath>
#include <cstring>

#include <freeflow/io/image_file.h>
#include <freeflow/io/nifti_writer.h>
#include <freeflow/io/series_file.h>
#include <freeflow/io/stored_image.h>
#include <freeflow/io/stored_voxels.h>
#include <freeflow/io/transform_file.h>

#include "apps/program_test_support.h"
#include "support/phantoms.h"

namespace freeflow {
namespace regtool_series_test {

using namespace test;

const std::string regtool = program_path("regtool");

/// A chain of a field and an affine, and images whose planes are all different.
class RegtoolSeries : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    const std::size_t count = fixed_.extent.count();
    std::vector<float> waves(3 * count);
    for (std::size_t i = 0; i < waves.size(); ++i) waves[i] = 1.5f * std::sin(0.01f * float(i));
    write_displacement(path("warp.nii.gz"), fixed_, waves);
    Eigen::Affine3d affine = Eigen::Affine3d::Identity();
    affine.linear() = Eigen::AngleAxisd(0.1, Eigen::Vector3d(1, 2, 3).normalized()).matrix();
    affine.translation() = Eigen::Vector3d(1, -2, 0.5);
    write_affine(path("affine.mat"), affine, Eigen::Vector3d::Zero());
    write_image(path("fixed.nii.gz"), fixed_, std::vector<float>(count, 1), StoredType::uint8);
  }

  static Geometry grid(Extent extent, const Eigen::Vector3d& spacing) {
    Geometry g = oblique_geometry(extent, spacing);
    g.origin = Eigen::Vector3d::Zero();
    g.origin = -g.center();
    return g;
  }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  std::vector<float> plane(int number) const {
    std::vector<float> voxels(moving_.extent.count());
    for (std::size_t i = 0; i < voxels.size(); ++i)
      voxels[i] = std::round(100 + 20 * float(number) + 90 * std::sin(0.003f * float(i)));
    return voxels;
  }

  void write(const std::string& name, const SeriesLayout& layout) const {
    SeriesWriter writer(path(name), layout);
    for (int p = 0; p < layout.planes(); p += layout.planes_at_once) {
      std::vector<unsigned char> planes;
      for (int k = 0; k < layout.planes_at_once; ++k) {
        const std::vector<float> values = plane(p + k);
        const auto stored = from_floats(layout.stored_type, values.data(), values.size());
        planes.insert(planes.end(), stored.begin(), stored.end());
      }
      writer.write(planes);
    }
    writer.close();
  }

  /// All planes of a file, one after the other.
  std::vector<std::vector<float>> planes_of(const std::string& name, SeriesLayout* out = nullptr) {
    SeriesReader reader(path(name));
    const SeriesLayout& layout = reader.layout();
    const std::size_t count = layout.geometry.extent.count();
    std::vector<std::vector<float>> all;
    for (auto stored = reader.read(); !stored.empty(); stored = reader.read())
      for (int k = 0; k < layout.planes_at_once; ++k)
        all.push_back(to_floats(
            layout.stored_type,
            stored.data() + std::size_t(k) * count * bytes_of(layout.stored_type), count));
    if (out) *out = layout;
    return all;
  }

  /// What apply makes of one plane by itself.
  std::vector<float> alone(int number, StoredType type) {
    write_image(path("one.nii.gz"), moving_, plane(number), type);
    EXPECT_EQ(run(apply + "-i one.nii.gz -o alone.nii.gz" + chain).status, 0);
    return planes_of("alone.nii.gz").at(0);
  }

  /// `exactly`: not where a text header rounds the grid of the input.
  void expect_planes(const std::string& name, const SeriesLayout& layout, bool exactly = true) {
    SeriesLayout read;
    const auto planes = planes_of(name, &read);
    EXPECT_EQ(read.volumes, layout.volumes) << name;
    EXPECT_EQ(read.components, layout.components) << name;
    // MetaImage does not tell colours from vectors of bytes.
    if (exactly) {
      EXPECT_EQ(read.colours, layout.colours) << name;
    }
    EXPECT_EQ(read.stored_type, layout.stored_type) << name;
    EXPECT_TRUE(same_grid(read.geometry, fixed_)) << name;
    ASSERT_EQ(int(planes.size()), layout.planes());
    for (int p = 0; p < layout.planes(); ++p) {
      const std::vector<float>&is = planes[std::size_t(p)], expected = alone(p, layout.stored_type);
      const double tolerance = exactly ? 0 : layout.stored_type == StoredType::float32 ? 0.02 : 1;
      for (std::size_t i = 0; i < is.size(); ++i)
        ASSERT_NEAR(is[i], expected[i], tolerance) << name << ", plane " << p << ", voxel " << i;
    }
  }

  const Geometry fixed_ = grid({20, 22, 16}, {2, 2.5, 3});
  const Geometry moving_ = grid({24, 18, 21}, {1.8, 2.6, 2.2});
  const std::string apply = regtool + " apply -r fixed.nii.gz ";
  const std::string chain = " -t warp.nii.gz -t affine.mat ";
};

TEST_F(RegtoolSeries, EveryVolumeIsWhatItWouldBeAlone) {
  SeriesLayout layout;
  layout.geometry = moving_;
  layout.stored_type = StoredType::int16;
  layout.volumes = 4;
  NiftiLayout header;
  header.step = {2.5f, 1, 1, 1};
  header.units = 2 | 8;  // mm, s
  layout.nifti = std::make_shared<NiftiLayout>(header);
  layout.step = header.step[0];
  for (const std::string name : {"series.nii.gz", "series.nii", "series.mha", "series.nrrd"}) {
    write(name, layout);
    const std::string to = "to_" + name;
    std::string files = "-i ";
    files.append(name).append(" -o ").append(to);
    ASSERT_EQ(run(apply + files + chain).status, 0) << name;
    expect_planes(to, layout, name.ends_with(".nii.gz") || name.ends_with(".nii"));
    EXPECT_EQ(SeriesReader(path(to)).layout().step, 2.5) << name;
  }
  SeriesLayout read;
  planes_of("to_series.nii.gz", &read);
  EXPECT_EQ(read.nifti->step[0], 2.5f);
  EXPECT_EQ(read.nifti->units, 2 | 8);
  ASSERT_EQ(run(apply + "-i series.nrrd -o from_nrrd.nii.gz" + chain).status, 0);
  planes_of("from_nrrd.nii.gz", &read);
  EXPECT_EQ(read.nifti->step[0], 2.5f);
  EXPECT_EQ(read.nifti->units, 2 | 8);
}

/// As 3D Slicer keeps diffusion: the gradients in keys, in a frame of their own.
TEST_F(RegtoolSeries, ANrrdKeepsItsGradients) {
  SeriesLayout layout;
  layout.geometry = moving_;
  layout.components = layout.planes_at_once = 4;
  NrrdNotes notes;
  notes.texts = {{"modality", "DWMRI"},
                 {"DWMRI_b-value", "1000"},
                 {"DWMRI_gradient_0000", "0 0 0"},
                 {"DWMRI_gradient_0001", "0.6 0.8 0"}};
  notes.measurement_frame = {{0, 1, 0}, {-1, 0, 0}, {0, 0, 1}};
  layout.nrrd = std::make_shared<NrrdNotes>(notes);
  write("dwi.nrrd", layout);
  ASSERT_EQ(run(apply + "-i dwi.nrrd -o there.nrrd" + chain).status, 0);
  const SeriesLayout read = SeriesReader(path("there.nrrd")).layout();
  EXPECT_EQ(read.components, 4);
  EXPECT_EQ(read.nrrd->texts, notes.texts);
  EXPECT_EQ(read.nrrd->measurement_frame, notes.measurement_frame);
  const Outcome o = run(apply + "-i dwi.nrrd -o lost.nii.gz" + chain);
  ASSERT_EQ(o.status, 0);
  EXPECT_NE(o.err.find("the gradients of diffusion in 'dwi.nrrd' are not in 'lost.nii.gz', which"),
            std::string::npos)
      << o.err;
  const std::string header = slurp(path("there.nrrd")).substr(0, 2000);
  EXPECT_NE(header.find("\nDWMRI_gradient_0001:=0.6 0.8 0\n"), std::string::npos) << header;
  EXPECT_NE(header.find("measurement frame: (0,1,0) (-1,0,0) (0,0,1)"), std::string::npos)
      << header;
}

TEST_F(RegtoolSeries, ANrrdOfSeveralVolumesKeepsItsKeys) {
  SeriesLayout layout;
  layout.geometry = moving_;
  layout.volumes = 3;
  NrrdNotes notes;
  notes.texts = {{"MultiVolume.FrameLabels", "0,5,10"}, {"DWMRI_b-value", "1000"}};
  layout.nrrd = std::make_shared<NrrdNotes>(notes);
  write("series.nrrd", layout);
  const Outcome o = run(apply + "-i series.nrrd -o there.nrrd" + chain);
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.err.find("gradients"), std::string::npos) << o.err;
  const SeriesLayout read = SeriesReader(path("there.nrrd")).layout();
  EXPECT_EQ(read.volumes, 3);
  EXPECT_EQ(read.nrrd->texts, notes.texts);
}

TEST_F(RegtoolSeries, ASegmentationOfSlicerIsSaidToFillTheGridItIsOn) {
  SeriesLayout layout;
  layout.geometry = moving_;
  layout.stored_type = StoredType::uint8;
  NrrdNotes notes;
  notes.texts = {{"Segment0_Name", "liver"},
                 {"Segment0_Extent", "3 9 2 7 5 8"},
                 {"Segment0_NameAutoGenerated", "0"},
                 {"Segmentation_ReferenceImageExtentOffset", "40 50 6"}};
  layout.nrrd = std::make_shared<NrrdNotes>(notes);
  write("s.seg.nrrd", layout);
  ASSERT_EQ(run(apply + "-i s.seg.nrrd -o t.seg.nrrd --interpolation labels" + chain).status, 0);
  notes.texts["Segment0_Extent"] = "0 19 0 21 0 15";
  notes.texts["Segmentation_ReferenceImageExtentOffset"] = "0 0 0";
  EXPECT_EQ(SeriesReader(path("t.seg.nrrd")).layout().nrrd->texts, notes.texts);
}

TEST_F(RegtoolSeries, VectorsAndColoursInEveryFormatAndBetweenThem) {
  SeriesLayout vectors;
  vectors.geometry = moving_;
  vectors.components = 3;
  SeriesLayout colours = vectors;
  colours.stored_type = StoredType::uint8;
  colours.colours = true;
  colours.planes_at_once = 3;
  for (const std::string from : {"nii.gz", "mha", "nrrd"}) {
    vectors.planes_at_once = from == "nii.gz" ? 1 : 3;
    write("v." + from, vectors);
    write("c." + from, colours);
    for (const std::string to : {"nii.gz", "mha", "nrrd"}) {
      std::string files = "-i v.";
      files.append(from).append(" c.").append(from);
      files.append(" -o vv.").append(to).append(" cc.").append(to);
      ASSERT_EQ(run(apply + files + chain).status, 0) << from << " to " << to;
      const bool exactly = from == "nii.gz" && to == "nii.gz";
      expect_planes("vv." + to, vectors, exactly);
      expect_planes("cc." + to, colours, exactly);
    }
  }
}

TEST_F(RegtoolSeries, ColoursAreNotCountedChannelByChannel) {
  SeriesLayout colours;
  colours.geometry = moving_;
  colours.components = colours.planes_at_once = 3;
  colours.stored_type = StoredType::uint8;
  colours.colours = true;
  write("c.nii.gz", colours);
  expect_refusal(run(apply + "-i c.nii.gz -o out.nii.gz --interpolation labels" + chain),
                 "cannot read 'c.nii.gz': its voxels are colours, of which labels would be");
  EXPECT_EQ(run(apply + "-i c.nii.gz -o n.nii.gz --interpolation nearest" + chain).status, 0);
}

TEST_F(RegtoolSeries, TheHeadersScalingStays) {
  SeriesLayout layout;
  layout.geometry = moving_;
  layout.stored_type = StoredType::int16;
  layout.slope = 0.01;
  layout.intercept = 3;
  write("scaled.nii.gz", layout);
  ASSERT_EQ(run(apply + "-i scaled.nii.gz -o there.nii.gz --fill 3" + chain).status, 0);
  SeriesLayout read;
  planes_of("there.nii.gz", &read);
  EXPECT_EQ(read.stored_type, StoredType::int16);
  EXPECT_FLOAT_EQ(float(read.slope), 0.01f);
  ASSERT_EQ(run(apply + "-i scaled.nii.gz -o float.nii.gz --type float32 --fill 3" + chain).status,
            0);
  const HostImage a = read_image(path("there.nii.gz")), b = read_image(path("float.nii.gz"));
  EXPECT_EQ(b.stored_type, StoredType::float32);
  for (std::size_t i = 0; i < a.voxels.size(); ++i)
    ASSERT_NEAR(a.voxels[i], b.voxels[i], 0.00501) << "to a step of the scaling";
  layout.stored_type = StoredType::uint8;
  write("bytes.nii.gz", layout);
  const Outcome o = run(apply + "-i bytes.nii.gz -o there.nii.gz" + chain);
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find("the fill value 0 does not fit into the voxels of 'there.nii.gz'; where the "
                       "image has no value they hold 3 "),
            std::string::npos)
      << o.err;
  expect_refusal(run(apply + "-i bytes.nii.gz -o out.nii.gz --fill 2" + chain),
                 "--fill 2 does not fit");
}

TEST_F(RegtoolSeries, ValuesThatATypeCutsAreCounted) {
  SeriesLayout layout;
  layout.geometry = moving_;
  layout.volumes = 2;
  layout.stored_type = StoredType::int16;
  layout.slope = 2;
  write("s.nii.gz", layout);
  const std::string call = apply + "-i s.nii.gz -o t.nii.gz" + chain + "--type ";
  ASSERT_EQ(run(call + "float32").status, 0);
  std::size_t beyond = 0;
  for (const std::vector<float>& values : planes_of("t.nii.gz"))
    beyond += std::size_t(std::ranges::count_if(values, [](float v) { return v > 255.5f; }));
  const std::string words = std::to_string(beyond) + " values are beyond what the voxels of 't.";
  EXPECT_NE(run(call + "uint8").err.find(words), std::string::npos);
  for (const std::string type : {"int16", "float32"})
    EXPECT_EQ(run(call + type).err.find("are beyond"), std::string::npos) << type;
}

TEST_F(RegtoolSeries, CtIsFilledWithAirWhereThatIsAskedFor) {
  std::vector<float> hounsfield = plane(0);
  for (float& v : hounsfield) v = v * 10 - 700;
  hounsfield[7] = -1000;
  write_image(path("ct.nii.gz"), moving_, hounsfield, StoredType::int16, 1);
  Geometry beside = moving_;
  beside.origin.x() += 1000;
  write_image(path("beside.nii.gz"), beside, std::vector<float>(beside.extent.count()));
  const auto filled = [&](const std::string& options, const std::string& said) {
    const Outcome o =
        run(regtool + " apply -r beside.nii.gz -i ct.nii.gz -o there.nii.gz" + options);
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(o.err.find("'ct.nii.gz' goes down to -1000") != std::string::npos, !said.empty());
    return read_image(path("there.nii.gz")).voxels[0];
  };
  EXPECT_EQ(filled("", "doubted"), 0);
  EXPECT_EQ(filled(" --fill 0", ""), 0);
  EXPECT_EQ(filled(" --fill min", ""), -1000);
  EXPECT_EQ(filled(" --fill min --type float32 --interpolation cubic", ""), -1000);
}

TEST_F(RegtoolSeries, AllOutputsOrNone) {
  write_image(path("good.nii.gz"), moving_, plane(0));
  std::ofstream(path("bad.nii.gz")) << "no image";
  expect_refusal(run(apply + "-i good.nii.gz bad.nii.gz -o out1.nii.gz out2.nii.gz" + chain),
                 "bad.nii.gz");
  expect_refusal(run(apply + "-i good.nii.gz -o out.nii.gz --type float" + chain), "float32");
  expect_refusal(run(apply + "-i good.nii.gz good.nii.gz -o out.nii.gz out.nii.gz" + chain),
                 "twice");
  expect_refusal(run(apply + "-i good.nii.gz -o affine.mat" + chain), "also an input");
}

TEST_F(RegtoolSeries, LabelsThatDoNotFitAreRefused) {
  std::vector<float> labels = plane(0);
  labels[1000] = 70000;
  write_image(path("labels.nii.gz"), moving_, labels, StoredType::int32);
  const std::string vote = "-i labels.nii.gz --interpolation labels -o ";
  ASSERT_EQ(run(apply + vote + "wide.nii.gz").status, 0);
  write_image(path("fixed.nii.gz"), moving_, labels, StoredType::int32);  // so that it is met
  expect_refusal(run(apply + vote + "out.nii.gz --type uint8"), "70000");
}

TEST_F(RegtoolSeries, ChainsThatLeadNowhereAreRefused) {
  write_image(path("m.nii.gz"), moving_, plane(0));
  const std::string go = apply + "-i m.nii.gz -o out.nii.gz ";
  for (const auto& name : {"1Warp.nii.gz", "1InverseWarp.nii.gz"})
    std::filesystem::copy_file(path("warp.nii.gz"), path(std::string("r_") + name));
  std::filesystem::copy_file(path("affine.mat"), path("r_0GenericAffine.mat"));
  expect_refusal(run(go + "-t r_0GenericAffine.mat -t r_1Warp.nii.gz"), "-t r_1Warp.nii.gz -t");
  expect_refusal(run(go + "-t r_1InverseWarp.nii.gz -t r_0GenericAffine.mat"), "the way back is");
  expect_refusal(run(go + "-t r_0GenericAffine.mat -t r_1InverseWarp.nii.gz"), "the way back is");
  EXPECT_EQ(
      run(apply + "-i m.nii.gz -o forth.nii.gz -t r_1Warp.nii.gz -t r_0GenericAffine.mat").status,
      0);
  EXPECT_EQ(run(apply + "-i m.nii.gz -o back.nii.gz -t [r_0GenericAffine.mat,1] "
                        "-t r_1InverseWarp.nii.gz")
                .status,
            0);
  expect_refusal(run(regtool + " convert --to itk -o c.h5 -t r_0GenericAffine.mat "
                               "-t r_1Warp.nii.gz"),
                 "-t r_1Warp.nii.gz -t");
  const std::string compose = regtool + " compose -r fixed.nii.gz -o round.nii.gz ",
                    there = "-t r_1Warp.nii.gz -t r_0GenericAffine.mat ",
                    back = "-t [r_0GenericAffine.mat,1] -t r_1InverseWarp.nii.gz ";
  EXPECT_EQ(run(compose + there + back).status, 0);
  EXPECT_EQ(run(compose + back + there).status, 0);

  Geometry elsewhere = fixed_;
  elsewhere.origin += Eigen::Vector3d(500, 0, 0);
  write_displacement(path("elsewhere.nii.gz"), elsewhere,
                     std::vector<float>(3 * fixed_.extent.count(), 0.5f));
  expect_refusal(run(go + "-t elsewhere.nii.gz"), "of another space");

  Geometry between = fixed_;  // the voxels: of a small region that was registered finely
  between.extent = {3, 3, 3};
  between.spacing *= 0.1;
  between.origin = fixed_.index_to_world() * Eigen::Vector3d(3.3, 3.3, 3.3);
  write_displacement(path("between.nii.gz"), between, std::vector<float>(81, 0.5f));
  EXPECT_EQ(run(apply + "-i m.nii.gz -o near.nii.gz -t between.nii.gz").status, 0);

  std::vector<float> huge(3 * fixed_.extent.count(), 0);
  huge[77] = 400;
  write_displacement(path("huge.nii.gz"), fixed_, huge);
  expect_refusal(run(go + "-t huge.nii.gz"), "more than its grid's diagonal");
  for (float& v : huge) v += 300;
  Geometry far = moving_;
  far.origin += 300 * fixed_.direction * fixed_.spacing;
  write_image(path("far.nii.gz"), far, plane(0));
  write_displacement(path("huge.nii.gz"), fixed_, huge);
  expect_refusal(run(go + "-t huge.nii.gz"), "more than its grid's diagonal");
  huge[77] = 300;
  write_displacement(path("far_away.nii.gz"), fixed_, huge);
  EXPECT_EQ(run(apply + "-i far.nii.gz -o there.nii.gz -t far_away.nii.gz").status, 0)
      << "images that lie far apart";

  std::vector<float> positions(3 * fixed_.extent.count());
  const Extent n = fixed_.extent;
  const Eigen::Affine3d to_voxels(fixed_.world_to_index().linear());
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x) {
        Eigen::Vector3d ras = fixed_.index_to_world() * Eigen::Vector3d(x, y, z);
        ras.head<2>() *= -1;
        const Eigen::Vector3d v = to_voxels * ras;
        for (int c = 0; c < 3; ++c)
          positions[std::size_t(c) * n.count() + n.offset(x, y, z)] = float(v[c]);
      }
  write_displacement(path("y_field.nii.gz"), fixed_, positions);
  expect_refusal(run(go + "-t y_field.nii.gz"), "--from spm");

  std::ofstream(path("flat.txt")) << "#Insight Transform File V1.0\n#Transform 0\n"
                                     "Transform: AffineTransform_double_3_3\n"
                                     "Parameters: 1 0 0 0 1 0 0 0 1e-9 0 0 0\n"
                                     "FixedParameters: 0 0 0\n";
  expect_refusal(run(go + "-t flat.txt"), "flattens space");
}

TEST_F(RegtoolSeries, AFieldOfAnotherSpaceIsRefusedWhereverAGridIsNamed) {
  Geometry elsewhere = fixed_;
  elsewhere.origin += Eigen::Vector3d(500, 0, 0);
  write_displacement(path("elsewhere.nii.gz"), elsewhere,
                     std::vector<float>(3 * fixed_.extent.count(), 0.5f));
  const std::string files = " -r fixed.nii.gz -o out.nii.gz -t elsewhere.nii.gz";
  for (const std::string command : {" compose", " jacobian", " jacobian --log"}) {
    std::string call = regtool;
    call.append(command).append(files);
    expect_refusal(run(call), "'elsewhere.nii.gz' covers 0 % of the reference");
  }
  expect_refusal(run(regtool + " measure --fixed-labels fixed.nii.gz --moving-labels fixed.nii.gz "
                               "-t elsewhere.nii.gz -o out.json"),
                 "'elsewhere.nii.gz' covers 0 % of the reference");
}

TEST_F(RegtoolSeries, OfSeveralInputsTheOneThatLiesElsewhereIsNamed) {
  Geometry elsewhere = moving_;
  elsewhere.origin += Eigen::Vector3d(500, 0, 0);
  write_image(path("m.nii.gz"), moving_, plane(0));
  write_image(path("n.nii.gz"), elsewhere, plane(0));
  const Outcome o = run(apply + "-i m.nii.gz n.nii.gz -o a.nii.gz b.nii.gz" + chain);
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find("nothing of 'n.nii.gz' comes to lie on the reference"), std::string::npos)
      << o.err;
  EXPECT_EQ(o.err.find("nothing of 'm.nii.gz'"), std::string::npos) << o.err;
}

TEST_F(RegtoolSeries, TransformsOfOtherProgramsAreTakenAsTheyAre) {
  write_image(path("m.nii.gz"), moving_, plane(0));
  const std::string grids = " --fixed fixed.nii.gz --moving m.nii.gz ";
  ASSERT_EQ(run(regtool + " convert -t affine.mat --to fsl -o flirt.mat" + grids).status, 0);
  ASSERT_EQ(run(regtool + " convert -t warp.nii.gz --to niftyreg -o nreg.nii.gz" + grids).status,
            0);
  ASSERT_EQ(run(apply + "-i m.nii.gz -o theirs.nii.gz -t nreg.nii.gz -t flirt.mat").status, 0);
  ASSERT_EQ(run(apply + "-i m.nii.gz -o ours.nii.gz" + chain).status, 0);
  const auto ours = planes_of("ours.nii.gz")[0], theirs = planes_of("theirs.nii.gz")[0];
  for (std::size_t i = 0; i < ours.size(); ++i) ASSERT_NEAR(ours[i], theirs[i], 0.02);
}

}  // namespace regtool_series_test
}  // namespace freeflow
