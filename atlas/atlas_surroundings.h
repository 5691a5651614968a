// What there may be around the building of a template: other processes, a disk, somebody who
// watches.
#pragma once

#include <freeflow/atlas/atlas_result.h>
#include <freeflow/atlas/ranks.h>
#include <freeflow/atlas/state_folder.h>

namespace freeflow {

/// What there is around the work; all may be left out, and what is given must outlive it.
struct AtlasSurroundings {
  Ranks* ranks = nullptr;
  /// Keeps every subject's result of a round, so that the same call goes on where an earlier one
  /// was ended, to the same bits.
  StateFolder* state = nullptr;
  AtlasObserver* observer = nullptr;
};

}  // namespace freeflow
