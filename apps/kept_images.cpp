#include <apps/kept_images.h>

#include <utility>

namespace freeflow::apps {

HostImage KeptImages::read(const std::string& path) {
  const auto found = before_.find(path);
  std::shared_ptr<const HostImage>& image = now_[path];
  if (!image)
    image = found != before_.end() ? found->second
                                   : std::make_shared<const HostImage>(read_image(path));
  return *image;
}

void KeptImages::end_of_pair() { before_ = std::exchange(now_, {}); }

}  // namespace freeflow::apps
