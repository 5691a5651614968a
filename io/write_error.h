// How writing fails: because a place cannot be written to, which is the caller's to mend (IoError),
// or because the machine has no more to give while the work is on (WriteError).
#pragma once

#include <string>

#include <freeflow/core/error.h>

namespace freeflow {

/// The disk or the quota is full, or the limit of a file's size is reached.
struct WriteError : IoError {
  using IoError::IoError;
};

/// Throws "cannot write 'path': why" by the number that the system gave (errno): a WriteError where
/// something ran out, an IoError else.
[[noreturn]] void fail_writing(const std::string& path, int error);

/// For a file that could not be written, or only in part; `written` is where it lies so far. Finds
/// out why by trying to append to it: writers of other libraries keep the reason to themselves.
/// Throws as fail_writing does.
[[noreturn]] void fail_cut_short(const std::string& path, const std::string& written);
[[noreturn]] inline void fail_cut_short(const std::string& path) { fail_cut_short(path, path); }

}  // namespace freeflow
