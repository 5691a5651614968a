// What work throws whose observer asked it to stop.
#pragma once

namespace freeflow {

struct Cancelled {};

}  // namespace freeflow
