#include <apps/atlas/member_transforms.h>

#include <algorithm>
#include <filesystem>
#include <future>

#include <apps/device_images.h>
#include <apps/output_names.h>
#include <apps/program.h>
#include <apps/results.h>

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

ContentKey content_of_files(const std::vector<InputImage>& channels) {
  ContentKey key;
  for (const InputImage& c : channels)
    key = derived_key("channel", {key, content_key(std::span<const float>(c.voxels.voxels))});
  return key;
}

bool all_there(const OutputNames& names) {
  return std::ranges::all_of(names.all(), [&](const std::string& name) {
    return std::filesystem::exists(names.prefix + name);
  });
}

}  // namespace

void write_member_transforms(Context& ctx, const AtlasCommand& command, const NonrigidModel& model,
                             const std::vector<ListedSubject>& subjects, StateFolder& state) {
  RegistrationOptions options{model, parse_linear_model(command.linear), StartKind::automatic, {}};
  std::visit([](LevelOptions& levels) { levels.with_inverse = true; }, options.model);
  KeptImages kept;  // the template serves every subject
  const auto read = [&](std::size_t i) {
    return read_inputs(call_for(command, subjects[i]), &kept);
  };
  std::future<Inputs> next;
  if (!subjects.empty()) next = std::async(std::launch::async, read, 0);
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    const Inputs inputs = next.get();
    if (i + 1 < subjects.size()) next = std::async(std::launch::async, read, i + 1);
    stop_if_interrupted();
    const CommonOptions call = call_for(command, subjects[i]);
    const OutputNames names = nonrigid_names(call);
    const ContentKey key = derived_key(
        "transforms " + command.linear,
        {state.made_by(), content_of_files(inputs.fixed), content_of_files(inputs.moving)});
    if (state.has(key) && all_there(names)) continue;
    DeviceImages images(ctx, &kept, call, inputs, [] {});
    const RegistrationResult found = register_images(ctx, images.fixed().prepared(),
                                                     images.moving().prepared(), options, nullptr);
    Outputs outputs(names);
    ResultFiles files(outputs, Compression(ctx.threads(), Compression::fastest));
    write_displacement_of(ctx, files, found.displacement);
    const auto fixed = images.fixed().as_they_came(ctx, inputs.fixed),
               moving = images.moving().as_they_came(ctx, inputs.moving);
    write_results(ctx, files, {fixed, moving, inputs, Interpolation::linear}, found);
    files.finish();
    outputs.set.commit();
    state.write(key, std::vector<std::byte>());
  }
  state.settle();
}

}  // namespace freeflow::apps
