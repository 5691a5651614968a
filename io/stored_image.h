// Private to io: what readers and writers of whole images exchange (other_formats.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <freeflow/core/geometry.h>
#include <freeflow/io/stored_type.h>

namespace freeflow {

/// What a NRRD's header says beside the grid, for another NRRD.
struct NrrdNotes {
  std::map<std::string, std::string> texts;  ///< key:=value, as the gradients of diffusion
  std::vector<std::vector<double>> measurement_frame;  ///< which those are in
  bool volumes = false;                                ///< values of a voxel are of as many images
  bool tensors = false;                                ///< six values are a symmetric matrix

  bool has_gradients() const {
    return std::ranges::any_of(texts,
                               [](const auto& text) { return text.first.starts_with("DWMRI_"); });
  }
};

struct StoredImage {
  Geometry geometry;
  int components = 1;
  int volumes = 1;
  double step = 1;  ///< from volume to volume
  NrrdNotes nrrd;
  bool colours = false;
  StoredType stored_type = StoredType::float32;
  std::vector<unsigned char> bytes;  ///< the components of a voxel follow each other
  std::vector<std::string> warnings;
};

/// What a header declares, of any number of dimensions and any kind of voxel, in words.
struct StoredHeader {
  std::vector<std::int64_t> size;
  int components = 1;
  std::string voxels, stored_type;   // "vectors", "float32"
  std::optional<Geometry> geometry;  // not for 2-D
  std::vector<std::string> warnings;
};

/// Of an image to be written.
struct StoredLayout {
  Geometry geometry;
  int components = 1;  ///< interleaved values of a voxel
  StoredType stored_type = StoredType::float32;
  int volumes = 1;
  double step = 1;
  bool colours = false;
  const NrrdNotes* nrrd = nullptr;  ///< or none; for a NRRD
};

/// `one_volume`: scalars or vectors in three dimensions. `any`: colours and four dimensions too.
enum class ImageContent { one_volume, any };

/// Whether it can be the time from volume to volume.
inline bool usable_step(double step) { return step > 0 && std::isfinite(step); }

}  // namespace freeflow
