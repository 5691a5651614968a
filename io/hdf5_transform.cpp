#include <freeflow/io/hdf5_transform.h>

#include <itk_H5Cpp.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <mutex>

#include <freeflow/io/file_checks.h>
#include <freeflow/io/transform_check.h>
#include <freeflow/io/write_error.h>

namespace freeflow {

namespace {

/// Keeps HDF5 from printing what it throws, until the end of the scope.
class QuietHdf5 {
 public:
  QuietHdf5() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  QuietHdf5(const QuietHdf5&) = delete;
  QuietHdf5& operator=(const QuietHdf5&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

class Reader {
 public:
  Reader(std::string path, std::uint64_t file_bytes, const BeforeNumbers& before_numbers)
      : path_(std::move(path)), before_numbers_(before_numbers),
        most_values_(1024 + deflate_ratio * file_bytes / sizeof(double)),
        file_(path_, H5F_ACC_RDONLY) {}

  std::vector<StoredTransform> read() const {
    std::vector<StoredTransform> transforms;
    const H5::Group group = file_.openGroup("TransformGroup");
    for (hsize_t i = 0; i < group.getNumObjs(); ++i)
      transforms.push_back(read_one(group.openGroup(std::to_string(i))));  // by name: 10 before 2
    return transforms;
  }

 private:
  static constexpr std::uint64_t deflate_ratio = 1032;

  StoredTransform read_one(const H5::Group& one) const {
    StoredTransform transform;
    const H5::DataSet name = one.openDataSet("TransformType");
    name.read(transform.type, name.getStrType());
    if (transform.type.starts_with("CompositeTransform")) return transform;  // it has no numbers
    transform.fixed = numbers(one, "FixedParameters");
    transform.parameters = numbers(one, "Parameters");
    check_transform_numbers(path_, transform);
    return transform;
  }

  std::vector<double> numbers(const H5::Group& one, const std::string& name) const {
    // ITK's old files spell them without an s.
    const H5::DataSet data = one.openDataSet(
        one.nameExists("Transform" + name) ? "Transform" + name : "Tranform" + name);
    const hssize_t count = data.getSpace().getSimpleExtentNpoints();
    if (count < 0 || std::uint64_t(count) > most_values_)
      fail_reading(path_, "it declares more numbers than its bytes can hold");
    if (before_numbers_) before_numbers_(std::uint64_t(count));
    std::vector<double> values(std::size_t(count), 0.0);
    if (count > 0) data.read(values.data(), H5::PredType::NATIVE_DOUBLE);
    return values;
  }

  std::string path_;
  const BeforeNumbers& before_numbers_;
  std::uint64_t most_values_;
  H5::H5File file_;
};

/// Of a file that has the same bytes whenever it is written.
H5::DSetCreatPropList without_times() {
  H5::DSetCreatPropList layout;
  H5Pset_obj_track_times(layout.getId(), false);
  return layout;
}

void write_text(const H5::H5File& file, const std::string& name, const std::string& text) {
  const hsize_t one = 1;
  const H5::StrType type(H5::PredType::C_S1, H5T_VARIABLE);
  file.createDataSet(name, type, H5::DataSpace(1, &one), without_times()).write(text, type);
}

void write_numbers(const H5::H5File& file, const std::string& name,
                   const std::vector<double>& numbers, const H5::DataType& stored) {
  const hsize_t count = numbers.size(), chunk = std::min<hsize_t>(count, 1 << 17);
  const H5::DSetCreatPropList layout = without_times();
  if (count > 0) {
    layout.setChunk(1, &chunk);
    if (stored.getSize() > sizeof(float)) layout.setDeflate(5);  // others gain a few percent
  }
  const H5::DataSet data = file.createDataSet(name, stored, H5::DataSpace(1, &count), layout);
  if (count > 0) data.write(numbers.data(), H5::PredType::NATIVE_DOUBLE);
}

/// The file as bytes, made in memory: where a disk is full libhdf5 cannot close what it has begun,
/// and crashes at the end of the program.
std::vector<char> file_image(const std::vector<StoredTransform>& transforms) {
  H5::FileAccPropList in_memory;
  in_memory.setCore(std::size_t(1) << 24, false);
  H5::H5File file("transform.h5", H5F_ACC_TRUNC, H5::FileCreatPropList::DEFAULT, in_memory);
  write_text(file, "/ITKVersion", "5.2.1");  // whose layout this is
  file.createGroup("/TransformGroup");
  for (std::size_t i = 0; i < transforms.size(); ++i) {
    const std::string group = "/TransformGroup/" + std::to_string(i);
    file.createGroup(group);
    write_text(file, group + "/TransformType", transforms[i].type);
    if (transforms[i].fixed.empty() && transforms[i].parameters.empty()) continue;
    const bool single = transforms[i].type.find("_float_") != std::string::npos;
    write_numbers(file, group + "/TransformFixedParameters", transforms[i].fixed,
                  H5::PredType::NATIVE_DOUBLE);
    write_numbers(file, group + "/TransformParameters", transforms[i].parameters,
                  single ? H5::PredType::NATIVE_FLOAT : H5::PredType::NATIVE_DOUBLE);
  }
  file.flush(H5F_SCOPE_GLOBAL);
  const ssize_t bytes = H5Fget_file_image(file.getId(), nullptr, 0);
  std::vector<char> image(std::size_t(std::max<ssize_t>(bytes, 0)));
  if (bytes <= 0 || H5Fget_file_image(file.getId(), image.data(), image.size()) != bytes)
    throw H5::FileIException("H5Fget_file_image", "no image");
  return image;
}

std::mutex one_at_a_time;  // HDF5 need not be built for several threads

}  // namespace

std::vector<StoredTransform> read_stored_transforms(const std::string& path,
                                                    const BeforeNumbers& before_numbers) {
  const std::uint64_t bytes = size_of_readable_file(path);
  std::string signature(8, '\0');
  std::ifstream(path, std::ios::binary).read(signature.data(), std::streamsize(signature.size()));
  if (signature != "\x89HDF\r\n\x1a\n") fail_reading(path, "it is not an HDF5 file");
  const std::lock_guard lock(one_at_a_time);
  const QuietHdf5 quiet;
  try {
    return Reader(path, bytes, before_numbers).read();
  } catch (const H5::Exception&) {
    fail_reading(path, "it is damaged, or holds no transform of ITK's");
  }
}

void write_stored_transforms(const std::string& path,
                             const std::vector<StoredTransform>& transforms) {
  std::vector<char> image;
  try {
    const std::lock_guard lock(one_at_a_time);
    const QuietHdf5 quiet;
    image = file_image(transforms);
  } catch (const H5::Exception& e) {
    throw WriteError("cannot write '" + path + "': HDF5 says " + e.getDetailMsg());
  }
  std::ofstream file(path, std::ios::binary);
  if (!file) fail_writing(path, errno);
  file.write(image.data(), std::streamsize(image.size()));
  file.close();
  if (!file) fail_cut_short(path);
}

}  // namespace freeflow
