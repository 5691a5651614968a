#include <freeflow/io/series_file.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <freeflow/io/file_checks.h>
#include <freeflow/io/nifti_file.h>
#include <freeflow/io/nifti_writer.h>
#include <freeflow/io/orientation.h>
#include <freeflow/io/other_formats.h>
#include <freeflow/io/voxel_writer.h>

namespace freeflow {

class SeriesReader::Source {
 public:
  virtual ~Source() = default;
  /// Fills the planes of one read.
  virtual void read(std::vector<unsigned char>& planes) = 0;
  virtual void finish() {}
};

class SeriesWriter::Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(const std::vector<unsigned char>& planes) = 0;
  virtual void close() = 0;
};

namespace {

/// Voxels of several values each, taken apart.
void take_apart(const unsigned char* voxels, std::size_t count, int components,
                std::size_t value_bytes, unsigned char* planes) {
  const auto width = std::size_t(components);
  for (std::size_t component = 0; component < width; ++component)
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(planes + (component * count + i) * value_bytes,
                  voxels + (i * width + component) * value_bytes, value_bytes);
}

class NiftiSource : public SeriesReader::Source {
 public:
  explicit NiftiSource(const NiftiHeader& header)
      : stream_(header), count_(header.extent().count()), channels_(header.colour_channels) {}

  void read(std::vector<unsigned char>& planes) override {
    if (channels_ == 1) return stream_.read(planes.data(), count_);
    voxels_.resize(planes.size());
    stream_.read(voxels_.data(), planes.size());
    take_apart(voxels_.data(), count_, channels_, 1, planes.data());
  }
  void finish() override { stream_.finish(); }

 private:
  NiftiStream stream_;
  std::size_t count_;
  int channels_;
  std::vector<unsigned char> voxels_;
};

class HeldSource : public SeriesReader::Source {
 public:
  explicit HeldSource(StoredImage image) : image_(std::move(image)) {}

  void read(std::vector<unsigned char>& planes) override {
    take_apart(image_.bytes.data() + done_, image_.geometry.extent.count(), image_.components,
               bytes_of(image_.stored_type), planes.data());
    done_ += planes.size();
  }

 private:
  StoredImage image_;
  std::size_t done_ = 0;
};

constexpr unsigned char of_length = 7, in_mm = 2, in_seconds = 8;  // NIfTI's xyzt_units

/// Where the header has no step, or it is none of time, as it stands there.
double seconds(double step, unsigned char units) {
  constexpr int milliseconds = 16, microseconds = 24, of_time = 0x38;
  if (!usable_step(step)) return 1;
  const int unit = units & of_time;
  return unit == milliseconds ? step * 1e-3 : unit == microseconds ? step * 1e-6 : step;
}

std::unique_ptr<SeriesReader::Source> open_nifti(const std::string& path, SeriesLayout& layout) {
  const NiftiHeader header = read_nifti_header(path, NiftiColours::taken);
  require_volume(path, header.extent());
  if (header.colour_channels > 1 && header.size[4] > 1)
    fail_reading(path, "its voxels are vectors of colours; save them as plain vectors");
  layout.geometry = nifti_geometry(header, layout.warnings);
  layout.stored_type = header.stored_type;
  layout.volumes = int(header.size[3]);
  layout.colours = header.colour_channels > 1;
  layout.components = layout.colours ? header.colour_channels : int(header.size[4]);
  layout.planes_at_once = header.colour_channels;
  layout.slope = header.slope;
  layout.intercept = header.intercept;
  auto nifti = std::make_shared<NiftiLayout>();
  nifti->intent_code = header.intent_code;
  nifti->intent_p = header.intent_p;
  nifti->intent_name = header.intent_name;
  nifti->step = header.step;
  nifti->units = header.units;
  if (header.mm_per_unit != 1) nifti->units = (header.units & ~of_length) | in_mm;
  layout.nifti = nifti;
  layout.step = seconds(header.step[0], header.units);
  return std::make_unique<NiftiSource>(header);
}

std::unique_ptr<SeriesReader::Source> open_other(const std::string& path, FileFormat format,
                                                 SeriesLayout& layout) {
  StoredImage image = read_stored_image(path, format, ImageContent::any);
  require_volume(path, image.geometry.extent);
  layout.geometry = image.geometry;
  layout.warnings = std::move(image.warnings);
  make_orthonormal(path, layout.geometry, layout.warnings);
  layout.stored_type = image.stored_type;
  layout.volumes = image.volumes;
  layout.components = layout.planes_at_once = image.components;
  layout.colours = image.colours;
  layout.step = image.step;
  layout.nrrd = std::make_shared<NrrdNotes>(image.nrrd);
  return std::make_unique<HeldSource>(std::move(image));
}

/// Colours of NIfTI are bytes; any other are vectors there.
bool are_nifti_colours(const SeriesLayout& layout) {
  return layout.colours && layout.stored_type == StoredType::uint8;
}

class NiftiSink : public SeriesWriter::Sink {
 public:
  NiftiSink(const std::string& path, const SeriesLayout& layout, const Compression& compression)
      : channels_(are_nifti_colours(layout) ? layout.components : 1),
        writer_(path, layout.geometry, header_of(layout), compression) {}

