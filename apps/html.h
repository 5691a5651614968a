// What the HTML pages of reports are made of. Each page is one file that loads nothing.
#pragma once

#include <string>
#include <vector>

#include <freeflow/io/picture_file.h>

namespace freeflow::apps {

/// Text as it stands between tags and in quoted attributes.
std::string escaped(const std::string& text);
/// The picture as the page carries it: "data:image/png;base64,...".
std::string data_url(const Picture& picture);
/// With so many digits after the point; a dash for what is no finite number.
std::string fixed_digits(double value, int digits = 3);
/// Digits after the point of lengths in mm: `digits` for voxels of a fifth of a millimetre and
/// larger ones, one more for each power of ten that voxels are smaller, as microscopes' are.
int length_digits(double voxel_mm, int digits);
/// A row of cells that are HTML already.
std::string table_row(const std::vector<std::string>& cells, const char* tag = "td");
/// Throws IoError.
void write_page(const std::string& path, const std::string& html);

}  // namespace freeflow::apps
