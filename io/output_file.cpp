#include <freeflow/io/output_file.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <freeflow/io/write_error.h>

namespace freeflow {

OutputFile::OutputFile(const std::string& path)
    : path_(path), temporary_(path + ".tmp"),
      file_(open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (file_ < 0) fail_writing(path_, errno);
}

OutputFile::~OutputFile() {
  if (temporary_.empty()) return;
  if (file_ >= 0) ::close(file_);
  unlink(temporary_.c_str());  // takes no memory, of which there may be none
}

void OutputFile::write(const void* bytes, std::size_t count) {
  constexpr std::size_t most_at_once = std::size_t(1) << 30, worth_a_call = std::size_t(8) << 20;
  const auto* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t n = ::write(file_, next, std::min(count, most_at_once));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail_writing(path_, n < 0 ? errno : ENOSPC);
    next += n;
    count -= std::size_t(n);
    written_ += std::size_t(n);
#ifdef SYNC_FILE_RANGE_WRITE
    if (written_ - on_their_way_ < worth_a_call) continue;
    sync_file_range(file_, off_t(on_their_way_), off_t(written_ - on_their_way_),
                    SYNC_FILE_RANGE_WRITE);  // a hint: some file systems know none
    on_their_way_ = written_;
#endif
  }
}

void OutputFile::close() {
  if (::close(std::exchange(file_, -1)) != 0) fail_writing(path_, errno);
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (error) fail_writing(path_, error.value());
  temporary_.clear();
}

}  // namespace freeflow
