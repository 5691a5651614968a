// How the process keeps the memory of registrations on the CPU.
#pragma once

#include <freeflow/core/context.h>

namespace freeflow::apps {

/// On the CPU, what a level gives back the next one soon asks for again: up to 32 MiB at once it
/// stays with the process, and the system need not clear its pages anew. What is larger goes back:
/// a heap of such blocks breaks into pieces that fit nothing. Nothing on a GPU, or where malloc is
/// not glibc's.
void keep_freed_memory(const Context& ctx);

}  // namespace freeflow::apps
