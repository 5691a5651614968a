#include <apps/atlas/member_transforms.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <optional>
#include <span>
#include <utility>

#include <apps/device_images.h>
#include <apps/output_names.h>
#include <apps/program.h>
#include <apps/results.h>
#include <apps/shell_word.h>
#include <apps/stripped_images.h>
#include <freeflow/core/error.h>
#include <freeflow/io/content_hash.h>
#include <freeflow/registration/linear/linear.h>
#include <freeflow/transform/transform_operations.h>

namespace freeflow::apps {

namespace {

/// What a registration program would be called with.
CommonOptions call_for(const AtlasCommand& command, const ListedSubject& subject) {
  CommonOptions call;
  for (std::size_t c = 0; c < subject.channels.size(); ++c)
    call.fixed.push_back(command.output + "template" + (c ? std::to_string(c + 1) : "") +
                         ".nii.gz");
  call.moving = subject.channels;
  call.moving_mask = subject.mask;
  if (!subject.mask.empty()) call.fixed_mask = command.output + "mask.nii.gz";
  call.output = command.output + subject.name + "_";
  call.outputs = "warp,inverse";
  call.similarity = command.similarity;
  call.linear = command.linear;
  return call;
}

/// Of one side, with where it lies, which is where its transforms do, and the space that their
/// headers name.
ContentKey content_of_files(const std::vector<InputImage>& channels,
                            const std::optional<HostImage>& mask) {
  const Geometry& grid = channels.front().voxels.geometry;
  ContentKey key = derived_key("space " + std::to_string(grid.space_code), {content_of_grid(grid)});
  for (const InputImage& c : channels)
    key = derived_key("channel", {key, content_key(std::span<const float>(c.voxels.voxels))});
  if (mask) key = derived_key("mask", {key, content_key(std::span<const float>(mask->voxels))});
  return key;
}

constexpr const char* jacobian_name = "LogJacobian.nii.gz";

/// Files of one subject, and what stands in the state for them: a mark in their own name that holds
/// what they were made from and what they hold. So a mark never stands for files that another run
/// or another program has written since.
class WrittenFiles {
 public:
  WrittenFiles(StateFolder& state, const std::string& prefix, std::vector<std::string> names,
               const ContentKey& origin)
      : state_(state), prefix_(prefix), names_(std::move(names)), origin_(origin) {
    // The state lies beside the files: their folder may be called from anywhere, and moved with it.
    const std::string start = std::filesystem::path(prefix).filename().string();
    std::string of = "written";
    for (const std::string& name : names_) of.append(" ").append(start).append(name);
    mark_ = derived_key(of, {});
  }
  bool there() const {
    if (names_.empty()) return true;
    const auto mark = state_.read(mark_);
    try {
      return mark && *mark == content();
    } catch (const IoError&) {
      return false;  // a file is gone
    }
  }
  /// Before the files are replaced, and once they are in their places.
  void forget() const { state_.remove(mark_); }
  void keep() const {
    if (!names_.empty()) state_.write(mark_, content());
  }

 private:
  /// Throws IoError where a file cannot be read.
  std::vector<std::byte> content() const {
    std::string text = origin_.text();
    for (const std::string& name : names_) text.append(" ").append(content_hash(prefix_ + name));
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }

