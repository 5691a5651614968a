// How CUDA starts for a program that gives each GPU one piece of work after the other.
#pragma once

#include <string>

#include <freeflow/core/context.h>

namespace freeflow::apps {

/// Before anything of CUDA: one queue to each GPU will do, in place of eight. Making and unmaking
/// the others takes a third of an empty program's time. A word of the user's
/// (CUDA_DEVICE_MAX_CONNECTIONS) stands.
void expect_one_stream();

/// The context of such a program. Throws as Device::parse and Context do.
Context context_of_one_stream(const std::string& device, int threads);

}  // namespace freeflow::apps
