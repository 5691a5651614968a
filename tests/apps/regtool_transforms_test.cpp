// What the programs say of other programs' transforms, in words that a user of theirs can act on.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <freeflow/io/field_file.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/transform_file.h>

#include "apps/program_test_support.h"
#include "support/phantoms.h"

namespace freeflow {
namespace regtool_transforms_test {

using namespace test;

const std::string regtool = program_path("regtool");

class RegtoolTransforms : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    const Geometry grid = oblique_geometry({12, 14, 16}, {1.5, 2, 2.5});
    std::vector<float> voxels(grid.extent.count());
    for (std::size_t i = 0; i < voxels.size(); ++i) voxels[i] = float(i % 97);
    write_image(path("f.nii.gz"), grid, voxels);
    write_affine(path("a.mat"), Eigen::Affine3d::Identity(), Eigen::Vector3d::Zero());
    text("g.aff12.1D", "1 0 0 4 0 1 0 5 0 0 1 6\n");
    text("p.csv", "1,2,3\n");
  }
  std::string path(const std::string& name) const { return (folder / name).string(); }
  void text(const std::string& name, const std::string& contents) const {
    std::ofstream(folder / name) << contents;
  }
  /// Status 0 and one warning on stderr that has the words and names no field of the library.
  void expect_warning(const std::string& call, const std::string& words) const {
    const Outcome o = run(regtool + call);
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_NE(o.err.find("warning: "), std::string::npos) << o.err;
    EXPECT_NE(o.err.find(words), std::string::npos) << o.err;
    for (const char* inside : {"TransformContext", "TransformFormat", ".freeflow-"})
      EXPECT_EQ(o.err.find(inside), std::string::npos) << o.err;
  }
};

TEST_F(RegtoolTransforms, AWarningNamesOptions) {
  expect_warning(" convert -t g.aff12.1D --to itk -o x.txt", "(set --fixed and --moving)");
}

TEST_F(RegtoolTransforms, AffinesForAfniNeedTheImages) {
  expect_warning(" convert -t a.mat --to afni -o x.aff12.1D",
                 "'x.aff12.1D' is between images as AFNI sees them; written as it stands");
  const Outcome o = run(regtool +
                        " convert -t a.mat --to afni -o y.aff12.1D --fixed f.nii.gz "
                        "--moving f.nii.gz");
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.err, "");
}

TEST_F(RegtoolTransforms, ElastixFilesGoInAsTheyAreAndAffinesBack) {
  std::filesystem::create_directory(folder / "run");
  text("run/TransformParameters.0.txt",
       "(Transform \"TranslationTransform\")\n(TransformParameters 3 -2 5)\n");
  text("run/TransformParameters.1.txt",
       "(InitialTransformParameterFileName \"/scratch/gone/TransformParameters.0.txt\")\n"
       "(Transform \"TranslationTransform\")\n(TransformParameters 1 1 -1)\n");
  write_affine(path("same.mat"), Eigen::Affine3d(Eigen::Translation3d(4, -1, 4)),
               Eigen::Vector3d::Zero());
  const std::string apply = regtool + " apply -i f.nii.gz -r f.nii.gz ";
  ASSERT_EQ(run(apply + "-t run/TransformParameters.1.txt -o a.nii.gz").status, 0);
  ASSERT_EQ(run(apply + "-t same.mat -o b.nii.gz").status, 0);
  EXPECT_TRUE(slurp(folder / "a.nii.gz") == slurp(folder / "b.nii.gz"));
  ASSERT_EQ(run(regtool + " convert -t same.mat --to elastix --fixed f.nii.gz -o t.txt").status, 0);
  ASSERT_EQ(run(regtool + " convert -t t.txt --to itk -o back.mat").status, 0);
  EXPECT_TRUE(read_affine(path("back.mat"))
                  .isApprox(Eigen::Affine3d(Eigen::Translation3d(4, -1, 4)), 1e-12));
  expect_refusal(run(regtool + " convert -t same.mat --to elastix -o u.txt"),
                 "needs --fixed: elastix' files hold the grid of the fixed image");
}

