// atlas_group: groups of images whose mean is known, and how far a template is from it.
//   make   every image i is one of the bases seen through exp(v_i), the v_i sum to zero (of each
//          base), and through a gain of its own; a table for atlas
//   judge  the mean of template -> subject -> hidden image over all subjects, by the maps that the
//          template is the average of (out of atlas' state) and by those of subjects registered to
//          it anew (atlas --transforms), and the correlation of the template with the hidden image
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <apps/atlas/command.h>
#include <apps/atlas/reading.h>
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
  std::string output, prefix, rounds = "2x4", device = "auto";
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

/// The template of --prefix once more, out of its state.
AtlasResult resumed(Context& ctx, const Options& o) {
  AtlasCommand command;
  command.images = {o.output + "/subjects.tsv"};
  command.output = o.prefix;
  command.rounds = o.rounds;
  ReadSubjects read =
      read_subjects(list_subjects(command.images, {}, {}), false, std::max(1, ctx.threads()));
  StateFolder state(o.prefix + "state", made_by(command));
  AtlasSurroundings around;
  around.state = &state;
  return build_atlas(ctx, std::move(read.subjects), atlas_options(command), around);
}

/// Mean length of a mean map's displacement, over the mask.
class FromTruth {
 public:
  FromTruth(Context& ctx, const Geometry& grid, const Volume<float>& mask)
      : ctx_(ctx), mask_(mask), sum_(ctx, grid, 1024) {}
  void add(Transform there, DisplacementField to_hidden) {
    there.then(std::move(to_hidden));
    const DisplacementField whole = compose(ctx_, there, mask_.geometry());
    singles_mm_ += mean_length_mm(ctx_, whole, &mask_);
    sum_.add(ctx_, whole);
    ++subjects_;
  }
  double of_mean_mm() const { return mean_length_mm(ctx_, sum_.mean(ctx_), &mask_); }
  double single_mm() const { return singles_mm_ / subjects_; }

 private:
  Context& ctx_;
  const Volume<float>& mask_;
  ExactMean<DisplacementField> sum_;
  double singles_mm_ = 0;
  int subjects_ = 0;
};

/// Of one base: the template's own place against the hidden image.
int judge(Context& ctx, const Options& o) {
  const Base base = read_base(ctx, o, 0);
  const Volume<float> made = to_volume(ctx, read_image(o.prefix + "template.nii.gz"));
  const Volume<float> mask = to_volume(ctx, read_image(o.prefix + "mask.nii.gz"));
  const Geometry& grid = made.geometry();
  FromTruth own(ctx, grid, mask), anew(ctx, grid, mask);
  const AtlasResult atlas = resumed(ctx, o);
  for (const AtlasResult::Own& member : atlas.own) {
    const std::string& name = atlas.members[member.member].name;
    const int number = std::stoi(name.substr(3));
    own.add(member_transform(ctx, atlas, member),
            exponential(ctx, base.velocities.of(ctx, number)));
    const std::string files = o.prefix + name + "_";
    anew.add(Transform(read_displacement(ctx, files + "1Warp.nii.gz"),
                       read_affine(files + "0GenericAffine.mat")),
             exponential(ctx, base.velocities.of(ctx, number)));
  }
  const Volume<float> moved =
      warp(ctx, base.image, grid, Eigen::Affine3d::Identity(), nullptr, Interpolation::linear, 0);
  const nlohmann::ordered_json json{
      {"template_from_truth_mm", own.of_mean_mm()},
      {"single_subject_from_truth_mm", own.single_mm()},
      {"registered_anew_from_truth_mm", anew.of_mean_mm()},
      {"single_registered_anew_from_truth_mm", anew.single_mm()},
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
          "rounds", po::value(&o.rounds)->default_value(o.rounds)->value_name("NxN"),
          "judge: as atlas had them")("device", po::value(&o.device)->default_value(o.device), "")(
          "threads", po::value(&o.threads)->default_value(0), "");
  add_help_options(options);
  po::variables_map found;
  if (!parse_command_line(
          argc, argv, "atlas_group",
          {"groups whose mean is known", "Example: atlas_group -i brain.nii.gz -n 30 -o group\n"},
          options, found))
    return done;
  require(!o.bases.empty() && !o.output.empty(), "name -i IMAGE and -o FOLDER");
  require(o.labels.empty() || o.labels.size() == o.bases.size(), "--labels: one for each image");
  Context ctx(Device::parse(o.device), o.threads);
  return o.judge ? judge(ctx, o) : make(ctx, o);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("atlas_group", [&] { return run(argc, argv); });
}
