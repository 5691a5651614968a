// One pair, or those of --pairs, by a registration program.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <apps/kept_images.h>
#include <apps/options.h>
#include <apps/pair_list.h>
#include <apps/pair_run.h>

namespace freeflow::apps {

/// Makes the work of a pair; the last argument is null for a pair alone.
using MakeRun =
    std::function<std::unique_ptr<PairRun>(const Program&, const CommonOptions&, KeptImages*)>;

/// `pairs` as checked_pairs() gives them. Returns the exit status.
int run_pairs(const std::string& program, const std::vector<CommonOptions>& pairs,
              const boost::program_options::variables_map& found, const NamesOf& names,
              const MakeRun& make);

}  // namespace freeflow::apps