TEST_F(RegtoolTransforms, ConvertTakesTheInverseOfAffines) {
  Eigen::Affine3d turned = Eigen::Translation3d(3, -5, 7) *
                           Eigen::AngleAxisd(0.4, Eigen::Vector3d(1, 2, -1).normalized());
  turned.linear() *= 1.25;
  write_affine(path("t.mat"), turned, Eigen::Vector3d(10, 20, 30));
  const std::string convert = regtool + " convert --to itk -t '[t.mat,1]'";
  ASSERT_EQ(run(convert + " -o back.mat").status, 0);
  EXPECT_TRUE(read_affine(path("back.mat")).isApprox(turned.inverse(), 1e-12));
  ASSERT_EQ(run(convert + " -t t.mat -t a.mat -o none.mat").status, 0);
  EXPECT_TRUE(read_affine(path("none.mat")).isApprox(Eigen::Affine3d::Identity(), 1e-12));
  const std::string images = " --fixed f.nii.gz --moving f.nii.gz";
  ASSERT_EQ(run(regtool + " convert -t t.mat --to fsl -o t_fsl.mat" + images).status, 0);
  for (const std::string to :
       {"niftyreg -o x.mha", "mrtrix -o x.h5", "fsl -o x.nrrd", "afni -o x.tfm"}) {
    std::string call = regtool + " convert -t t.mat --to ";
    expect_refusal(run(call.append(to).append(images)),
                   "an affine of this format is text, and a name that ends so is not");
  }
  ASSERT_EQ(
      run(regtool + " convert -t '[t_fsl.mat,1]' --from fsl --to itk -o b.mat" + images).status, 0);
  EXPECT_TRUE(read_affine(path("b.mat")).isApprox(turned.inverse(), 1e-5));
  const Geometry grid = read_geometry(path("f.nii.gz"));
  write_displacement(path("u.nii.gz"), grid, field_planes(grid.extent, [](int, int, int) {
                       return Eigen::Vector3d(1, 0, 0);
                     }));
  expect_refusal(run(regtool + " convert --to itk -t t.mat -o f.nii.gz" + images),
                 "'f.nii.gz' is also an input");
  expect_refusal(run(regtool + " convert --to itk -t '[u.nii.gz,1]' -o x.nii.gz"),
                 "make it with regtool invert");
  expect_refusal(run(regtool + " convert --to itk -t '[t.mat,2]' -o x.mat"),
                 "not of the form [FILE,1]");
  expect_refusal(run(regtool + " convert -t t.mat -o x.mat"),
                 "name whose file to write: --to itk|fsl");
}

TEST_F(RegtoolTransforms, OfAChainTheEndsAloneKnowTheirImages) {
  const std::string images = " --fixed f.nii.gz --moving f.nii.gz";
  ASSERT_EQ(run(regtool + " convert -t a.mat --to fsl -o flirt.mat" + images).status, 0);
  const std::string convert = regtool + " convert --to itk -o x.mat" + images;
  EXPECT_EQ(run(convert + " -t flirt.mat --from fsl").status, 0);
  for (const char* chain : {" -t flirt.mat -t a.mat", " -t a.mat -t flirt.mat"})
    expect_refusal(run(convert + chain), "convert the others by themselves first");
  expect_refusal(run(regtool + " apply -i f.nii.gz -r f.nii.gz -o w.nii.gz -t flirt.mat -t a.mat"),
                 "needs the moving image");
}

