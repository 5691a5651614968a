// A template in a hundred lines, by a scheme of one's own, out of the library's parts: what to
// start from when `atlas` (or its one call, build_atlas) is not the template you want.
//
//   my_template OUT.nii.gz SUBJECT.nii.gz SUBJECT.nii.gz ...      (images of one contrast)
//
// Affine maps to the first subject, their mean in the log domain taken out; then four rounds: every
// subject is registered from where it was left, the mean deformation is inverted and taken out of
// all, and the subjects, sampled once, are averaged by exact sums.
#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

#include <freeflow/deform/affine_algebra.h>
#include <freeflow/deform/exact_mean.h>
#include <freeflow/deform/field_algebra.h>
#include <freeflow/deform/warp.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/registration_files.h>
#include <freeflow/registration/register_images.h>
#include <freeflow/similarity/intensity_range.h>

using namespace freeflow;

namespace {

struct Subject {
  Volume<float> image;
  Eigen::Affine3d affine;  // template point to subject point (mm)
  DisplacementField u;     // before it, on the template's grid
};

/// The robust range becomes 0 to 1.
Volume<float> normalised(Context& ctx, const Volume<float>& image) {
  const IntensityRange range = robust_range(ctx, image, "a subject");
  std::vector<float> voxels = image.to_host(ctx);
  for (float& v : voxels) v = (v - range.low) / (range.high - range.low);
  return Volume<float>(ctx, image.geometry(), voxels);
}

Volume<float> average(Context& ctx, const std::vector<Subject>& subjects, const Geometry& grid) {
  ExactMean<Volume<float>> sum(ctx, grid, 100);
  for (const Subject& s : subjects)
    sum.add(ctx, warp(ctx, s.image, grid, s.affine, s.u.extent().count() ? &s.u : nullptr,
                      Interpolation::linear, NAN));
  return sum.mean(ctx);
}

void align_linearly(Context& ctx, std::vector<Subject>& subjects) {
  std::vector<Eigen::Affine3d> maps;
  for (Subject& s : subjects)
    maps.push_back(&s == &subjects[0] ? Eigen::Affine3d::Identity()
                                      : register_linear(ctx, subjects[0].image, s.image).affine);
  const Eigen::Affine3d from_mean = log_mean(maps).inverse();
  for (std::size_t i = 0; i < subjects.size(); ++i) subjects[i].affine = maps[i] * from_mean;
}

/// One round; the new template.
Volume<float> improved(Context& ctx, const Volume<float>& made, std::vector<Subject>& subjects) {
  const Geometry& grid = made.geometry();
  PreparedImage fixed(made.lend());
  ExactMean<DisplacementField> sum(ctx, grid, 1000);
  for (Subject& s : subjects) {
    FlowOptions flow;
    flow.initial = s.affine;
    const DisplacementField start = std::move(s.u);
    if (start.extent().count()) {  // from where it was left, on the finest level
      flow.initial_displacement = &start;
      flow.first_level = flow.levels - 1;
    }
    PreparedImage moving(s.image.lend());
    s.u = register_flow(ctx, fixed, moving, flow).displacement;
    sum.add(ctx, s.u);
  }
  const DisplacementField mean = sum.mean(ctx), back = invert(ctx, mean).field;
  for (Subject& s : subjects) s.u = compose(ctx, back, s.u);
  std::printf("mean deformation %.3f mm\n", mean_length_mm(ctx, mean));
  return average(ctx, subjects, grid);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) {
    std::fprintf(stderr, "usage: my_template OUT.nii.gz SUBJECT.nii.gz SUBJECT.nii.gz ...\n");
    return 2;
  }
  Context ctx(Device::parse("auto"));
  std::vector<Subject> subjects;
  for (int i = 2; i < argc; ++i)
    subjects.push_back(
        {normalised(ctx, read_volume(ctx, argv[i])), Eigen::Affine3d::Identity(), {}});
  align_linearly(ctx, subjects);
  const Geometry grid = subjects[0].image.geometry();
  Volume<float> made = average(ctx, subjects, grid);
  for (int round = 0; round < 4; ++round) made = improved(ctx, made, subjects);
  std::vector<float> voxels = made.to_host(ctx);
  for (float& v : voxels) v = std::isfinite(v) ? v : 0;
  write_image(argv[1], grid, voxels);
} catch (const std::exception& e) {
  std::fprintf(stderr, "my_template: %s\n", e.what());
  return 1;
}
