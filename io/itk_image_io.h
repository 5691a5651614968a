// Private to io: ITK's image readers and writers behind plain types, made by name, so that no
// factory is involved.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <freeflow/core/geometry.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/stored_type.h>

namespace freeflow {

struct ItkImage {
  Geometry geometry;
  int components = 1;
  StoredType stored_type = StoredType::float32;
  std::vector<float> values;  // the components of a voxel follow each other
};

/// What a NRRD's header says beside the grid, for another NRRD.
struct NrrdNotes {
  std::map<std::string, std::string> texts;  ///< key:=value, as the gradients of diffusion
  std::vector<std::vector<double>> measurement_frame;  ///< which those are in
};

/// The same as it is stored.
struct ItkBytes {
  Geometry geometry;
  int components = 1;
  int volumes = 1;
  double step = 1;  ///< from volume to volume
  NrrdNotes nrrd;
  bool colours = false;
  StoredType stored_type = StoredType::float32;
  std::vector<unsigned char> bytes;
};

/// What a header declares, of any number of dimensions and any kind of voxel, in words.
struct ItkHeader {
  std::vector<std::int64_t> size;
  int components = 1;
  std::string voxels, stored_type;   // "vectors", "float32"
  std::optional<Geometry> geometry;  // not for 2-D
};
/// Throws IoError.
ItkHeader read_itk_header(const std::string& path, FileFormat format);

/// What ITK reads from the header of a volume; nothing when ITK refuses it for want of an
/// orthonormal direction. Throws IoError.
std::optional<Geometry> itk_geometry(const std::string& path, FileFormat format);

/// `one_volume`: scalars or vectors in three dimensions. `any`: colours and four dimensions too.
enum class ItkContent { one_volume, any };

/// A MetaImage or NRRD of one volume, after check_raw_data, as ITK does not notice a truncated
/// MetaImage. Throws IoError.
ItkImage read_itk_image(const std::string& path, FileFormat format);
ItkBytes read_itk_bytes(const std::string& path, FileFormat format,
                        ItkContent content = ItkContent::one_volume);

/// Whether it can be the time from volume to volume.
inline bool usable_step(double step) { return step > 0 && std::isfinite(step); }

/// Of an image to be written.
struct ItkLayout {
  Geometry geometry;
  int components = 1;  ///< interleaved values of a voxel
  StoredType stored_type = StoredType::float32;
  int volumes = 1;
  double step = 1;
  bool colours = false;
  const NrrdNotes* nrrd = nullptr;  ///< or none; for a NRRD
};

/// A MetaImage or NRRD, uncompressed. Throws IoError.
void write_itk_image(const std::string& path, FileFormat format, const ItkLayout& layout,
                     const void* values);

}  // namespace freeflow
