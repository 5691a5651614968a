// Which schemes of the correlation ratio a test goes through.
#pragma once

#include <vector>

#include <freeflow/similarity/ratio_histogram/ratio_histogram.h>

#include "support/chosen_schemes.h"

namespace freeflow::test {

inline std::vector<RatioSchemeInfo> schemes_for(RatioDirection direction) {
  std::vector<RatioSchemeInfo> schemes = chosen(ratio_schemes());
  if (direction == RatioDirection::fixed_given_moving)
    std::erase_if(schemes, [](const RatioSchemeInfo& info) {
      return info.scheme == RatioScheme::conflict_free;
    });
  return schemes;
}

}  // namespace freeflow::test