TEST_F(RegtoolTransforms, OneFslTransformIsNotAppliedToImagesOnUnlikeGrids) {
  write_image(path("m.nii.gz"), oblique_geometry({16, 10, 12}, {2, 2.2, 1.5}),
              std::vector<float>(16 * 10 * 12, 1.f));
  ASSERT_EQ(
      run(regtool + " convert -t a.mat --to fsl -o flirt.mat --fixed f.nii.gz --moving f.nii.gz")
          .status,
      0);
  const std::string apply = regtool + " apply -r f.nii.gz";
  expect_refusal(run(apply + " -i f.nii.gz m.nii.gz -o 1.nii.gz 2.nii.gz -t flirt.mat"),
                 "apply them to one image at a time");
  EXPECT_FALSE(std::filesystem::exists(folder / "1.nii.gz"));
  EXPECT_EQ(run(apply + " -i f.nii.gz m.nii.gz -o 1.nii.gz 2.nii.gz -t a.mat").status, 0);
  EXPECT_EQ(run(apply + " -i f.nii.gz f.nii.gz -o 1.nii.gz 2.nii.gz -t flirt.mat").status, 0);
}

/// A shift or a scale that was composed into a field leads beyond the field's grid.
TEST_F(RegtoolTransforms, AWholeFieldIsInvertedWhereItLeads) {
  const std::vector<float> voxels = read_image(path("f.nii.gz")).voxels;
  for (const double mm : {25, 150}) {
    const Eigen::Affine3d shift(Eigen::Translation3d(mm, 0, 0));
    write_affine(path("shift.mat"), shift, Eigen::Vector3d::Zero());
    Geometry there = read_geometry(path("f.nii.gz"));
    there.origin = shift * there.origin;
    write_image(path("m.nii.gz"), there, voxels);
    ASSERT_EQ(run(regtool + " compose -r f.nii.gz -t shift.mat -o whole.nii.gz").status, 0);
    const std::string cut = run(regtool + " invert -t whole.nii.gz -o no.nii.gz").err;
    EXPECT_NE(cut.find("% of its grid beyond that grid"), std::string::npos) << cut;
    const Outcome inverted =
        run(regtool + " invert -t whole.nii.gz --moving m.nii.gz -o back.nii.gz");
    ASSERT_EQ(inverted.status, 0);
    EXPECT_EQ(inverted.err, "");
    for (const std::string t : {"back.nii.gz", "[whole.nii.gz,1]"}) {
      std::string apply = regtool;
      apply.append(" apply -i f.nii.gz -r m.nii.gz -o w.nii.gz -t ").append(t);
      ASSERT_EQ(run(apply).status, 0) << t;
      const HostImage w = read_image(path("w.nii.gz"));
      double worst = 0;
      for (std::size_t i = 0; i < voxels.size(); ++i)
        worst = std::max(worst, std::abs(double(w.voxels[i]) - double(voxels[i])));
      EXPECT_LT(worst, 0.1) << t << ", " << mm << " mm";
    }
  }
}

/// As FNIRT's between images that are stored along other axes.
TEST_F(RegtoolTransforms, AFieldThatTurnsIsInvertedOrRefused) {
  const Geometry grid = read_geometry(path("f.nii.gz"));
  const Eigen::Affine3d turn =
      Eigen::Translation3d(grid.center() + Eigen::Vector3d(3, 2, 1)) *
      Eigen::AngleAxisd(EIGEN_PI / 2, Eigen::Vector3d(1, 0.3, 0.2).normalized()) *
      Eigen::Translation3d(-grid.center());
  write_affine(path("turn.mat"), turn, Eigen::Vector3d::Zero());
  ASSERT_EQ(run(regtool + " compose -r f.nii.gz -t turn.mat -o turned.nii.gz").status, 0);
  Geometry there = grid;
  there.origin = turn * grid.origin;
  there.direction = turn.linear() * grid.direction;
  write_image(path("m.nii.gz"), there, std::vector<float>(grid.extent.count(), 1));
  ASSERT_EQ(run(regtool + " invert -t turned.nii.gz --moving m.nii.gz -o back.nii.gz").status, 0);
  const HostField back = read_displacement(path("back.nii.gz"));
  const Eigen::Vector3d corner(1, 2, 3), to = there.index_to_world() * corner;
  for (const std::string t : {"back.nii.gz", "[turned.nii.gz,1]"}) {
    text("p.csv", std::to_string(to.x()) + "," + std::to_string(to.y()) + "," +
                      std::to_string(to.z()) + "\n");
    std::string points = regtool;
    const Outcome o =
        run(points.append(" points -i p.csv -o q.csv --direction fixed-to-moving -t ").append(t));
    ASSERT_EQ(o.status, 0) << o.err;
    Eigen::Vector3d q;
    char comma;
    std::ifstream(path("q.csv")) >> q.x() >> comma >> q.y() >> comma >> q.z();
    EXPECT_LT((q - grid.index_to_world() * corner).norm(), 1e-3) << t;
  }
  // A field that folds all over has no inverse.
  write_displacement(path("folds.nii.gz"), grid, field_planes(grid.extent, [](int x, int y, int z) {
                       return Eigen::Vector3d((x % 2 ? 6 : -6), (y % 3 ? 5 : -5), z % 2 ? 4 : -4);
                     }));
  const Outcome folds = run(regtool + " invert -t folds.nii.gz -o no.nii.gz");
  EXPECT_EQ(folds.status, 1);
  EXPECT_NE(folds.err.find("'folds.nii.gz' has no inverse: what was found misses by "),
            std::string::npos)
      << folds.err;
  EXPECT_FALSE(std::filesystem::exists(path("no.nii.gz")));
  EXPECT_EQ(run(regtool + " apply -r f.nii.gz -i f.nii.gz -o no.nii.gz -t [folds.nii.gz,1]").status,
            1);
}

