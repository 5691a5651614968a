#include <apps/file_writer.h>

#include <numeric>
#include <utility>

#include <apps/program.h>

namespace freeflow::apps {

void FileWriter::wait_for_first() {
  std::future<void> first = std::move(running_.front().end);
  running_.pop_front();
  first.get();
}

std::size_t FileWriter::bytes_held() const {
  return std::accumulate(running_.begin(), running_.end(), std::size_t{0},
                         [](std::size_t sum, const Running& file) { return sum + file.bytes; });
}

void FileWriter::add(std::function<void()> write, std::size_t bytes) {
  stop_if_interrupted();
  while (running_.size() >= at_once_ && bytes_held() + bytes > little) wait_for_first();
  running_.push_back({std::async(std::launch::async, std::move(write)), bytes});
}

void FileWriter::finish() {
  while (!running_.empty()) wait_for_first();
}

}  // namespace freeflow::apps
