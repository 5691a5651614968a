// The pairs of --pairs: a row of the table is the files of a call, which else has the same options.
#pragma once

#include <functional>
#include <vector>

#include <apps/options.h>
#include <apps/output_names.h>

namespace freeflow::apps {

using NamesOf = std::function<OutputNames(const CommonOptions&)>;

/// The options of every pair: those given, or, with --pairs, one for each row. All that can be
/// checked before a file is read is checked: throws InvalidArgument, with the table's line where it
/// is of one, IoError.
std::vector<CommonOptions> checked_pairs(const CommonOptions& options, const NamesOf& names);

}  // namespace freeflow::apps
