// Real images for tests and benchmarks, from FREEFLOW_DATA or ../shared/data. Nothing of it lives
// in the repository.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <freeflow/io/image_file.h>

namespace freeflow::test {

/// The folder of the real images; empty when there is none.
inline std::filesystem::path real_data() {
  const char *named = std::getenv("FREEFLOW_DATA"), *source = std::getenv("FREEFLOW_SOURCE_DIR");
  const std::filesystem::path folder =
      named ? std::filesystem::path(named)
            : std::filesystem::path(source ? source : ".") / "../shared/data";
  return std::filesystem::exists(folder) ? folder : std::filesystem::path();
}

/// Two images on one grid, scaled to bytes.
struct BytePair {
  Extent extent;
  std::vector<std::uint8_t> fixed, moving;
};

inline std::vector<std::uint8_t> to_bytes(std::vector<float> voxels) {
  std::vector<float> sorted = voxels;
  const auto high = sorted.begin() + std::ptrdiff_t(sorted.size() * 999 / 1000);
  std::nth_element(sorted.begin(), high, sorted.end());
  std::vector<std::uint8_t> bytes;
  bytes.reserve(voxels.size());
  for (float v : voxels) bytes.push_back(std::uint8_t(std::clamp(v / *high * 255, 0.0f, 255.0f)));
  return bytes;
}

/// Two brains of OASIS, 160 x 192 x 224.
inline std::optional<BytePair> oasis_byte_pair() {
  const std::filesystem::path folder = real_data() / "brain_oasis_aligned";
  if (!std::filesystem::exists(folder / "0001_norm.nii.gz") ||
      !std::filesystem::exists(folder / "0002_norm.nii.gz"))
    return std::nullopt;
  const HostImage fixed = read_image((folder / "0001_norm.nii.gz").string()),
                  moving = read_image((folder / "0002_norm.nii.gz").string());
  return BytePair{fixed.geometry.extent, to_bytes(fixed.voxels), to_bytes(moving.voxels)};
}

}  // namespace freeflow::test
