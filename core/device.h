// Where the work runs: the CPU, one CUDA GPU, or several of one machine together. A value, chosen
// at run time.
#pragma once

#include <string>
#include <vector>

namespace freeflow {

struct Device {
  enum class Kind { cpu, cuda };

  Kind kind = Kind::cpu;
  int index = 0;
  int count = 1;  ///< GPUs, from `index` on, that share the memory and the work

  bool is_cuda() const { return kind == Kind::cuda; }
  /// "cpu", "cuda:1" or "cuda:0-3".
  std::string name() const;
  /// The hardware's own name: "NVIDIA H200", "4 x NVIDIA H200", "CPU" or "CPU with AVX-512".
  std::string description() const;

  /// Reads "auto" (the first GPU, else the CPU), "cpu", "cuda", "cuda:1", "cuda:0-3" or "cuda:all".
  /// Throws InvalidArgument for another word, and when the named device is missing a sentence that
  /// lists what exists.
  static Device parse(const std::string& text);

  friend bool operator==(const Device&, const Device&) = default;
};

/// The CPU, then every single GPU that this build and this machine can use.
std::vector<Device> available_devices();

}  // namespace freeflow
