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
  // Two, as some formats are compressed by one thread, and a file is handed to the system by one.
  constexpr std::size_t at_once = 2;
  stop_if_interrupted();
  if (running_.size() == at_once) wait_for_first();
  running_.push_back(std::async(std::launch::async, std::move(write)));
}

void FileWriter::finish() {
  while (!running_.empty()) wait_for_first();
}

}  // namespace freeflow::apps