TEST_F(RegtoolTransforms, WhatLiesBeyondAFieldIsSaid) {
  const Geometry grid = read_geometry(path("f.nii.gz"));
  write_displacement(path("u.nii.gz"), grid, field_planes(grid.extent, [](int x, int y, int z) {
                       return wave(x, y, z, 0.5);
                     }));
  const auto reference = [&](const std::string& name, int longer, double farther) {
    Geometry g = grid;
    g.extent.x += longer;
    g.spacing.x() *= farther;
    write_image(path(name), g, std::vector<float>(g.extent.count(), 1.f));
  };
  reference("long.nii.gz", 12, 1);
  reference("rim.nii.gz", 1, 1);
  reference("coarse.nii.gz", -5, 2);
  const std::string words =
      "50 % of the reference's voxels lie beyond the field's grid, where nothing is displaced";
  for (const std::string call :
       {" compose -o o.nii.gz -t u.nii.gz -r ", " jacobian -o o.nii.gz -t a.mat -t u.nii.gz -r ",
        " apply -i long.nii.gz -o o.nii.gz -t u.nii.gz -r ",
        " measure --moving-labels f.nii.gz -t u.nii.gz --fixed-labels "}) {
    const std::string said = run(regtool + call + "long.nii.gz").err;
    EXPECT_NE(said.find(words), std::string::npos) << call << said;
    for (const char* alike : {"f.nii.gz", "rim.nii.gz", "coarse.nii.gz"})
      EXPECT_EQ(run(regtool + call + alike).err.find("beyond"), std::string::npos) << call << alike;
  }
  const std::string nothing_there =
      run(regtool + " apply -i f.nii.gz -o o.nii.gz -t u.nii.gz -r long.nii.gz").err;
  EXPECT_EQ(nothing_there, "") << "what no image holds is not seen";
}

TEST_F(RegtoolTransforms, FoldsHaveNoLogarithm) {
  const Geometry grid = read_geometry(path("f.nii.gz"));
  write_displacement(path("u.nii.gz"), grid, field_planes(grid.extent, [](int x, int, int) {
                       return Eigen::Vector3d(x < 6 ? 4 : 0, 0, 0);
                     }));
  const std::string call = regtool + " jacobian -r f.nii.gz -t u.nii.gz -o j.nrrd";
  ASSERT_EQ(run(call).err, "");
  const std::string said = run(call + " --log").err;
  EXPECT_NE(said.find(" voxels fold, where the logarithm is NaN"), std::string::npos) << said;
  const std::vector<float> voxels = read_image(path("j.nrrd")).voxels;
  const auto folds = std::ranges::count_if(voxels, [](float v) { return std::isnan(v); });
  EXPECT_NE(said.find("warning: " + std::to_string(folds) + " voxels"), std::string::npos) << folds;
}

