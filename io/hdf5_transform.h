// Private to io: the transforms in an .h5 file as ITK stores them, numbers by name. libhdf5 follows
// whatever a damaged file says, into memory that is not there or for ever; so a program reads such
// files in a process of its own (hdf5_process.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <freeflow/io/stored_transform.h>

namespace freeflow {

/// Called with how many numbers are read next.
using BeforeNumbers = std::function<void(std::uint64_t)>;

/// In the order of their numbers, of a composite its head (no numbers) before its parts. Throws
/// IoError for a file that is damaged, or whose numbers cannot be what their type says.
std::vector<StoredTransform> read_stored_transforms(const std::string& path,
                                                    const BeforeNumbers& before_numbers = {});

/// Throws IoError, WriteError.
void write_stored_transforms(const std::string& path,
                             const std::vector<StoredTransform>& transforms);

}  // namespace freeflow
