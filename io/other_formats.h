// Private to io: images of the formats other than NIfTI, which are read and written whole:
// MetaImage and NRRD by ITK, MGH by mgh_file.h.
#pragma once

#include <string>
#include <vector>

#include <freeflow/io/compression.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/stored_image.h>

namespace freeflow {

/// One volume as floats.
struct FloatImage {
  Geometry geometry;
  int components = 1;
  StoredType stored_type = StoredType::float32;
  std::vector<float> values;  // the components of a voxel follow each other
  std::vector<std::string> warnings;
};

// They throw IoError, for a file that is not whole, too.
StoredHeader read_stored_header(const std::string& path, FileFormat format);
Geometry stored_geometry(const std::string& path, FileFormat format,
                         std::vector<std::string>& warnings);
StoredImage read_stored_image(const std::string& path, FileFormat format,
                              ImageContent content = ImageContent::one_volume);
FloatImage read_float_image(const std::string& path, FileFormat format);

/// Throws IoError for what the format cannot hold.
void require_storable(const std::string& path, FileFormat format, const StoredLayout& layout);
/// MetaImage and NRRD are written uncompressed. Throws IoError.
void write_stored_image(const std::string& path, FileFormat format, const StoredLayout& layout,
                        const void* values, const Compression& compression);

}  // namespace freeflow
