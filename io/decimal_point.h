// Private to io: numbers in files have a decimal point, also where the program that the library is
// part of has chosen a locale with commas. Nothing global is changed: C's functions, the foreign
// readers' among them, follow the locale of their thread; streams of ours take
// std::locale::classic.
#pragma once

#include <locale.h>

namespace freeflow {

class DecimalPoint {
 public:
  DecimalPoint() {
    if (const locale_t copy = duplocale(uselocale(nullptr))) {
      own_ = newlocale(LC_NUMERIC_MASK, "C", copy);
      if (own_)
        before_ = uselocale(own_);
      else
        freelocale(copy);
    }
  }
  ~DecimalPoint() {
    if (!own_) return;
    uselocale(before_);
    freelocale(own_);
  }
  DecimalPoint(const DecimalPoint&) = delete;
  DecimalPoint& operator=(const DecimalPoint&) = delete;

 private:
  locale_t own_ = nullptr, before_ = nullptr;
};

}  // namespace freeflow
