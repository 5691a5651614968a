#include <apps/run_pairs.h>

#include <filesystem>
#include <string>
#include <system_error>

#include <apps/cohort.h>
#include <apps/program.h>

namespace freeflow::apps {

namespace {

/// Said before the first pair is computed, not when that one's turn comes.
std::vector<std::string> missing_files(const std::vector<CommonOptions>& pairs) {
  std::vector<std::string> said;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    for (const std::string& path : input_files(pairs[i]))
      if (std::error_code none; !std::filesystem::exists(path, none))
        said.push_back("pair " + std::to_string(i + 1) + " (" + pairs[i].output +
                       ") will fail: there is no '" + path + "'");
  return said;
}

}  // namespace

int run_pairs(const std::string& program, const std::vector<CommonOptions>& pairs,
              const boost::program_options::variables_map& found, const NamesOf& names,
              const MakeRun& make) {
  const CommonOptions& first = pairs.front();
  if (first.pairs.empty()) {
    run_alone(*make({program, program, found}, first, nullptr), first.device, first.threads);
    print_label_commands(first, names(first));
    return done;
  }
  print_warnings(program, missing_files(pairs), first);
  std::vector<CohortPair> cohort;
  cohort.reserve(pairs.size());
  for (const CommonOptions& pair : pairs)
    cohort.push_back({pair.output, [&](const std::string& label, KeptImages& kept) {
                        return make({program, label, found}, pair, &kept);
                      }});
  return run_cohort(
      {program, first.device, first.threads, first.jobs, verbosity(first), first.summary}, cohort);
}

}  // namespace freeflow::apps
