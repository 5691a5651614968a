// What a cohort keeps of a fixed image for the next pair, as templates repeat: its file's voxels,
// and on the device its pyramid.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <apps/images.h>

namespace freeflow::apps {

class KeptImages {
 public:
  /// The file's image, kept from the pair before, if it holds what it held then, or read now. For
  /// the thread that reads.
  HostImage read(const std::string& path);
  /// The files that were read for the pair, with what they held.
  std::string files_of_pair() const;
  /// All that was read for a pair: what it did not use is forgotten.
  void end_of_pair();

  /// The device's image of the pair before if it was made of the same files, else what `make`
  /// makes. For the thread that computes, as `forget`.
  template <class Make>
  DeviceImage& on_device(const std::string& files, const Make& make) {
    if (!image_ || files != files_) {
      image_.reset();  // before the next takes memory
      image_ = std::make_unique<DeviceImage>(make());
      files_ = files;
    }
    return *image_;
  }
  bool holds(const std::string& files) const { return image_ && files == files_; }
  void forget() { image_.reset(); }

 private:
  std::map<std::string, std::shared_ptr<const HostImage>> before_, now_;  // by file and contents
  std::unique_ptr<DeviceImage> image_;
  std::string files_;
};

}  // namespace freeflow::apps
