#include <freeflow/io/label_file.h>

#include <cmath>
#include <cstring>
#include <type_traits>

#include <freeflow/io/file_checks.h>
#include <freeflow/io/itk_image_io.h>
#include <freeflow/io/nifti_file.h>
#include <freeflow/io/orientation.h>
#include <freeflow/io/raw_data_check.h>
#include <freeflow/io/voxel_writer.h>

namespace freeflow {

namespace {

template <class T>
std::uint64_t to_label(const std::string& path, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    constexpr double most = 9007199254740992;  // beyond, not every integer is a double
    if (!(std::abs(double(value)) <= most) || std::nearbyint(value) != value)
      fail_reading(path, "a voxel of it is no integer (" + std::to_string(value) +
                             "), so it is no label image; take another interpolation");
    return std::uint64_t(std::int64_t(value));
  } else {
    return std::uint64_t(std::int64_t(value));  // extends the sign; no change of unsigned ones
  }
}

std::vector<std::uint64_t> to_labels(const std::string& path, StoredType type,
                                     const std::vector<unsigned char>& bytes) {
  std::vector<std::uint64_t> labels(bytes.size() / bytes_of(type));
  with_stored_type(type, [&](auto value) {
    using T = decltype(value);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      T stored;
      std::memcpy(&stored, bytes.data() + i * sizeof(T), sizeof(T));
      labels[i] = to_label(path, stored);
    }
  });
  return labels;
}

}  // namespace

HostLabels read_labels(const std::string& path) {
  const FileFormat format = format_to_read(path);
  HostLabels labels;
  if (format == FileFormat::nifti) {
    const NiftiHeader header = read_nifti_header(path);
    if (header.size[3] != 1 || header.size[4] != 1)
      fail_reading(path, "it holds several volumes or vectors; a label image is one volume");
    if (header.slope != 1 || header.intercept != 0)
      fail_reading(path, "its header scales the values, which labels do not bear; save it plain");
    require_volume(path, header.extent());
    labels.geometry = nifti_geometry(header, labels.warnings);
    labels.stored_type = header.stored_type;
    labels.labels = to_labels(path, labels.stored_type, read_nifti_bytes(header));
  } else {
    check_raw_data(path, format);
    const ItkBytes read = read_itk_bytes(path, format);
    if (read.components != 1)
      fail_reading(path, "its voxels are vectors; a label image is of scalars");
    require_volume(path, read.geometry.extent);
    labels.geometry = read.geometry;
    make_orthonormal(path, labels.geometry, labels.warnings);
    labels.stored_type = read.stored_type;
    labels.labels = to_labels(path, labels.stored_type, read.bytes);
  }
  return labels;
}

void write_labels(const std::string& path, const HostLabels& labels, int threads) {
  require(labels.labels.size() == labels.geometry.extent.count(),
          "the number of voxels does not fit the geometry");
  with_stored_type(labels.stored_type, [&](auto value) {
    using T = decltype(value);
    std::vector<T> stored(labels.labels.size());
    for (std::size_t i = 0; i < stored.size(); ++i) {
      if constexpr (std::is_floating_point_v<T>)
        stored[i] = T(std::int64_t(labels.labels[i]));
      else
        stored[i] = T(labels.labels[i]);
    }
    write_voxels(path, labels.geometry, 1, labels.stored_type, stored.data(), threads);
  });
}

}  // namespace freeflow
