// Control points as 3D Slicer keeps them in JSON (.mrk.json).
#pragma once

#include <string>

#include <apps/regtool/point_table.h>

namespace freeflow::apps {

/// By its extension, .json.
bool is_markups_name(const std::string& path);

/// The points of all markups in the file, in order. The whole file is kept in PointTable::markups.
/// Throws IoError, also where one has no position or a markup is no list of points.
PointTable read_markups(const std::string& path);

/// The same file with other positions; what was derived from the old ones (measurements) is left
/// out. Throws IoError.
void write_markups(const std::string& path, const PointTable& table);

}  // namespace freeflow::apps
