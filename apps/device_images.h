// The two images of a pair on a device: made for it, or the fixed one kept from the pair before.
#pragma once

#include <functional>
#include <optional>

#include <apps/images.h>
#include <apps/kept_images.h>

namespace freeflow::apps {

class DeviceImages {
 public:
  /// `kept` may be null. `check_memory` throws DeviceError where the work does not fit; it is asked
  /// again once what was kept is gone. All must outlive this.
  DeviceImages(Context& ctx, KeptImages* kept, const CommonOptions& options, const Inputs& inputs,
               const std::function<void()>& check_memory);

  DeviceImage& fixed() { return *fixed_; }
  DeviceImage& moving() { return *moving_; }
  /// Those that no further pair uses.
  void free_levels();

 private:
  std::optional<DeviceImage> own_fixed_, moving_;
  DeviceImage* fixed_ = nullptr;
};

}  // namespace freeflow::apps
