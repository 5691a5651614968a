#include <freeflow/io/write_error.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include <freeflow/io/file_checks.h>

namespace freeflow {

namespace {

bool ran_out(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO || error == ENOMEM ||
         error == ENFILE || error == EMFILE;
}

std::string in_words(int error) {
  switch (error) {
    case ENOSPC: return "the disk is full";
    case EDQUOT: return "the quota is used up";
    case EFBIG: return "it passes the limit of a file's size (ulimit -f)";
    case EISDIR: return "a folder has this name";
    case 0: return "it cannot be written";
    default: return std::generic_category().message(error);
  }
}

/// Why no more bytes go into the file; 0 where they do.
int why_no_more(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return errno;
  int error = 0;
  const std::array<char, 1 << 16> bytes{};
  for (int tries = 0; tries < 2 && error == 0; ++tries)  // the first may fill the last block
    if (write(file, bytes.data(), bytes.size()) < 0) error = errno;
  close(file);
  return error;
}

}  // namespace

void fail_writing(const std::string& path, int error) {
  const std::string sentence = "cannot write '" + path + "': " + in_words(error);
  if (ran_out(error)) throw WriteError(sentence);
  throw IoError(sentence);
}

void fail_cut_short(const std::string& path, const std::string& written) {
  const int error = why_no_more(written);
  if (error) fail_writing(path, error);
  throw WriteError("cannot write '" + path + "': only a part of it could be written");
}

}  // namespace freeflow