  void write(const std::vector<unsigned char>& planes) override {
    if (channels_ == 1) return writer_.write(planes.data(), planes.size());
    const std::vector<unsigned char> voxels =
        interleaved(planes.data(), planes.size() / std::size_t(channels_), channels_, 1);
    writer_.write(voxels.data(), voxels.size());
  }
  void close() override { writer_.close(); }

 private:
  static NiftiLayout header_of(const SeriesLayout& layout) {
    constexpr int vectors = 1007;
    const bool colours = are_nifti_colours(layout);
    const bool volumes = layout.volumes == 1 && layout.nrrd && layout.nrrd->volumes;
    NiftiLayout header;
    if (layout.nifti) {
      header = *layout.nifti;
    } else {
      if (layout.components > 1 && !colours && !volumes) header.intent_code = vectors;
      if (layout.volumes > 1) {
        header.step[0] = float(layout.step);
        header.units = in_mm | in_seconds;
      }
    }
    header.stored_type = layout.stored_type;
    header.colour_channels = colours ? layout.components : 1;
    header.slope = layout.slope;
    header.intercept = layout.intercept;
    header.size = {layout.volumes, colours ? 1 : layout.components, 1, 1};
    if (volumes) std::swap(header.size[0], header.size[1]);
    header.dimensions = header.size[1] > 1 ? 5 : header.size[0] > 1 ? 4 : 3;
    return header;
  }

  int channels_;
  NiftiWriter writer_;
};

class HeldSink : public SeriesWriter::Sink {
 public:
  HeldSink(const std::string& path, FileFormat format, const SeriesLayout& layout,
           const Compression& compression)
      : path_(path), format_(format), layout_(layout), compression_(compression) {
    require_storable(path_, format_, stored_layout());
  }

  void write(const std::vector<unsigned char>& planes) override {
    planes_.insert(planes_.end(), planes.begin(), planes.end());
  }

  void close() override {
    const std::size_t count = layout_.geometry.extent.count();
    const std::size_t value_bytes = bytes_of(layout_.stored_type);
    const std::size_t volume_bytes = count * std::size_t(layout_.components) * value_bytes;
    if (layout_.components > 1)
      for (std::size_t begin = 0; begin < planes_.size(); begin += volume_bytes) {
        const std::vector<unsigned char> voxels =
            interleaved(planes_.data() + begin, count, layout_.components, value_bytes);
        std::copy(voxels.begin(), voxels.end(), planes_.begin() + std::ptrdiff_t(begin));
      }
    write_stored_image(path_, format_, stored_layout(), planes_.data(), compression_);
  }

 private:
  StoredLayout stored_layout() const {
    return {layout_.geometry, layout_.components, layout_.stored_type, layout_.volumes,
            layout_.step,     layout_.colours,    layout_.nrrd.get()};
  }

  std::string path_;
  FileFormat format_;
  SeriesLayout layout_;
  Compression compression_;
  std::vector<unsigned char> planes_;
};

}  // namespace

bool SeriesLayout::keeps_gradients(const std::string& path) const {
  return !nrrd || !nrrd->has_gradients() || format_to_write(path) == FileFormat::nrrd;
}

SeriesReader::SeriesReader(const std::string& path) {
  const FileFormat format = format_to_read(path);
  source_ =
      format == FileFormat::nifti ? open_nifti(path, layout_) : open_other(path, format, layout_);
  planes_left_ = layout_.planes();
}

SeriesReader::~SeriesReader() = default;

void SeriesReader::prefetch() { ahead_ = read(); }

std::vector<unsigned char> SeriesReader::read() {
  if (!ahead_.empty()) return std::exchange(ahead_, {});
  std::vector<unsigned char> planes;
  if (planes_left_ == 0) return planes;
  planes.resize(layout_.geometry.extent.count() * std::size_t(layout_.planes_at_once) *
                bytes_of(layout_.stored_type));
  source_->read(planes);
  planes_left_ -= layout_.planes_at_once;
  if (planes_left_ == 0) source_->finish();
  return planes;
}

SeriesWriter::SeriesWriter(const std::string& path, const SeriesLayout& layout,
                           const Compression& compression) {
  const FileFormat format = format_to_write(path);
  const bool apart = layout.planes_at_once == 1;  // components are the slowest, as NIfTI has them
  const bool wants_apart = format == FileFormat::nifti && !are_nifti_colours(layout);
  if (layout.volumes > 1 && layout.components > 1 && apart != wants_apart)
    fail_writing(path,
                 "vectors in several volumes stay in their format; name an output of the "
                 "input's");
  if (format != FileFormat::nifti && (layout.slope != 1 || layout.intercept != 0))
    fail_writing(path,
                 "its format has no scaling of values, which the input's header asks for; "
                 "name a floating-point type or write .nii.gz");
  if (format == FileFormat::nifti)
    sink_ = std::make_unique<NiftiSink>(path, layout, compression);
  else
    sink_ = std::make_unique<HeldSink>(path, format, layout, compression);
}

SeriesWriter::~SeriesWriter() = default;
void SeriesWriter::write(const std::vector<unsigned char>& planes) { sink_->write(planes); }
void SeriesWriter::close() { sink_->close(); }

}  // namespace freeflow
