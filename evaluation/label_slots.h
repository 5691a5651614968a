// Private: which of the labels asked for a voxel has.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include <freeflow/core/error.h>

namespace freeflow {

class LabelSlots {
 public:
  /// Throws InvalidArgument when a label is named twice.
  explicit LabelSlots(std::span<const std::int32_t> labels) {
    for (std::size_t i = 0; i < labels.size(); ++i)
      require(slots_.emplace(labels[i], std::ptrdiff_t(i)).second,
              "label " + std::to_string(labels[i]) + " is named twice");
    if (!labels.empty()) last_label_ = labels[0], last_slot_ = 0;
  }
  /// The number of the label in the list, -1 where it is not there. Neighbours mostly have one
  /// label, so the last is kept.
  std::ptrdiff_t of(std::int32_t label) {
    if (label != last_label_) {
      const auto found = slots_.find(label);
      last_label_ = label;
      last_slot_ = found == slots_.end() ? -1 : found->second;
    }
    return last_slot_;
  }

 private:
  std::unordered_map<std::int32_t, std::ptrdiff_t> slots_;
  std::int32_t last_label_ = 0;
  std::ptrdiff_t last_slot_ = -1;
};

}  // namespace freeflow
