// Private to io and the programs: which format a file name means, the checks that all readers
// share, and the two forms of an IoError.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <freeflow/core/views.h>

namespace freeflow {

enum class FileFormat { nifti, metaimage, nrrd, mgh };

/// What a file says, as part of a sentence: question marks for control characters, and of a long
/// text its beginning.
std::string one_line(const std::string& text);

/// Throws IoError "cannot read 'path': reason" or "cannot write 'path': reason"; the path passes
/// through one_line, as a table may have named it, and the reason of the first, as it may quote the
/// file.
[[noreturn]] void fail_reading(const std::string& path, const std::string& reason);
[[noreturn]] void fail_writing(const std::string& path, const std::string& reason);

/// Whether format_to_read knows the extension.
bool is_image_format(const std::string& path);

/// By the extension, in either case. Throws IoError that lists the known ones.
FileFormat format_to_read(const std::string& path);
/// Of a pair as FSL's NIFTI_PAIR_GZ writes it, .hdr.gz and .img.gz.
[[noreturn]] void fail_compressed_header(const std::string& path);

/// As format_to_read; formats that keep header and voxels in two files are not written.
FileFormat format_to_write(const std::string& path);
/// The same, nothing for what is not written.
std::optional<FileFormat> written_format(const std::string& path);

/// True when `path` ends with `extension` (lower case, with its dot), whatever the case of `path`.
bool has_extension(const std::string& path, const std::string& extension);

/// Size in bytes. Throws IoError when the file is missing, unreadable, empty, or no regular file (a
/// pipe would make its reader wait for ever).
std::uint64_t size_of_readable_file(const std::string& path);

/// The product of the sizes. Throws IoError when one is not positive or when there are more voxels,
/// or more in a slice of a volume, than can be used (most_voxels.h).
std::uint64_t count_voxels(const std::string& path, std::span<const std::int64_t> sizes);

/// Throws IoError when that many voxels cannot be in the `stored_bytes` that the file has for them;
/// call it before allocating.
void check_size(const std::string& path, std::uint64_t voxels, std::uint64_t voxel_bytes,
                std::uint64_t stored_bytes, bool compressed);

/// Throws IoError when a side is a single voxel.
void require_volume(const std::string& path, const Extent& extent);

/// "'x.nii': file ends after 12 of 7221032 voxels" as an IoError.
[[noreturn]] void fail_truncated(const std::string& path, std::uint64_t present,
                                 std::uint64_t declared);

}  // namespace freeflow
