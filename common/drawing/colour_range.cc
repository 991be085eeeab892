// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/colour_range.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/drawing/lettering.h"

namespace vitrine {

std::string ColourRange::InWords() const {
  const std::string largest = ShortNumber(high);
  return diverging ? absl::StrCat("-", largest, " to +", largest) : absl::StrCat("0 to ", largest);
}

ColourRange RangeOf(std::span<const float> values, bool diverging) {
  ColourRange range{.high = 0, .diverging = diverging};
  for (const float value : values) {
    range.high = std::max(range.high, std::abs(static_cast<double>(value)));
    range.diverging = range.diverging || value < 0;
  }
  return range;
}

ColourRange AttentionRange(std::span<const float> values, int64_t keys, bool diverging) {
  ColourRange range = RangeOf(values, diverging);
  if (keys > 0 && !range.diverging) range.high = std::max(range.high, 2.0 / static_cast<double>(keys));
  return range;
}

ColourRange Both(const ColourRange& a, const ColourRange& b) {
  return {.high = std::max(a.high, b.high), .diverging = a.diverging || b.diverging};
}

}  // namespace vitrine
