// Templates of groups whose mean is known, and what must not change a bit of them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>

#include <atlas/known_group.h>
#include <freeflow/atlas/frame.h>
#include <freeflow/atlas/intensities.h>
#include <freeflow/atlas/template_image.h>
#include <freeflow/deform/affine_algebra.h>
#include <freeflow/deform/field_algebra.h>
#include <freeflow/transform/transform_operations.h>
#include <support/devices.h>
#include <support/thread_ranks.h>

using namespace freeflow;
using namespace freeflow::test;

namespace {

/// Few and short rounds: for what does not depend on how well it registers.
AtlasOptions quick() {
  AtlasOptions o;
  FlowOptions flow;
  flow.levels = 2;
  flow.iterations = {6, 2};
  o.model = flow;
  o.search = LinearSearch::gradient;
  o.rounds = {1, 2};
  o.enough_voxels = 0;
  return o;
}

/// NaN equals nothing, so it becomes a number that the template has not.
std::vector<float> comparable(Context& ctx, const AtlasResult& r) {
  std::vector<float> image = r.channels[0].to_host(ctx);
  for (float& v : image) v = std::isnan(v) ? -12345 : v;
  return image;
}

std::vector<float> template_of(Context& ctx, std::vector<AtlasSubject> subjects,
                               const AtlasOptions& o, const AtlasSurroundings& around = {}) {
  return comparable(ctx, build_atlas(ctx, std::move(subjects), o, around));
}

std::filesystem::path new_folder(const std::string& name) {
  auto folder = std::filesystem::temp_directory_path() /
                ("freeflow_atlas_" + name + std::to_string(getpid()));
  std::filesystem::remove_all(folder);
  return folder;
}

/// Counts what was registered and ends the work after so many subjects.
struct Counter : AtlasObserver {
  int limit = 1 << 30, registered = 0, resumed = 0, rounds = 0;
  void on_subject(AtlasStage, int, std::size_t, std::size_t, bool was_there) override {
    (was_there ? resumed : registered) += 1;
  }
  void on_round(const AtlasRound&) override { ++rounds; }
  bool stop_requested() override { return registered >= limit; }
};

/// In the first round the registration of the third subject fails.
struct FailsOnce : Counter {
  bool now = false;
  const std::string why = "as planned, at length: " + std::string(400, 'x');
  void on_subject(AtlasStage stage, int round, std::size_t done, std::size_t all,
                  bool was_there) override {
    Counter::on_subject(stage, round, done, all, was_there);
    now = stage == AtlasStage::rounds && round == 0 && done == 2;
  }
};

}  // namespace

class Atlas : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Atlas);

TEST_P(Atlas, RecoversTheImageAndItsShape) {
  AtlasOptions o;
  FlowOptions flow;
  flow.levels = 3;
  flow.iterations = {40, 30, 12};
  o.model = flow;
  o.search = LinearSearch::gradient;
  o.rounds = {1, 3};
  const AtlasResult r = build_atlas(ctx, known_group(4, 30), o);
  AtlasSubject truth = group_subject(0, 30, 0);
  normalise_intensities(truth);
  const std::vector<float> mask = r.mask.to_host(ctx);
  EXPECT_GT(correlation_of(r.channels[0].to_host(ctx), truth.channels[0], mask), 0.99);
  // template point -> subject point -> hidden point, and the mean of all
  ExactMean<DisplacementField> from_truth(ctx, truth.geometry, 64);
  for (const AtlasResult::Own& own : r.own) {
    const int number = std::stoi(r.members[own.member].name.substr(1));
    Transform there = member_transform(ctx, r, own);
    there.then(exponential(
        ctx, DisplacementField(ctx, truth.geometry, group_velocity(truth.geometry, number))));
    from_truth.add(ctx, compose(ctx, there, truth.geometry));
  }
  const double template_mm = mean_length_mm(ctx, from_truth.mean(ctx), &r.mask);
  EXPECT_LT(template_mm, 0.2);
  // the subjects themselves lie much farther
  double subject_mm = 0;
  for (const AtlasRound& round : r.rounds) subject_mm = std::max(subject_mm, round.deformation_mm);
  EXPECT_GT(subject_mm, 4 * template_mm);
  EXPECT_LT(r.rounds.back().change_voxels, o.enough_voxels);
  for (const AtlasMember& m : r.members) EXPECT_GT(m.correlation, 0.97) << m.name;
}

