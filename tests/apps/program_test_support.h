// Runs a program as a user does, in a folder of its own, and looks at what it printed and left
// behind.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace freeflow::test {

struct Outcome {
  int status = -1;
  std::string out, err;
};

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class ProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("freeflow_" + std::to_string(getpid()) + "_" +
              testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// Runs `command` in the folder through the shell.
  Outcome run(const std::string& command) const {
    const std::string full =
        "cd '" + folder.string() + "' && " + command + " >stdout.txt 2>stderr.txt";
    const int raw = std::system(full.c_str());
    Outcome o{WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw), slurp(folder / "stdout.txt"),
              slurp(folder / "stderr.txt")};
    std::filesystem::remove(folder / "stdout.txt");
    std::filesystem::remove(folder / "stderr.txt");
    return o;
  }

  /// Exit status 2 (or `status`), one sentence that mentions `words`, and nothing of the prefix
  /// left.
  void expect_refusal(const Outcome& o, const std::string& words, int status = 2) const {
    EXPECT_EQ(o.status, status) << o.err;
    EXPECT_NE(o.err.find(words), std::string::npos) << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      EXPECT_NE(entry.path().filename().string().rfind("out", 0), 0u)
          << entry.path() << " was left behind";
  }

  /// stderr, which is no terminal here, holds how it ended, the commands for labels and nothing
  /// else.
  static void expect_closing_words_alone(const Outcome& o) {
    const std::vector<std::string> lines = lines_of(o.err);
    const std::size_t labels = o.err.find("labels of the moving image");
    ASSERT_NE(labels, std::string::npos) << o.err;
    const auto before = std::size_t(std::count(o.err.begin(), o.err.begin() + labels, '\n'));
    EXPECT_LE(before, 5u) << o.err;
    EXPECT_EQ(lines.size(), before + 3) << o.err;
    for (const char* word : {"  match: NMI ", "  time: ", "  written: ", "  regtool apply -r "})
      EXPECT_NE(o.err.find(word), std::string::npos) << word << " in " << o.err;
  }

  std::filesystem::path folder;
};

/// The program of that name: beside the running test in a package, else where a build puts it.
inline std::string program_path(const std::string& name) {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::filesystem::path beside = here / name;
  return (std::filesystem::exists(beside) ? beside : here.parent_path() / "apps" / name).string();
}

}  // namespace freeflow::test