/// The inverse of two fields begins where the second ends.
TEST_F(RegtoolTransforms, TheInverseOfTwoFieldsIsOnTheLastOnesGrid) {
  const Geometry first = oblique_geometry({12, 14, 16}, {1.5, 2, 2.5});
  const Geometry last = oblique_geometry({20, 18, 16}, {1.2, 1.6, 2.2});
  const auto field = [](const Geometry& grid) {
    return field_planes(grid.extent, [](int x, int y, int z) { return wave(x, y, z, 0.5); });
  };
  write_displacement(path("1.nii.gz"), first, field(first));
  write_displacement(path("2.nii.gz"), last, field(last));
  ASSERT_EQ(run(regtool + " convert -t 1.nii.gz -t 2.nii.gz --to itk -o two.h5").status, 0);
  ASSERT_EQ(run(regtool + " invert -t two.h5 -o back.nii.gz").status, 0);
  EXPECT_TRUE(same_grid(read_geometry(path("back.nii.gz")), last));
}

/// As from a header in another unit.
TEST_F(RegtoolTransforms, AFieldOfAnAffineMayLeadFar) {
  Eigen::Affine3d tenfold = Eigen::Affine3d::Identity();
  tenfold.linear() *= 10;
  write_affine(path("tenfold.mat"), tenfold, Eigen::Vector3d::Zero());
  ASSERT_EQ(run(regtool + " compose -r f.nii.gz -t tenfold.mat -o whole.nii.gz").status, 0);
  EXPECT_EQ(run(regtool + " compose -r f.nii.gz -t whole.nii.gz -o again.nii.gz").status, 0);
  const Geometry grid = read_geometry(path("f.nii.gz"));
  write_displacement(path("wild.nii.gz"), grid, field_planes(grid.extent, [](int x, int y, int z) {
                       return wave(x, y, z, 900);
                     }));
  expect_refusal(run(regtool + " compose -r f.nii.gz -t wild.nii.gz -o again.nii.gz"),
                 "positions or of another unit");
}

/// What a command that lacks convert's options says: the call of convert, which then mends it.
class ConvertIsNamed : public RegtoolTransforms {
 protected:
  void SetUp() override {
    RegtoolTransforms::SetUp();
    const Geometry grid = oblique_geometry({12, 14, 16}, {1.5, 2, 2.5});
    write_displacement(path("u.nii.gz"), grid, field_planes(grid.extent, [](int x, int y, int z) {
                         return wave(x, y, z, 1);
                       }));
    const std::string both = regtool + " convert --fixed f.nii.gz --moving f.nii.gz ";
    for (const char* call :
         {"-t a.mat --to fsl -o flirt.mat", "-t u.nii.gz --to fsl -o fnirt.nii.gz",
          "-t u.nii.gz --to mrtrix -o mrtrix.nii.gz", "-t u.nii.gz --to niftyreg -o nreg.nii.gz",
          "-t a.mat --to freesurfer -o a.lta"})
      ASSERT_EQ(run(both + call).status, 0);
  }
  static std::string convert(const std::string& file, const std::string& options) {
    return "regtool convert -t " + file + " --from " + options + " --to itk -o OUT";
  }
};

TEST_F(ConvertIsNamed, ByCommandsWithoutTheMovingImage) {
  for (const std::string file : {"flirt.mat", "fnirt.nii.gz"}) {
    const std::string mend =
        "must be known; convert it first: " + convert(file, "fsl --fixed FIXED --moving MOVING");
    for (std::string call :
         {" points -i p.csv -o out.csv --direction fixed-to-moving", " invert -o out.nii.gz",
          " compose -r f.nii.gz -o out.nii.gz", " jacobian -r f.nii.gz -o out.nii.gz",
          " measure --fixed-points p.csv --moving-points p.csv"})
      expect_refusal(run(regtool + call.append(" -t ").append(file)), mend);
  }
  ASSERT_EQ(run(regtool + " convert -t 'fnirt.nii.gz' --from fsl --fixed f.nii.gz --moving "
                          "f.nii.gz --to itk -o itk.nii.gz")
                .status,
            0);
  EXPECT_EQ(run(regtool + " invert -t itk.nii.gz -o inverse.nii.gz").status, 0);
}

