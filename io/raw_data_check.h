// Private to io: are the voxels of a MetaImage or NRRD all there? ITK allocates what a header
// declares and does not notice a MetaImage that ends early.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <freeflow/io/file_checks.h>

namespace freeflow {

/// Reads the text header and compares the declared size with the data, decompressing them once
/// where they are compressed. Allocates nothing of that size. Throws IoError when data are missing
/// or damaged, and for encodings that are not supported. Returns how many bytes the voxels are.
std::uint64_t check_raw_data(const std::string& path, FileFormat format);

/// The file that holds the voxels: that of the header, or another beside it. Throws IoError as
/// check_raw_data does for headers.
std::string raw_data_file(const std::string& path, FileFormat format);

/// Whether the space that a NRRD's header names is right-anterior-superior. Throws IoError.
bool is_nrrd_in_ras(const std::string& path);

/// Whether one of its axes counts images, as of diffusion. Throws IoError.
bool nrrd_lists_images(const std::string& path);

/// Adds sentences for the user: a space that names no directions of the body, what ITK leaves out,
/// and layers of segments. Throws IoError.
void warn_of_nrrd(const std::string& path, std::vector<std::string>& warnings);

}  // namespace freeflow
