// Private to io: FreeSurfer's images, .mgz and .mgh, of one or several scalar volumes
// (https://surfer.nmr.mgh.harvard.edu/fswiki/FsTutorial/MghFormat). Numbers are big-endian; the
// centre of the grid, voxel (n/2, n/2, n/2), lies at c_ras.
#pragma once

#include <string>

#include <freeflow/io/compression.h>
#include <freeflow/io/stored_image.h>

namespace freeflow {

StoredHeader read_mgh_header(const std::string& path);
/// Throws IoError for a damaged or truncated file, and for several volumes where one is asked for.
StoredImage read_mgh_image(const std::string& path, ImageContent content);

/// Throws IoError for vectors, colours and types that the format has not.
void require_mgh(const std::string& path, const StoredLayout& layout);
/// `values`: one volume after the other. Throws IoError.
void write_mgh_image(const std::string& path, const StoredLayout& layout,
                     const unsigned char* values, const Compression& compression);

}  // namespace freeflow
