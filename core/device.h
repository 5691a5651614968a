// Where the work runs: the CPU, or one CUDA GPU. A value, chosen at run time.
#pragma once

#include <string>
#include <vector>

namespace freeflow {

struct Device {
  enum class Kind { cpu, cuda };

  Kind kind = Kind::cpu;
  int index = 0;

  bool is_cuda() const { return kind == Kind::cuda; }
  /// "cpu" or "cuda:1".
  std::string name() const;
  /// The hardware's own name, such as "NVIDIA H200" or "CPU".
  std::string description() const;

  /// Reads "auto" (the first GPU, else the CPU), "cpu", "cuda" or "cuda:1".
  /// Throws InvalidArgument for another word, and when the named device is missing a sentence that
  /// lists what exists.
  static Device parse(const std::string& text);

  friend bool operator==(const Device&, const Device&) = default;
};

/// The CPU, then every GPU that this build and this machine can use.
std::vector<Device> available_devices();

}  // namespace freeflow