TEST_P(Atlas, OrderAndThreadsChangeNoBit) {
  std::vector<AtlasSubject> group = known_group(4);
  const std::vector<float> first = template_of(ctx, group, quick());
  std::ranges::reverse(group);
  std::swap(group[0], group[2]);
  Context one(GetParam(), 1);
  EXPECT_EQ(template_of(one, group, quick()), first);
}

TEST_P(Atlas, ProcessesChangeNoBit) {
  for (const AtlasStatistic statistic : {AtlasStatistic::mean, AtlasStatistic::median}) {
    AtlasOptions o = quick();
    o.statistic = statistic;
    const std::vector<AtlasSubject> group = known_group(4);
    const std::vector<float> alone = template_of(ctx, group, o);
    for (const int size : {2, 3}) {
      std::vector<std::vector<float>> found(static_cast<std::size_t>(size));
      run_on_ranks(size, [&](Ranks& ranks) {
        std::vector<AtlasSubject> own;
        for (std::size_t i = std::size_t(ranks.rank()); i < group.size(); i += std::size_t(size))
          own.push_back(group[i]);
        Context context(GetParam(), 1);
        found[std::size_t(ranks.rank())] = template_of(context, own, o, {.ranks = &ranks});
      });
      for (const std::vector<float>& image : found) EXPECT_TRUE(image == alone) << size;
    }
  }
}

TEST_P(Atlas, GoesOnWhereItWasEndedToTheSameBits) {
  const std::vector<AtlasSubject> group = known_group(4);
  const std::vector<float> undisturbed = template_of(ctx, group, quick());
  const auto folder = new_folder("resume");
  std::vector<float> resumed;
  int registered = 0, ended = 0;
  for (const int limit : {1, 2, 5, 3, 4, 1 << 30}) {
    StateFolder state(folder.string(), "test");
    Counter counter;
    counter.limit = limit;
    try {
      resumed = template_of(ctx, group, quick(), {.state = &state, .observer = &counter});
    } catch (const Cancelled&) {
      ++ended;
    }
    registered += counter.registered;
  }
  EXPECT_EQ(ended, 5);
  EXPECT_TRUE(resumed == undisturbed);
  EXPECT_EQ(registered, 4 * (2 + 3)) << "two linear stages and three rounds, each subject once";

  // another round starts from the last, and a damaged state is not used
  AtlasOptions more = quick();
  more.rounds.back() = 3;
  StateFolder state(folder.string(), "test");
  Counter counter;
  const std::vector<float> longer =
      template_of(ctx, group, more, {.state = &state, .observer = &counter});
  EXPECT_EQ(counter.registered, 4);
  EXPECT_TRUE(longer == template_of(ctx, group, more));
  for (const auto& file : std::filesystem::directory_iterator(folder))
    std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  EXPECT_TRUE(template_of(ctx, group, more, {.state = &state}) == longer);
  std::filesystem::remove_all(folder);
}

