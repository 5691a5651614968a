// Private to io: VTK's PLY reader trusts what it reads: a file that ends early or a face that names
// a point which does not exist ends the program (VTK 9.1 to 9.7: "double free", segmentation
// fault). So the file is walked through once before.
#pragma once

#include <string>

namespace freeflow {

/// Throws IoError for a header that is none, for fewer or shorter elements than it declares, and
/// for faces that name points beyond the vertices. Reads the file once.
void check_ply(const std::string& path);

}  // namespace freeflow
