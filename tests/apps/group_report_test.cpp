// regtool report --group as a user runs it, and its scores.
#include <nlohmann/json.hpp>
#include <random>

#include <apps/report_page/group.h>

#include "apps/html_check.h"
#include "apps/program_test_support.h"

namespace freeflow {
namespace group_report_test {

using namespace test;
using nlohmann::json;

const std::string group_report = program_path("regtool") + " report --group ";

class GroupReport : public ProgramTest {
 protected:
  /// A report with these figures, and its page where it has one.
  void plant(const std::string& prefix, double similarity, double sd_log, double p99,
             bool with_page = true) const {
    const std::filesystem::path path = folder / (prefix + "report.json");
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << json{
        {"program", "ffdreg"},
        {"fixed", {{"size", {160, 192, 224}}, {"spacing_mm", {1, 1, 1}}}},
        {"moving", json::object()},
        {"warnings", json::array()},
        {"overlap_fraction", {{"before", 1}, {"after", 1}}},
        {"similarity", {{"before", 1.1}, {"after", similarity}}},
        {"displacement_mm", {{"mean", p99 / 3}, {"p99", p99}, {"max", p99 * 1.5}}},
        {"jacobian", {{"sd_log", sd_log}, {"folded_voxels", 0}, {"min", 0.2}, {"max", 3}}}};
    if (with_page) std::ofstream(folder / (prefix + "report.html")) << "<!DOCTYPE html>";
  }
  /// Figures that scatter a little, without any chance.
  void plant_good(int i) const {
    const std::string number = std::to_string(10000 + i);
    plant("sub-" + number + "/reg_", 1.30 + 0.001 * (i % 7), 0.30 + 0.002 * (i % 5),
          10 + 0.1 * (i % 11));
  }
};

TEST_F(GroupReport, PutsThePlantedOutlierFirst) {
  for (int i = 0; i < 20; ++i) plant_good(i);
  plant("odd one/reg_", 1.17, 0.305, 10.4);
  plant("still/reg_", 1.303, 0.304, 2, false);
  ASSERT_EQ(run(group_report + ".").status, 0);
  const std::string html = slurp(folder / "group.html");
  expect_whole_page(html);
  const auto place = [&](const std::string& name) {
    const std::size_t at = html.find(name + "<", html.find("<tr><td>"));
    EXPECT_NE(at, std::string::npos) << name;
    return at;
  };
  EXPECT_LT(place("odd one/reg"), place("still/reg"));
  EXPECT_LT(place("still/reg"), place("sub-10000/reg"));
  EXPECT_NE(html.find("<a href=\"./odd%20one/reg_report.html\">odd one/reg</a>"),
            std::string::npos);
  EXPECT_EQ(html.find("still/reg_report.html"), std::string::npos) << "a link to no page";
  EXPECT_NE(html.find("22 registrations, 2 of them outliers"), std::string::npos);
  EXPECT_NE(html.find("A pair that failed has no report, so it is not listed here"),
            std::string::npos);
  EXPECT_NE(html.find("<h1>Registrations in " + folder.filename().string() + "</h1>"),
            std::string::npos)
      << "not of .";
}

TEST_F(GroupReport, SaysHowManyAreBadByTheirVerdicts) {
  for (int i = 0; i < 8; ++i) plant_good(i);
  plant("worse/reg_", 1.05, 0.302, 10.3);
  plant("zero/reg_", 1.101, 0.302, 10.3);
  ASSERT_EQ(run(group_report + ".").status, 0);
  const std::string html = slurp(folder / "group.html");
  EXPECT_NE(html.find("by their verdicts 1 bad and 1 to be looked at"), std::string::npos) << html;
  EXPECT_LT(html.find(">worse/reg<"), html.find(">zero/reg<"));
}

TEST_F(GroupReport, SaysWhatStandsForALinearRegistration) {
  plant_good(1);
  const auto page = [&] {
    EXPECT_EQ(run(group_report + ".").status, 0);
    return slurp(folder / "group.html");
  };
  EXPECT_EQ(page().find("log-volume"), std::string::npos) << "there is none";
  std::ofstream(folder / "lin_report.json")
      << json{{"program", "linreg"},
              {"fixed", json::object()},
              {"moving", json::object()},
              {"linear", {{"fixed_to_moving_lps", {{0.5, 0, 0, 9}, {0, 1, 0, 9}, {0, 0, 1, 9}}}}}};
  const std::string html = page();
  EXPECT_NE(html.find("<td>0.693</td>"), std::string::npos);
  EXPECT_NE(html.find("log-volume of its affine, without its sign"), std::string::npos);
}

TEST_F(GroupReport, ReplacesNoOtherFile) {
  plant_good(1);
  for (const char* name : {"sub-10001/reg_report.json", "sub-10001/image.nii.gz", "page"}) {
    std::ofstream(folder / name, std::ios::app) << ' ';
    const std::string before = slurp(folder / name);
    expect_refusal(run(group_report + ". -o " + name), "the page is written as HTML");
    EXPECT_EQ(slurp(folder / name), before) << name;
  }
  const std::string page = "sub-10001/reg_report.html", before = slurp(folder / page);
  expect_refusal(run(group_report + ". -o " + page), "the output '" + page + "' is also an input");
  EXPECT_EQ(slurp(folder / page), before);
}

TEST_F(GroupReport, LinksFromWhereThePageLies) {
  plant_good(1);
  ASSERT_EQ(run("mkdir -p pages && " + group_report + ". -o pages/all.html").status, 0);
  EXPECT_NE(slurp(folder / "pages/all.html").find("href=\"./../sub-10001/reg_report.html\""),
            std::string::npos);
}

TEST_F(GroupReport, TakesAThousand) {
  for (int i = 0; i < 1000; ++i) plant_good(i);
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(run(group_report + ".").status, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  expect_whole_page(slurp(folder / "group.html"));
}

TEST_F(GroupReport, SaysWhatItCannotRead) {
  plant_good(1);
  std::ofstream(folder / "cut_report.json") << "{\"program\": \"ffd";
  std::ofstream(folder / "other_report.json") << "{\"program\": \"atlas\"}";
  ASSERT_EQ(run(group_report + ".").status, 0);
  const std::string html = slurp(folder / "group.html");
  EXPECT_NE(html.find("cut_report.json"), std::string::npos);
  EXPECT_EQ(html.find("other_report.json"), std::string::npos);
  std::filesystem::create_directories(folder / "empty");
  expect_refusal(run(group_report + "empty"), "no report of ffdreg, fluidreg or linreg lies below");
  expect_refusal(run(group_report + "missing"), "cannot read the folder 'missing'");
  expect_refusal(run(group_report + ". --fixed f.nii"), "not of a --group");
}

TEST_F(GroupReport, AFolderThatCannotBeReadMakesNoShorterGroup) {
  plant_good(1);
  std::filesystem::path deep = folder / "z";
  for (int i = 0; i < 60; ++i) deep /= "d";
  std::filesystem::create_directories(deep);
  // each folder on the way is open while what it holds is read
  expect_refusal(run("ulimit -n 40 && " + group_report + ". -o out.html"), "cannot read below '.'");
  EXPECT_EQ(run(group_report + ".").status, 0);
}

TEST(RobustScores, AreDistancesInScaledMedianDeviations) {
  using apps::robust_scores;
  // Median 3, distances 2 1 0 1 97, their median 1.
  const std::vector<double> scores = robust_scores({1, 2, 3, 4, 100});
  EXPECT_NEAR(scores[0], 2 / 1.4826, 1e-12);
  EXPECT_NEAR(scores[4], 97 / 1.4826, 1e-12);
  EXPECT_EQ(robust_scores({5, 5, 5}), (std::vector<double>{0, 0, 0}));
  // More than half alike: the mean distance, 4 / 5, stands in.
  EXPECT_NEAR(robust_scores({7, 7, 7, 7, 11})[4], 4 / (1.2533 * 0.8), 1e-12);
}

TEST(Rank, LowSimilarityCountsAndHighDoesNot) {
  std::vector<apps::GroupMember> members(9);
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i].name.push_back(char('a' + i));
    members[i].similarity.value = 1.3 + 0.01 * double(i % 3);
  }
  members[4].similarity.value = 1.9;
  members[6].similarity.value = 1.0;
  members[2].similarity.value.reset();
  apps::rank(members);
  EXPECT_EQ(members.front().name, "g");
  EXPECT_GT(members.front().score, apps::GroupMember::outlier);
  for (const apps::GroupMember& m : members)
    EXPECT_EQ(m.score == 0, m.name == "e" || m.name == "c" || *m.similarity.value >= 1.31)
        << m.name;
}

TEST(Rank, TheVerdictCountsBeforeTheScore) {
  std::vector<apps::GroupMember> members(6);
  const char* const grades[] = {"good", "look", "good", "bad", "look", "bad"};
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i].name.push_back(char('a' + i));
    members[i].grade = grades[i];
    members[i].similarity.value = i == 2 ? 1.0 : 1.3;
  }
  members[5].similarity.value = 1.2;
  apps::rank(members);
  std::string order;
  for (const apps::GroupMember& m : members) order += m.name;
  EXPECT_EQ(order, "fdbeca");
}

