#include <freeflow/io/file_checks.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <freeflow/core/error.h>
#include <freeflow/core/most_voxels.h>

namespace freeflow {

std::string one_line(const std::string& text) {
  constexpr std::size_t most_bytes = 400;  // longer than any sentence without a quotation
  std::string line = text;
  if (line.size() > most_bytes) {
    line.resize(most_bytes);
    // not within a character of UTF-8
    while (!line.empty() && (static_cast<unsigned char>(text[line.size()]) & 0xc0) == 0x80)
      line.pop_back();
    line += "...";
  }
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');
  return line;
}

void fail_reading(const std::string& path, const std::string& reason) {
  throw IoError("cannot read '" + one_line(path) + "': " + one_line(reason));
}

void fail_writing(const std::string& path, const std::string& reason) {
  throw IoError("cannot write '" + one_line(path) + "': " + reason);
}

bool has_extension(const std::string& path, const std::string& extension) {
  if (path.size() <= extension.size()) return false;
  return std::equal(extension.begin(), extension.end(),
                    path.end() - std::ptrdiff_t(extension.size()), [](char wanted, char found) {
                      return wanted == std::tolower(static_cast<unsigned char>(found));
                    });
}

namespace {

/// As niftilib, by which ITK reads them, takes none of NIfTI's: .Nii, .nii.GZ.
bool is_of_mixed_case(const std::string& path, std::size_t ending) {
  const auto begin = path.end() - std::ptrdiff_t(ending);
  const auto is = [](int (*of_case)(int)) {
    return [of_case](unsigned char c) { return of_case(c) != 0; };
  };
  return std::any_of(begin, path.end(), is(std::islower)) &&
         std::any_of(begin, path.end(), is(std::isupper));
}

std::optional<FileFormat> format_of(const std::string& path) {
  for (const std::string extension : {".nii", ".nii.gz", ".hdr", ".img", ".img.gz"})
    if (has_extension(path, extension) && !is_of_mixed_case(path, extension.size()))
      return FileFormat::nifti;
  for (const char* extension : {".mha", ".mhd"})
    if (has_extension(path, extension)) return FileFormat::metaimage;
  for (const char* extension : {".nrrd", ".nhdr"})
    if (has_extension(path, extension)) return FileFormat::nrrd;
  for (const char* extension : {".mgz", ".mgh"})
    if (has_extension(path, extension)) return FileFormat::mgh;
  return std::nullopt;
}

}  // namespace

bool is_image_format(const std::string& path) { return format_of(path).has_value(); }

FileFormat format_to_read(const std::string& path) {
  const std::optional<FileFormat> format = format_of(path);
  if (has_extension(path, ".hdr.gz")) fail_compressed_header(path);
  if (!format)
    fail_reading(path,
                 "its extension names no known format; use .nii, .nii.gz, .hdr/.img, .mha, .mhd, "
                 ".nrrd, .nhdr, .mgz or .mgh");
  return *format;
}

void fail_compressed_header(const std::string& path) {
  fail_reading(path,
               "the header of its pair is compressed, which is not read: gunzip the .hdr.gz, or "
               "save the image as .nii.gz (fslchfiletype NIFTI_GZ)");
}

std::optional<FileFormat> written_format(const std::string& path) {
  for (const std::string extension : {".nii", ".nii.gz"})
    if (has_extension(path, extension) && !is_of_mixed_case(path, extension.size()))
      return FileFormat::nifti;
  if (path.ends_with(".mha")) return FileFormat::metaimage;  // MetaIO writes small letters alone
  if (has_extension(path, ".nrrd")) return FileFormat::nrrd;
  if (has_extension(path, ".mgz") || has_extension(path, ".mgh")) return FileFormat::mgh;
  return std::nullopt;
}

FileFormat format_to_write(const std::string& path) {
  const std::optional<FileFormat> format = written_format(path);
  if (!format)
    fail_writing(path,
                 "its extension names no format that is written; use .nii, .nii.gz, .mha, .nrrd, "
                 ".mgz or .mgh");
  return *format;
}

std::uint64_t size_of_readable_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found)
    fail_reading(path, std::filesystem::is_symlink(std::filesystem::symlink_status(path, error))
                           ? "it is a link to a file that is not there"
                           : "there is no such file");
  if (status.type() == std::filesystem::file_type::none) fail_reading(path, error.message());
  if (std::filesystem::is_directory(status)) fail_reading(path, "it is a folder, not a file");
  if (!std::filesystem::is_regular_file(status))
    fail_reading(path, "it is not a regular file but a pipe or a device");
  errno = 0;
  if (!std::ifstream(path, std::ios::binary))
    fail_reading(path, errno ? std::strerror(errno) : "it cannot be opened");
  const std::uint64_t bytes = std::filesystem::file_size(path, error);
  if (error) fail_reading(path, error.message());
  if (bytes == 0) fail_reading(path, "the file is empty");
  return bytes;
}

void fail_truncated(const std::string& path, std::uint64_t present, std::uint64_t declared) {
  fail_reading(path, "file ends after " + std::to_string(present) + " of " +
                         std::to_string(declared) + " voxels");
}

std::uint64_t count_voxels(const std::string& path, std::span<const std::int64_t> sizes) {
  std::string shape;
  for (const std::int64_t size : sizes)
    shape += (shape.empty() ? "" : " x ") + std::to_string(size);
  std::int64_t voxels = 1;
  for (const std::int64_t size : sizes) {
    if (size <= 0) fail_reading(path, "its header declares a size of " + shape + " voxels");
    // A product that has passed the limit stays there: it cannot overflow, whatever the header
    // says.
    voxels = voxels > most_voxels / size ? most_voxels + 1 : voxels * size;
  }
  if (voxels > most_voxels)
    fail_reading(path, "its " + shape + " voxels are more than the " + std::to_string(most_voxels) +
                           " that can be used; crop or downsample it");
  if (sizes.size() == 3 && voxels > INT32_MAX && voxels / std::ranges::min(sizes) > most_in_slice)
    fail_reading(path, "its " + shape + " voxels are more than " + std::to_string(most_in_slice) +
                           " in a slice, which is as far as rows are numbered; crop or downsample "
                           "it");
  return std::uint64_t(voxels);
}

void check_size(const std::string& path, std::uint64_t voxels, std::uint64_t voxel_bytes,
                std::uint64_t stored_bytes, bool compressed) {
  constexpr std::uint64_t max_deflate_ratio = 1032;
  // The product of what a header declares can reach 2^65; it is not formed.
  const auto fit_into = [&](std::uint64_t bytes) { return voxels <= bytes / voxel_bytes; };
  if (!compressed && !fit_into(stored_bytes))
    fail_truncated(path, stored_bytes / voxel_bytes, voxels);
  if (compressed && !fit_into(max_deflate_ratio * stored_bytes))
    fail_reading(path, "its header declares " + std::to_string(voxels) + " voxels, more than " +
                           std::to_string(stored_bytes) + " compressed bytes can hold");
}

void require_volume(const std::string& path, const Extent& extent) {
  if (extent.x > 1 && extent.y > 1 && extent.z > 1) return;
  fail_reading(path, "it is a 2-D image (" + std::to_string(extent.x) + " x " +
                         std::to_string(extent.y) + " x " + std::to_string(extent.z) +
                         " voxels); a volume is needed");
}

}  // namespace freeflow
