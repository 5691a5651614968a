#include <apps/run_pairs.h>

#include <string>

#include <apps/cohort.h>
#include <apps/program.h>

namespace freeflow::apps {

int run_pairs(const std::string& program, const std::vector<CommonOptions>& pairs,
              const boost::program_options::variables_map& found, const NamesOf& names,
              const MakeRun& make) {
  const CommonOptions& first = pairs.front();
  if (first.pairs.empty()) {
    run_alone(*make({program, program, found}, first, nullptr), first.device, first.threads);
    print_label_commands(first, names(first));
    return done;
  }
  std::vector<CohortPair> cohort;
  cohort.reserve(pairs.size());
  for (const CommonOptions& pair : pairs)
    cohort.push_back(
        {pair.output, input_files(pair), [&](const std::string& label, KeptImages& kept) {
           return make({program, label, found}, pair, &kept);
         }});
  return run_cohort(
      {program, first.device, first.threads, first.jobs, verbosity(first), first.summary}, cohort);
}

}  // namespace freeflow::apps