TEST_F(ConvertIsNamed, ByCommandsWithoutAFormat) {
  const std::string mend = "transform it is (FSL, MRtrix, SPM, AFNI); convert it first: " +
                           convert("mrtrix.nii.gz", "FORMAT");
  for (std::string call : {" points -i p.csv -o out.csv --direction fixed-to-moving",
                           " apply -i f.nii.gz -r f.nii.gz -o out.nii.gz"})
    expect_refusal(run(regtool + call.append(" -t mrtrix.nii.gz")), mend);
  expect_refusal(run(regtool + " convert -t mrtrix.nii.gz --to itk -o out.nii.gz"),
                 "name the format with --from");
}

TEST_F(ConvertIsNamed, ByWarnings) {
  expect_warning(" points -i p.csv -o q.csv --direction fixed-to-moving -t g.aff12.1D",
                 "is wrong if one of them is oblique; convert it first: " +
                     convert("g.aff12.1D", "afni --fixed FIXED --moving MOVING"));
}

TEST_F(ConvertIsNamed, ForWhatIsNoStart) {
  const std::string call = program_path("linreg") + " -f f.nii.gz -m f.nii.gz -o out_ --init ";
  const std::string images = " --fixed FIXED --moving MOVING";
  const auto refused = [&](const std::string& file, const std::string& options) {
    expect_refusal(run(call + file), convert(file, options));
    expect_refusal(run(call + "u.nii.gz --init " + file), convert(file, options));
  };
  refused("flirt.mat", "fsl" + images);
  refused("a.lta", "freesurfer" + images);
  refused("g.aff12.1D", "afni" + images);
  expect_refusal(run(call + "nreg.nii.gz"), convert("nreg.nii.gz", "niftyreg"));
  expect_refusal(run(call + "mrtrix.nii.gz"), convert("mrtrix.nii.gz", "FORMAT" + images));
  expect_refusal(run(call + "momnets"),
                 "'momnets': there is no such file, nor is it moments, center or identity");
  expect_refusal(run(call + "'[a.mat,1]'"),
                 "--init '[a.mat,1]' takes no inverse; write it first: regtool convert -t "
                 "\"[FILE,1]\" --to itk -o OUT.tfm");
  text("pairs.tsv", "fixed\tmoving\toutput\tinit\nf.nii.gz\tf.nii.gz\tout_\t[a.mat,1]\n");
  expect_refusal(run(program_path("linreg") + " --pairs pairs.tsv"), "takes no inverse");
}