  StateFolder& state_;
  std::string prefix_;
  std::vector<std::string> names_;
  ContentKey origin_, mark_;
};

/// Of the registrations of the end; none is named where it is that of the programs.
std::string linear_stage(const AtlasCommand& command) {
  return command.linear + (command.linear_search == "auto" ? "" : " by " + command.linear_search);
}

/// What the registration program gives. A search of the command's own begins where the centres of
/// mass meet, as it does for the template.
RegistrationResult registered(Context& ctx, const AtlasCommand& command, const AtlasOptions& atlas,
                              DeviceImages& images, Inputs& inputs) {
  PreparedImage &fixed = images.fixed().prepared(), &moving = images.moving().prepared();
  RegistrationOptions options{
      atlas.model, atlas.linear, StartKind::automatic, {}, command.levels > 0};
  std::optional<LinearResult> first;
  std::visit(
      [&](LevelOptions& levels) {
        levels.with_inverse = command.transforms;
        if (atlas.search == LinearSearch::automatic) return;
        LinearOptions linear;
        linear.similarity = linear_choice(levels.similarity);
        linear.model = atlas.linear;
        linear.search = atlas.search;
        linear.keep_better_start = true;
        linear.initial = initial_affine({"moments"}, inputs);
        first = register_linear(ctx, fixed, moving, linear, nullptr);
        levels.initial = first->affine;
      },
      options.model);
  if (first) options.linear.reset();
  RegistrationResult found = register_images(ctx, fixed, moving, options, nullptr);
  if (first) found.linear = std::move(first);
  return found;
}

const AtlasMember& member_of(const AtlasResult& atlas, const std::string& name) {
  return *std::ranges::find(atlas.members, name, &AtlasMember::name);
}

/// What the registration program says once it has read its images; of a turn that the template has,
/// too, that has been said.
void print_said(const AtlasCommand& command, const AtlasMember& member,
                std::span<const std::string> of_images, const RegistrationResult& found) {
  std::vector<std::string> said(of_images.begin(), of_images.end());
  if (found.linear)
    said.insert(said.end(), found.linear->warnings.begin(), found.linear->warnings.end());
  const auto turn = said_of_turn(found.affine);
  if (turn && !said_of_turn(member.affine)) said.push_back(*turn);
  said.insert(said.end(), found.warnings.begin(), found.warnings.end());
  for (std::string& sentence : said)
    sentence.insert(0, "transforms of subject '" + member.name + "': ");
  print_warnings("atlas", said, command.quiet);
}

}  // namespace

std::vector<std::string> member_suffixes(const AtlasCommand& command,
                                         const std::vector<ListedSubject>& subjects) {
  std::vector<std::string> suffixes;
  for (const ListedSubject& subject : subjects) {
    if (command.transforms)
      for (const std::string& name : nonrigid_names(call_for(command, subject)).all())
        suffixes.push_back(subject.name + "_" + name);
    if (command.jacobians) suffixes.push_back(subject.name + "_" + jacobian_name);
  }
  return suffixes;
}

void write_member_files(Context& ctx, const AtlasCommand& command, const AtlasOptions& options,
                        const AtlasResult& atlas, const std::vector<ListedSubject>& subjects,
                        StateFolder& state) {
  KeptImages kept;  // the template serves every subject
  const auto read = [&](std::size_t i) {
    return read_inputs(call_for(command, subjects[i]), &kept);
  };
  std::future<Inputs> next;
  if (!subjects.empty()) next = std::async(std::launch::async, read, 0);
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    Inputs inputs = next.get();
    if (i + 1 < subjects.size()) next = std::async(std::launch::async, read, i + 1);
    stop_if_interrupted();
    const CommonOptions call = call_for(command, subjects[i]);
    const ContentKey origin =
        derived_key("transforms " + linear_stage(command),
                    {state.made_by(), content_of_files(inputs.fixed, inputs.fixed_mask),
                     content_of_files(inputs.moving, inputs.moving_mask)});
    OutputNames names;
    names.prefix = call.output;
    if (command.transforms) names = nonrigid_names(call);
    std::vector<std::string> maps;
    if (command.jacobians) maps.emplace_back(jacobian_name);
    const WrittenFiles transforms(state, call.output, names.all(), origin),
        jacobian(state, call.output, maps, origin);
    if (transforms.there() && jacobian.there()) continue;
    try {
      const std::size_t said_already = inputs.warnings.size();
      leave_stripped_out(ctx, call, inputs);
      DeviceImages images(ctx, &kept, call, inputs, [] {});
      const RegistrationResult found = registered(ctx, command, options, images, inputs);
      print_said(command, member_of(atlas, subjects[i].name),
                 std::span(inputs.warnings).subspan(said_already), found);
      Outputs outputs(names);
      ResultFiles files(outputs, Compression(ctx.threads(), Compression::fastest));
      if (command.transforms) {
        write_displacement_of(ctx, files, found.displacement);
        const auto fixed = images.fixed().as_they_came(ctx, inputs.fixed),
                   moving = images.moving().as_they_came(ctx, inputs.moving);
        write_results(ctx, files, {fixed, moving, inputs, Interpolation::linear}, found);
      }
      if (command.jacobians)
        files.add_image(ctx, jacobian_name,
                        log_jacobian(ctx, Transform(found.displacement.lend(), found.affine),
                                     found.displacement.geometry()));
      files.finish();
      transforms.forget();
      jacobian.forget();
      outputs.set.commit();
      transforms.keep();
      jacobian.keep();
    } catch (const RegistrationError& e) {
      if (!command.keep_going) throw;
      print_warnings("atlas", {"'" + subjects[i].name + "' has no transforms: " + e.what()},
                     command.quiet);
    }
  }
  state.settle();
}

std::string transform_commands(const AtlasCommand& command, const ListedSubject& subject) {
  const auto file = [&](const char* name) { return command.output + subject.name + '_' + name; };
  const std::string affine = file("0GenericAffine.mat");
  return "an image of '" + subject.name +
         "' onto the template, and labels of the template back:\n" + "  regtool apply -r " +
         shell_word(command.output + "template.nii.gz") + " -i IMAGE -o OUT -t " +
         shell_word(file("1Warp.nii.gz")) + " -t " + shell_word(affine) + "\n  regtool apply -r " +
         shell_word(subject.channels[0]) + " -i LABELS -o OUT --interpolation labels -t " +
         shell_word("[" + affine + ",1]") + " -t " + shell_word(file("1InverseWarp.nii.gz")) + '\n';
}

}  // namespace freeflow::apps
