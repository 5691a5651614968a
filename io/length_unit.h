// Private to io: the unit of length that a MetaImage or NRRD names, which ITK passes over.
#pragma once

#include <string>
#include <vector>

#include <freeflow/io/file_checks.h>

namespace freeflow {

/// Adds a sentence where the header names a unit of length other than the millimetre, as
/// microscopes' files do. Reads the lines of the header alone; what is no such file adds nothing.
void warn_of_length_unit(const std::string& path, FileFormat format,
                         std::vector<std::string>& warnings);

}  // namespace freeflow
