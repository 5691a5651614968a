// Private to io and the programs: .h5 files read by another process. In libhdf5 a damaged file can
// end in a crash or a loop without end, neither of which leaves a sentence and a status.
//
// The other process is this very program, started anew, not a copy of this one (fork): that would
// have the locks of threads that it has not, and a CUDA context that it cannot use.
#pragma once

#include <string>
#include <vector>

#include <freeflow/io/hdf5_transform.h>

namespace freeflow {

/// For programs, called first in main: does the reading and ends where this process was started for
/// that; otherwise read_transforms_apart starts one from now on. A library in somebody else's
/// program reads by itself.
void serve_hdf5_reading();

/// As read_stored_transforms. A crash and a loop are an IoError that calls the file damaged; a
/// signal that ends programs and reached the other process is Cancelled.
std::vector<StoredTransform> read_transforms_apart(const std::string& path);

}  // namespace freeflow