TEST_P(Atlas, GoesOnAfterASubjectHasFailedInARound) {
  const std::vector<AtlasSubject> group = known_group(4);
  const auto folder = new_folder("failed");
  StateFolder state(folder.string(), "test");
  FailsOnce observer;
  AtlasOptions o = quick();
  o.keep_going = true;
  std::get<FlowOptions>(o.model).similarity.factory = [&] {
    if (observer.now) throw RegistrationError(observer.why);
    return make_similarity({.kind = SimilarityKind::ssd});
  };
  const AtlasSurroundings around{.state = &state, .observer = &observer};
  observer.limit = 2 * 4 + 4 + 3 + 1;
  EXPECT_THROW(build_atlas(ctx, group, o, around), Cancelled) << "in the third round";
  state.settle();
  EXPECT_EQ(kept_work(ctx, group, o, around).rounds, 2);

  observer.limit = 1 << 30;
  observer.registered = 0;
  const AtlasResult r = build_atlas(ctx, group, o, around);
  EXPECT_EQ(observer.registered, 2) << "of three, one of which was done";
  const auto failed =
      std::ranges::find_if(r.members, [](const AtlasMember& m) { return !m.failure.empty(); });
  ASSERT_NE(failed, r.members.end());
  EXPECT_NE(failed->failure.find("': " + observer.why), std::string::npos) << failed->failure;
  observer.registered = 0;
  EXPECT_TRUE(template_of(ctx, group, o, around) == comparable(ctx, r));
  EXPECT_EQ(observer.registered, 0);
  state.settle();
  std::vector<std::filesystem::path> files;
  int needed = 0;
  for (const auto& name : std::filesystem::directory_iterator(folder)) files.push_back(name.path());
  for (const auto& file : files) {
    std::filesystem::rename(file, folder.string() + "_aside");
    needed += kept_work(ctx, group, o, around).rounds == 0;
    std::filesystem::rename(folder.string() + "_aside", file);
  }
  EXPECT_EQ(needed, 1 + 3 + 3 + 3) << "the affines, and of rounds record, template, subjects left";
  std::filesystem::remove_all(folder);
}

TEST_P(Atlas, KeepsAVelocityWhereTheModelDoes) {
  AtlasOptions o = quick();
  FlowOptions flow = std::get<FlowOptions>(o.model);
  flow.symmetric = true;
  flow.iterations = {12, 6};
  o.model = flow;
  const AtlasResult r = build_atlas(ctx, known_group(4), o);
  EXPECT_TRUE(r.of_velocities);
  EXPECT_LT(r.rounds.back().drift_mm, r.rounds.front().deformation_mm / 4);
  for (const AtlasResult::Own& own : r.own)
    EXPECT_EQ(member_transform(ctx, r, own).links().size(), 1u);
}

TEST_P(Atlas, OtherModelsChannelsMasksAndAStart) {
  AtlasOptions o = quick();
  FfdOptions ffd;
  ffd.levels = 2;
  ffd.iterations = {4, 2};
  o.model = ffd;
  o.rounds = {1};
  o.sharpening = 0.5;
  std::vector<AtlasSubject> group = known_group(2);
  for (AtlasSubject& s : group) {
    s.mask.assign(s.channels[0].size(), 0);
    std::vector<float> second = s.channels[0];
    for (std::size_t i = 0; i < second.size(); ++i) {
      s.mask[i] = second[i] > 0.1f ? 7 : 0;
      second[i] = 5 - second[i] * second[i];
    }
    s.channels.push_back(second);
  }
  o.start = group[0];
  const AtlasResult r = build_atlas(ctx, group, o);
  EXPECT_EQ(r.channels.size(), 2u);
  EXPECT_TRUE(same_grid(r.channels[0].geometry(), group[0].geometry));
  const std::vector<float> mask = r.mask.to_host(ctx);
  const double inside = double(std::ranges::count(mask, 1.f));
  EXPECT_NEAR(inside, double(std::ranges::count(group[0].mask, 7.f)), 0.15 * inside);
  o.start->channels.pop_back();
  EXPECT_THROW(build_atlas(ctx, group, o), InvalidArgument) << "a channel less";
  o.start = group[0];
  o.start->channels[1].pop_back();
  EXPECT_THROW(build_atlas(ctx, group, o), InvalidArgument) << "a voxel less";
}

