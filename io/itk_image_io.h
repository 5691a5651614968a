// Private to io: ITK's image readers and writers behind plain types, made by name, so that no
// factory is involved.
#pragma once

#include <optional>
#include <string>

#include <freeflow/io/file_checks.h>
#include <freeflow/io/stored_image.h>

namespace freeflow {

/// Throws IoError.
StoredHeader read_itk_header(const std::string& path, FileFormat format);

/// What ITK reads from the header of a volume; nothing when ITK refuses it for want of an
/// orthonormal direction. Throws IoError.
std::optional<Geometry> itk_geometry(const std::string& path, FileFormat format);

/// A MetaImage or NRRD, after check_raw_data, as ITK does not notice a truncated MetaImage. Throws
/// IoError.
StoredImage read_itk_image(const std::string& path, FileFormat format, ImageContent content);

/// A MetaImage or NRRD, uncompressed. Throws IoError.
void write_itk_image(const std::string& path, FileFormat format, const StoredLayout& layout,
                     const void* values);

}  // namespace freeflow
