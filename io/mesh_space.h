// Private to io: whose millimetres a mesh's numbers are. 3D Slicer says it in the comment or title
// of .ply, .stl, .obj and .vtk, "SPACE=RAS" or "SPACE=LPS" (vtkMRMLModelStorageNode); other
// programs say nothing.
#pragma once

#include <string>

namespace freeflow {

/// "ras", "lps", or "" where the beginning of the file says neither.
std::string mesh_space(const std::string& path);

/// What says so to 3D Slicer: "SPACE=RAS", "SPACE=LPS", or "".
std::string mesh_space_remark(const std::string& space);

/// Puts the remark before the lines of an .obj. Throws IoError.
void put_before_obj(const std::string& path, const std::string& remark);

}  // namespace freeflow
