#include <apps/file_writer.h>

#include <utility>

#include <apps/program.h>

namespace freeflow::apps {

void FileWriter::wait_for_first() {
  std::future<void> first = std::move(running_.front());
  running_.pop_front();
  first.get();
}

void FileWriter::add(std::function<void()> write) {
  stop_if_interrupted();
  if (running_.size() == at_once_) wait_for_first();
  running_.push_back(std::async(std::launch::async, std::move(write)));
}

void FileWriter::finish() {
  while (!running_.empty()) wait_for_first();
}

}  // namespace freeflow::apps
