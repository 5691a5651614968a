#include <apps/kept_images.h>

#include <utility>

namespace freeflow::apps {

HostImage KeptImages::read(const std::string& path) {
  for (const auto* kept : {&now_, &before_})
    if (const auto found = kept->find(path); found != kept->end())
      return *now_.try_emplace(path, found->second).first->second;
  auto image = std::make_shared<const HostImage>(read_image(path));  // which may throw
  return *now_.emplace(path, std::move(image)).first->second;
}

void KeptImages::end_of_pair() { before_ = std::exchange(now_, {}); }

}  // namespace freeflow::apps