TEST_F(ConvertIsNamed, NotForWhatNoFormatReads) {
  text("scene.mrml", "<?xml version=\"1.0\"?>\n<MRML version=\"Slicer 5.6\">\n</MRML>\n");
  text("reg.dcm", std::string(128, '\0') + "DICM" + std::string(200, '\1'));
  text("mni.xfm", "MNI Transform File\nTransform_Type = Linear;\nLinear_Transform =\n1 0 0 0;\n");
  text("register.dat", "bert\n1\n1\n0.15\n1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\nround\n");
  const std::string linreg = program_path("linreg") + " -f f.nii.gz -m f.nii.gz -o out_ --init ";
  const std::pair<const char*, const char*> said[] = {
      {"mni.xfm", "it is an .xfm of MINC, which is not read; let lta_convert --inmni make an .lta"},
      {"register.dat",
       "it is FreeSurfer's register.dat, which is not read; let lta_convert --inreg"},
      {"scene.mrml", "it is a scene of 3D Slicer, which is not read; save the transform itself"},
      {"reg.dcm", "it is DICOM, which is not read; convert images with dcm2niix"}};
  for (const auto& [file, words] : said)
    for (const std::string& call : {linreg, regtool + " info "}) {
      const Outcome o = run(call + file);
      expect_refusal(o, words);
      EXPECT_EQ(o.err.find("FORMAT"), std::string::npos) << o.err;
    }
  for (const char* file : {"mni.xfm", "register.dat"})
    expect_refusal(
        run(regtool + " convert --from freesurfer --to itk -o x.tfm -t " + std::string(file)),
        "lta_convert");
  text("matrix.dat", "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n");
  expect_refusal(run(regtool + " info matrix.dat"), "it does not say whose transform it is");
  // elastix' own, of which the beginning was left out, is told what it lacks.
  text("cut.txt", "(NumberOfParameters 12)\n");
  expect_refusal(run(regtool + " info cut.txt"), "it lacks (Transform");
  expect_refusal(run(regtool + " convert --to mrtrix -o w.mif -t a.mat"),
                 "MRtrix's own image format is not written; write .nii.gz");
}

/// FNIRT's fields count from corners of both images.
TEST_F(ConvertIsNamed, NotWhereAnInverseHasBothImages) {
  const Outcome o =
      run(regtool + " invert -t fnirt.nii.gz --fixed f.nii.gz --moving f.nii.gz -o back.nii.gz");
  EXPECT_EQ(o.status, 0) << o.err;
  ASSERT_EQ(run(regtool + " invert -t u.nii.gz --moving f.nii.gz -o expected.nii.gz").status, 0);
  const HostField back = read_displacement(path("back.nii.gz")),
                  expected = read_displacement(path("expected.nii.gz"));
  for (std::size_t i = 0; i < back.planes.size(); ++i)
    ASSERT_NEAR(back.planes[i], expected.planes[i], 1e-3);
}

TEST_F(ConvertIsNamed, ComposeIsForAStartThatDisplacesLast) {
  ASSERT_EQ(run(regtool + " convert -t a.mat -t u.nii.gz --to itk -o late.h5").status, 0);
  const std::string call = program_path("ffdreg") +
                           " -f f.nii.gz -m f.nii.gz -o out_ --start none --levels 1 "
                           "--iterations 1 --init ";
  expect_refusal(run(call + "late.h5"),
                 "only the other order can be used: regtool compose -r FIXED -t FILE");
  ASSERT_EQ(run(regtool + " compose -r f.nii.gz -t late.h5 -o whole.nii.gz").status, 0);
  EXPECT_EQ(run(call + "whole.nii.gz").status, 0);
}

TEST_F(ConvertIsNamed, NotWhereAnOptionGivesTheFixedImage) {
  std::string spline =
      "#Insight Transform File V1.0\n#Transform 0\nTransform: BSplineTransform_double_3_3\n"
      "Parameters:";
  for (int i = 0; i < 192; ++i) spline += " 0";
  text("s.txt", spline + "\nFixedParameters: 4 4 4 0 0 0 9 9 9 1 0 0 0 1 0 0 0 1\n");
  const std::string measure = " measure --fixed-points p.csv --moving-points p.csv -t s.txt ";
  expect_refusal(run(regtool + measure), "'s.txt' needs --fixed: ");
  EXPECT_EQ(run(regtool + measure + "--fixed f.nii.gz").status, 0);
  expect_refusal(run(regtool + " measure --field nreg.nii.gz"), convert("nreg.nii.gz", "niftyreg"));
  expect_refusal(run(regtool + " measure --field s.txt"),
                 "evaluated on the fixed image's grid; convert it first: " +
                     convert("s.txt", "itk --fixed FIXED"));
  expect_refusal(run(regtool + measure + "--fixed f.nii.gz -t a.mat -t s.txt"),
                 convert("s.txt", "itk --fixed FIXED") +
                     ", where FIXED is an image of the space that the affine before it leads to");
}

}  // namespace regtool_transforms_test
}  // namespace freeflow