TEST_P(Atlas, RefusesWhatMakesNoTemplate) {
  const auto refused = [&](std::vector<AtlasSubject> group, const std::string& words) {
    try {
      build_atlas(ctx, std::move(group), quick());
      FAIL() << words;
    } catch (const std::runtime_error& e) {
      EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
  };
  std::vector<AtlasSubject> group = known_group(2);
  refused({}, "there is no subject");
  refused({group[0]}, "two subjects or more");
  group[1].name = group[0].name;
  refused(group, "the name 's0'");
  group = known_group(2);
  group[1].channels.push_back(group[1].channels[0]);
  refused(group, "different numbers of channels");
  group = known_group(2);
  group[1].mask.assign(group[1].channels[0].size(), 1);
  refused(group, "subject 's0' has no mask");
  group = known_group(2);
  std::ranges::fill(group[1].channels[0], 3.f);
  refused(group, "'s1'");
  group = known_group(2);
  for (float& v : group[1].channels[0]) v = v > 0.5f ? 20 / (1 + v * v) : 0;
  refused(group, "one contrast");
}

/// A subject of another contrast whose object is as large as the other's.
AtlasSubject of_other_contrast(AtlasSubject subject) {
  const auto radius = [](AtlasSubject of) {
    normalise_intensities(of);
    return object_moments(of).radius_mm;
  };
  const double before = radius(subject);
  for (float& v : subject.channels[0]) v = v > 0.5f ? 20 / (1 + v * v) : 0;
  const double factor = before / radius(subject);
  subject.geometry.spacing *= factor;
  subject.geometry.origin *= factor;
  return subject;
}

TEST_P(Atlas, TheContrastIsThatOfMostWhoeverIsOfMiddleSize) {
  std::vector<AtlasSubject> group = known_group(5);
  for (int i = 0; i < 5; ++i) {
    group[std::size_t(i)].geometry.spacing *= 0.92 + 0.04 * i;
    group[std::size_t(i)].geometry.origin *= 0.92 + 0.04 * i;
  }
  group[2] = of_other_contrast(group[2]);
  AtlasOptions o = quick();
  try {
    build_atlas(ctx, group, o);
    FAIL();
  } catch (const RegistrationError& e) {
    EXPECT_NE(std::string(e.what()).find("subject 's2': its intensities run against those of most "
                                         "subjects (4 of 4 others)"),
              std::string::npos)
        << e.what();
  }
  o.keep_going = true;
  const AtlasResult r = build_atlas(ctx, group, o);
  for (const AtlasMember& m : r.members) EXPECT_EQ(m.failure.empty(), m.name != "s2") << m.name;
  const std::vector<float> found = comparable(ctx, r);
  run_on_ranks(2, [&](Ranks& ranks) {
    std::vector<AtlasSubject> own;
    for (std::size_t i = std::size_t(ranks.rank()); i < group.size(); i += 2)
      own.push_back(group[i]);
    Context context(GetParam(), 1);
    EXPECT_TRUE(template_of(context, own, o, {.ranks = &ranks}) == found);
  });
  group.erase(group.begin() + 2);
  EXPECT_TRUE(found == template_of(ctx, group, quick()));
}

TEST_P(Atlas, DistancesFromTheMeanAreThoseAtTheTemplate) {
  std::vector<AtlasSubject> group = known_group(4);
  for (int i = 0; i < 4; ++i) {
    Geometry& grid = group[std::size_t(i)].geometry;
    grid.spacing *= 0.91 + 0.06 * i;
    grid.origin *= 0.91 + 0.06 * i;
    if (i % 3 == 0) grid.origin.y() += 300;
  }
  const AtlasResult r = build_atlas(ctx, group, quick());
  std::vector<Eigen::Affine3d> maps;
  for (const AtlasMember& m : r.members) maps.push_back(m.affine);
  constexpr double radius_mm = 13;
  for (const AtlasMember& m : r.members) {
    const double here =
        affine_distance_mm(m.affine, log_mean(maps), r.mask.geometry().center(), radius_mm);
    EXPECT_NEAR(m.affine_distance_mm, here, 0.3) << m.name;
  }
}

TEST_P(Atlas, LeavesOutWhoFailsIfToldSo) {
  std::vector<AtlasSubject> group = known_group(3);
  std::ranges::fill(group[1].channels[0], 3.f);
  AtlasOptions o = quick();
  o.keep_going = true;
  const AtlasResult r = build_atlas(ctx, group, o);
  std::set<std::string> failed;
  for (const AtlasMember& m : r.members)
    if (!m.failure.empty()) failed.insert(m.name);
  EXPECT_EQ(failed, std::set<std::string>{"s1"});
  EXPECT_EQ(r.own.size(), 2u);
  group.erase(group.begin() + 1);
  EXPECT_TRUE(comparable(ctx, r) == template_of(ctx, group, o));
}
