#include <apps/atlas/processes.h>

namespace freeflow::apps {

std::unique_ptr<Processes> join_processes() { return std::make_unique<Processes>(); }

}  // namespace freeflow::apps