TEST(Rank, FewOfWhichNoneStandsOutHaveNoOutlier) {
  std::mt19937 engine(7);
  std::normal_distribution<double> normal;
  for (const int n : {3, 4, 5, 6, 8, 12}) {
    int groups = 0;
    for (int group = 0; group < 400; ++group) {
      std::vector<apps::GroupMember> members(static_cast<std::size_t>(n));
      for (apps::GroupMember& m : members) m.displacement.value = 9 + normal(engine);
      apps::rank(members);
      groups += members.front().score > apps::GroupMember::outlier;
    }
    EXPECT_LT(groups, 36) << n << " members; without a correction 44 to 116";
  }
}

TEST(Rank, AProgramsRegistrationsAreComparedAmongThemselves) {
  std::vector<apps::GroupMember> members(20);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool affine = i % 2 == 0;
    members[i].name.push_back(char('a' + i));
    members[i].program = affine ? "linreg" : "ffdreg";
    members[i].linear = affine;
    members[i].similarity.value = (affine ? 1.15 : 1.3) + 0.002 * double(i % 5);
    members[i].volumes.value = (affine ? 0.6 : 0.3) + 0.002 * double(i % 3);
  }
  members[7].similarity.value = 1.16;  // a good affine's, and a failed deformation's
  apps::rank(members);
  EXPECT_EQ(members.front().name, "h");
  EXPECT_GT(members.front().score, apps::GroupMember::outlier);
  EXPECT_LT(members[1].score, apps::GroupMember::outlier);
}

}  // namespace group_report_test
}  // namespace freeflow
