// Images of any number of volumes and components in files, a few scalar volumes at a time, so that
// a series larger than the memory goes through a program. World axes are LPS millimetres.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <freeflow/core/geometry.h>
#include <freeflow/io/compression.h>
#include <freeflow/io/stored_type.h>

namespace freeflow {

struct NiftiLayout;
struct NrrdNotes;

struct SeriesLayout {
  Geometry geometry;
  StoredType stored_type = StoredType::float32;
  int volumes = 1;       ///< of a 4-D image
  int components = 1;    ///< of a voxel, where it is a vector or a colour
  bool colours = false;  ///< RGB, or RGBA
  /// Scalar volumes that one read gives and one write takes: one, or all components of a volume
  /// where the file keeps them together.
  int planes_at_once = 1;
  double slope = 1, intercept = 0;  ///< value = slope * stored + intercept
  double step = 1;                  ///< from volume to volume, in seconds where the file says so
  /// What else a NIfTI header says (time step, intent), for a NIfTI file to be written, and a
  /// NRRD's (gradients of diffusion), for a NRRD.
  std::shared_ptr<const NiftiLayout> nifti;
  std::shared_ptr<const NrrdNotes> nrrd;
  std::vector<std::string> warnings;

  int planes() const { return volumes * components; }
  /// False where a NRRD's gradients of diffusion are lost in a file of that name.
  bool keeps_gradients(const std::string& path) const;
};

/// NIfTI is read as it is asked for; the other formats are held in memory.
class SeriesReader {
 public:
  /// Throws IoError as read_image does, but takes 4-D images, vectors and colours.
  explicit SeriesReader(const std::string& path);
  ~SeriesReader();
  const SeriesLayout& layout() const { return layout_; }

  /// The next layout().planes_at_once scalar volumes, one after the other, x fastest, as
  /// layout().stored_type in this machine's byte order. Empty after the last. Throws IoError when
  /// the file ends early or is damaged.
  std::vector<unsigned char> read();
  /// Reads now what the next read() gives, while the caller waits for something else.
  void prefetch();

  class Source;

 private:
  SeriesLayout layout_;
  std::vector<unsigned char> ahead_;
  std::unique_ptr<Source> source_;
  int planes_left_ = 0;
};

/// Writes what SeriesReader reads, in the format of the extension: NIfTI-1 at once, the others at
/// close(). The file appears at close().
class SeriesWriter {
 public:
  /// Throws IoError for a layout that the format cannot hold in this order (vectors in 4-D between
  /// formats) or of this type, or an unusable path.
  SeriesWriter(const std::string& path, const SeriesLayout& layout,
               const Compression& compression = {});
  ~SeriesWriter();

  /// layout.planes_at_once scalar volumes. Throws IoError when the disk is full.
  void write(const std::vector<unsigned char>& planes);
  void close();

  class Sink;

 private:
  std::unique_ptr<Sink> sink_;
};

}  // namespace freeflow
