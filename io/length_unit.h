// Private to io: what a MetaImage or NRRD says of its lengths, which ITK passes over.
#pragma once

#include <string>
#include <vector>

#include <freeflow/io/file_checks.h>

namespace freeflow {

/// Adds a sentence where the header names a unit of length other than the millimetre, as
/// microscopes' files do, and where it says that the slices of a DICOM series lay unevenly. Reads
/// the lines of the header alone; what is no such file adds nothing.
void warn_of_lengths(const std::string& path, FileFormat format,
                     std::vector<std::string>& warnings);

}  // namespace freeflow
