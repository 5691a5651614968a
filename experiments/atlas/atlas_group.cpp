// atlas_group: groups of images whose mean is known, and how far a template is from it.
//   make   every image i is one of the bases seen through exp(v_i), the v_i sum to zero (of each
//          base), and through a gain of its own; a table for atlas
//   judge  the mean of template -> subject (atlas --transforms) -> hidden image over all subjects,
//          and the correlation of the template with the hidden image
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <apps/options.h>
#include <apps/program.h>
#include <apps/report_parts.h>
#include <experiments/atlas/known_velocities.h>
#include <freeflow/atlas/template_image.h>
#include <freeflow/deform/field_algebra.h>
#include <freeflow/deform/warp.h>
#include <freeflow/io/field_file.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/label_file.h>
#include <freeflow/io/transform_file.h>
#include <freeflow/regularize/gaussian.h>
#include <freeflow/transform/resample.h>
#include <freeflow/transform/transform_operations.h>

namespace po = boost::program_options;
using namespace freeflow;
using namespace freeflow::apps;
using namespace freeflow::experiments;

namespace {

struct Options {
  std::vector<std::string> bases, labels;
  std::string output, prefix, device = "auto";
  int subjects = 30, factor = 1, threads = 0;
  double amplitude = 6;
  bool judge = false;
};

struct Base {
  Volume<float> image;
  std::vector<float> marked;
  KnownVelocities velocities;
};

std::vector<float> marked_of(const std::vector<float>& voxels) {
  double mean = 0;
  for (const float v : voxels) mean += double(v) / double(voxels.size());
  std::vector<float> marked;
  for (const float v : voxels) marked.push_back(v > mean ? 1 : 0);
  return marked;
}

int subjects_of(const Options& o, std::size_t base) {
  const int bases = int(o.bases.size());
  return (o.subjects - int(base) + bases - 1) / bases;
}

Base read_base(Context& ctx, const Options& o, std::size_t b) {
  Volume<float> image = to_volume(ctx, read_image(o.bases[b]));
  if (o.factor > 1) image = decimate(ctx, image, {o.factor, o.factor, o.factor});
  std::vector<float> marked = marked_of(image.to_host(ctx));
  KnownVelocities velocities(image.geometry(), marked, subjects_of(o, b), o.amplitude, 11 + b,
                             ctx.threads());
  return {std::move(image), std::move(marked), std::move(velocities)};
}

std::string name_of(int subject) {
  char name[20];
  std::snprintf(name, sizeof name, "sub%03d", subject);
  return name;
}

/// Labels through u, on the base's (decimated) grid.
void write_warped_labels(Context& ctx, const std::string& from, const std::string& to,
                         const DisplacementField& u) {
  const HostLabels labels = read_labels(from);
  const NumberedLabels<std::uint64_t> numbered = number_labels<std::uint64_t>(labels.labels, 0);
  const Volume<std::int32_t> image(ctx, labels.geometry, numbered.number);
  const std::vector<std::int32_t> seen =
      resample_labels(ctx, image, Transform(u.clone(ctx), Eigen::Affine3d::Identity()),
                      u.geometry(), LabelInterpolation::vote)
          .to_host(ctx);
  HostLabels out{u.geometry(), {}, labels.stored_type, {}};
  for (const std::int32_t n : seen) out.labels.push_back(numbered.of(n));
  write_labels(to, out);
}

int make(Context& ctx, const Options& o) {
  std::filesystem::create_directories(o.output);
  std::ofstream table(o.output + "/subjects.tsv");
  table << "image\tname" << (o.labels.empty() ? "" : "\tlabels") << '\n';
  for (std::size_t b = 0; b < o.bases.size(); ++b) {
    const Base base = read_base(ctx, o, b);
    for (int k = 0; k < subjects_of(o, b); ++k) {
      stop_if_interrupted();
      const int subject = int(b) + k * int(o.bases.size());
      const std::string name = name_of(subject);
      const DisplacementField u = exponential(ctx, base.velocities.of(ctx, k));
      const Geometry& grid = base.image.geometry();
      std::vector<float> seen =
          warp(ctx, base.image, grid, Eigen::Affine3d::Identity(), &u, Interpolation::cubic, 0)
              .to_host(ctx);
      const float gain = float(0.8 + 0.4 * std::fmod(0.618 * subject, 1.0));
      for (float& v : seen) v = std::isfinite(v) ? std::max(0.f, gain * v) : 0;
      write_image(o.output + "/" + name + ".nii.gz", grid, seen, StoredType::float32);
      table << name << ".nii.gz\t" << name;
      if (!o.labels.empty()) {
        write_warped_labels(ctx, o.labels[b], o.output + "/" + name + "_labels.nii.gz", u);
        table << '\t' << name << "_labels.nii.gz";
      }
      table << '\n';
    }
  }
  return done;
}

/// Of one base: the template's own place against the hidden image.
int judge(Context& ctx, const Options& o) {
  const Base base = read_base(ctx, o, 0);
  const Volume<float> made = to_volume(ctx, read_image(o.prefix + "template.nii.gz"));
  const Volume<float> mask = to_volume(ctx, read_image(o.prefix + "mask.nii.gz"));
  const Geometry& grid = made.geometry();
  ExactMean<DisplacementField> sum(ctx, grid, 1024);
  double single = 0;
  for (int k = 0; k < o.subjects; ++k) {
    const std::string files = o.prefix + name_of(k) + "_";
    Transform there(read_displacement(ctx, files + "1Warp.nii.gz"),
                    read_affine(files + "0GenericAffine.mat"));
    there.then(exponential(ctx, base.velocities.of(ctx, k)));
    const DisplacementField to_hidden = compose(ctx, there, grid);
    single += mean_length_mm(ctx, to_hidden, &mask) / o.subjects;
    sum.add(ctx, to_hidden);
  }
  const DisplacementField mean = sum.mean(ctx);
  const Volume<float> moved =
      warp(ctx, base.image, grid, Eigen::Affine3d::Identity(), nullptr, Interpolation::linear, 0);
  const nlohmann::ordered_json json{
      {"template_from_truth_mm", mean_length_mm(ctx, mean, &mask)},
      {"single_subject_from_truth_mm", single},
      {"correlation_with_hidden",
       correlation_of(made.to_host(ctx), moved.to_host(ctx), mask.to_host(ctx))}};
  std::printf("%s\n", json.dump(1).c_str());
  return done;
}

int run(int argc, char** argv) {
  Options o;
  po::options_description options("Options");
  options.add_options()  //
      ("input,i", po::value(&o.bases)->multitoken()->value_name("IMAGE ..."), "the hidden images")(
          "labels", po::value(&o.labels)->multitoken()->value_name("FILE ..."), "theirs")(
          "output,o", po::value(&o.output)->value_name("FOLDER"), "where the group goes")(
          "subjects,n", po::value(&o.subjects)->default_value(o.subjects)->value_name("N"),
          "in all")("amplitude",
                    po::value(&o.amplitude)->default_value(o.amplitude)->value_name("MM"),
                    "of the largest velocity")(
          "factor", po::value(&o.factor)->default_value(o.factor)->value_name("N"),
          "decimate the bases first")("judge", po::bool_switch(&o.judge),
                                      "judge the template of the group that the same -i, -n, "
                                      "--amplitude and --factor made")(
          "prefix", po::value(&o.prefix)->value_name("PREFIX"), "judge: of atlas --transforms")(
          "device", po::value(&o.device)->default_value(o.device), "")(
          "threads", po::value(&o.threads)->default_value(0), "");
  add_help_options(options);
  po::variables_map found;
  if (!parse_command_line(
          argc, argv, "atlas_group",
          {"groups whose mean is known", "Example: atlas_group -i brain.nii.gz -n 30 -o group\n"},
          options, found))
    return done;
  require(!o.bases.empty() && (o.judge || !o.output.empty()), "name -i IMAGE and -o FOLDER");
  require(o.labels.empty() || o.labels.size() == o.bases.size(), "--labels: one for each image");
  Context ctx(Device::parse(o.device), o.threads);
  return o.judge ? judge(ctx, o) : make(ctx, o);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("atlas_group", [&] { return run(argc, argv); });
}
