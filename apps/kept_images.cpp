#include <apps/kept_images.h>

#include <utility>

#include <freeflow/io/content_hash.h>

namespace freeflow::apps {

HostImage KeptImages::read(const std::string& path) {
  const std::string key = path + '\n' + content_hash(path);
  for (const auto* kept : {&now_, &before_})
    if (const auto found = kept->find(key); found != kept->end())
      return *now_.try_emplace(key, found->second).first->second;
  auto image = std::make_shared<const HostImage>(read_image(path));  // which may throw
  return *now_.emplace(key, std::move(image)).first->second;
}

std::string KeptImages::files_of_pair() const {
  std::string files;
  for (const auto& [key, image] : now_) files += key + '\n';
  return files;
}

void KeptImages::end_of_pair() { before_ = std::exchange(now_, {}); }

}  // namespace freeflow::apps
