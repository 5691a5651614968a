// What the fuzz targets share. A target gives bytes to a parser as a file; what may come of it is a
// sentence of one line or something sound. Everything else ends the process, which libFuzzer counts
// as a finding: another exception, a sanitizer's word, more memory or time than the bytes can mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <freeflow/core/error.h>
#include <freeflow/core/geometry.h>
#include <freeflow/io/transform_file.h>
#include <freeflow/io/transforms/host_transform.h>

namespace freeflow::fuzz {

/// Writes the bytes into this process's folder (TMPDIR, which scripts/fuzz puts into memory) and
/// returns the file's path.
std::string input_file(const std::string& name, const std::uint8_t* bytes, std::size_t count);

/// Ends the process, having said why, where it does not hold.
void expect(bool holds, const char* what);

/// One line of a length that somebody reads.
void expect_sentence(const std::string& sentence);

/// What a reader promises of what it did not refuse.
void expect_sound(const Geometry& geometry);
void expect_sound(const HostField& field);
void expect_sound(const FileTransform& transform);
void expect_sound(const HostTransform& transform);

/// Whether f came to its end; if not, it has said why in a sentence.
template <class F>
bool reads(F&& f) {
  try {
    std::forward<F>(f)();
    return true;
  } catch (const IoError& e) {
    expect_sentence(e.what());
  } catch (const InvalidArgument& e) {
    expect_sentence(e.what());
  }
  return false;
}

/// Everything that reads images, on one of any kind of voxel.
void read_as_image(const std::string& path);

}  // namespace freeflow::fuzz
