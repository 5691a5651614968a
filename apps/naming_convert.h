// Sentences about transform files, for commands that lack regtool convert's options: whose a file
// is and what it needs is said to that command, which then makes one of ITK's of it.
#pragma once

#include <string>

#include <freeflow/core/error.h>

namespace freeflow::apps {

/// The transforms that a command takes: of any program, the same with --fixed for the fixed image,
/// or ITK's alone.
enum class TransformsTaken { any, any_with_fixed, itk };

/// A sentence about the file with the command that mends it, where it asks for what only regtool
/// convert has options for, or where the file is another program's and not taken.
std::string naming_convert(const std::string& path, const std::string& sentence,
                           TransformsTaken taken);

/// What read() returns; its errors name the command.
template <class Read>
auto read_naming_convert(const std::string& path, TransformsTaken taken, const Read& read) {
  try {
    return read();
  } catch (const InvalidArgument& e) {
    throw InvalidArgument(naming_convert(path, e.what(), taken));
  } catch (const IoError& e) {
    throw IoError(naming_convert(path, e.what(), taken));
  }
}

}  // namespace freeflow::apps
