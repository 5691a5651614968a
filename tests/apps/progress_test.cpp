// What is said while a registration runs: lines of text, and the time left of a run whose times are
// known.
#include <gtest/gtest.h>

#include <apps/help.h>
#include <apps/progress_line.h>
#include <freeflow/core/error.h>

namespace progress_test {

using namespace freeflow;
using namespace freeflow::apps;

LevelRecord level_of(int level, int iterations, int most) {
  LevelRecord record;
  record.level = level;
  record.levels = 3;
  record.grid = {40, 48, 56};
  record.max_iterations = most;
  record.iterations.resize(std::size_t(iterations) + 1);
  record.iterations.front().similarity = -0.5;
  record.iterations.back().similarity = -0.75;
  return record;
}

TEST(ProgressLine, SaysStageLevelIterationsAndTheCostWithItsSign) {
  EXPECT_EQ(progress_line("flow", "lncc", level_of(1, 12, 60)),
            "flow 2/3  40x48x56  iteration 12 of 60  lncc cost -0.50000 -> -0.75000");
  LevelRecord none = level_of(0, 0, 10);
  none.iterations.clear();
  EXPECT_EQ(progress_line("linear", "nmi", none), "linear 1/3  40x48x56");
}

TEST(ProgressLine, NeverCountsBeyondTheMost) {
  EXPECT_EQ(progress_line("linear", "nmi", level_of(0, 32, 30)),
            "linear 1/3  40x48x56  iteration 32  nmi cost -0.50000 -> -0.75000");
}

TEST(ProgressLine, IsClipped) {
  EXPECT_EQ(clipped("0123456789", 4), "0123");
  EXPECT_EQ(clipped("0123456789", 70), "0123456789");
  EXPECT_EQ(clipped("0123456789", -1), "");
}

// Two levels of ten iterations: 0.1 s each on the coarse one, whose voxels are dearer, 0.4 s on the
// fine one, which has eight times the voxels.
TEST(TimeLeft, IsThatOfTheIterationsToCome) {
  TimeLeft left({10, 80});
  double now = 1000;
  for (int i = 0; i <= 10; ++i) {
    left.after_iteration(level_of(0, i, 10), now);
    if (i < 5) {
      EXPECT_LT(left.seconds_left(), 0) << "half a second must have been seen";
    }
    now += 0.1;
  }
  EXPECT_NEAR(left.seconds_left(), 8, 1e-6);  // as if a voxel took as long everywhere
  now += 30;                                  // making the level's images
  for (int i = 0; i <= 10; ++i) {
    left.after_iteration(level_of(1, i, 10), now);
    if (i >= 2) {
      EXPECT_NEAR(left.seconds_left(), 0.4 * (10 - i), 1e-6);
    }
    now += 0.4;
  }
}

TEST(TimeLeft, SaysNothingWhereNothingIsKnown) {
  TimeLeft none({});
  none.after_iteration(level_of(0, 3, 10), 5);
  EXPECT_LT(none.seconds_left(), 0);
  TimeLeft empty({0});
  empty.after_iteration(level_of(0, 0, 0), 5);
  empty.after_iteration(level_of(0, 0, 0), 9);
  EXPECT_LT(empty.seconds_left(), 0);
}

TEST(Help, BreaksProseBetweenWords) {
  const std::string long_word(100, 'x');
  EXPECT_EQ(wrapped(long_word), long_word + "\n");
  EXPECT_EQ(
      wrapped("one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
              "fifteen"),
      "one two three four five six seven eight nine ten eleven twelve thirteen "
      "fourteen\nfifteen\n");
}

TEST(Help, FillsParagraphsAndLeavesCommandsAlone) {
  EXPECT_EQ(wrapped("says where an image lies and which of the places its header gives was taken\n"
                    "and what each step does.\n\nExample:\n  info a.nii\nand then\n  info b.nii\n"),
            "says where an image lies and which of the places its header gives was taken and\n"
            "what each step does.\n\nExample:\n  info a.nii\nand then\n  info b.nii\n");
}

TEST(Help, BreaksCommandsSoThatAShellTakesThem) {
  EXPECT_EQ(wrapped("  ffdreg -f a.nii.gz\n"), "  ffdreg -f a.nii.gz\n");
  const std::string long_name(70, 'x');
  EXPECT_EQ(wrapped("  ffdreg -f " + long_name + " -m m.nii.gz -o out_ \\\n    -q\n"),
            "  ffdreg \\\n    -f " + long_name + " \\\n    -m m.nii.gz -o out_ \\\n    -q\n");
}

TEST(Help, TakesNoOtherWord) {
  boost::program_options::options_description options;
  add_help_options(options);
  EXPECT_THROW(help_of("ffdreg", {"s", "e"}, options, {"everything"}), InvalidArgument);
  EXPECT_NE(help_of("ffdreg", {"s", "e"}, options, {}).find("--version"), std::string::npos);
}

}  // namespace progress_test
