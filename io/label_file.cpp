#include <freeflow/io/label_file.h>

#include <utility>

#include <freeflow/io/file_checks.h>
#include <freeflow/io/nifti_file.h>
#include <freeflow/io/orientation.h>
#include <freeflow/io/other_formats.h>
#include <freeflow/io/stored_voxels.h>
#include <freeflow/io/voxel_writer.h>

namespace freeflow {

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
    labels.labels =
        to_labels(path, labels.stored_type, read_nifti_bytes(header).data(), header.value_count());
  } else {
    StoredImage read = read_stored_image(path, format);
    if (read.components != 1)
      fail_reading(path, "its voxels are vectors; a label image is of scalars");
    require_volume(path, read.geometry.extent);
    labels.geometry = read.geometry;
    labels.warnings = std::move(read.warnings);
    make_orthonormal(path, labels.geometry, labels.warnings);
    labels.stored_type = read.stored_type;
    labels.labels = to_labels(path, labels.stored_type, read.bytes.data(),
                              read.bytes.size() / bytes_of(read.stored_type));
  }
  return labels;
}

void write_labels(const std::string& path, const HostLabels& labels,
                  const Compression& compression) {
  require(labels.labels.size() == labels.geometry.extent.count(),
          "the number of voxels does not fit the geometry");
  const std::vector<unsigned char> stored =
      from_labels(path, labels.stored_type, labels.labels, labels.stored_type);
  write_voxels(path, labels.geometry, 1, labels.stored_type, stored.data(), compression);
}

}  // namespace freeflow
