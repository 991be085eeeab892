// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_COLOUR_RANGE_H_
#define VITRINE_REPORT_COLOUR_RANGE_H_

#include <cstdint>
#include <span>
#include <string>

namespace vitrine {

// Which value gets which colour. Both kinds are anchored at 0, so that nearly equal values look equal and drawings of
// one range can be compared:
//   sequential: 0 is dark, `high` bright yellow (OpenCV's inferno, perceptually uniform);
//   diverging: from -high (blue) over 0 (nearly white) to high (red), linear in CIELAB with both ends equally dark, so
//   that equally large values of either sign catch the eye equally.
struct ColourRange {
  double high = 0;
  bool diverging = false;

  double low() const { return diverging ? -high : 0; }
  std::string InWords() const;  // "0 to 0.031", "-1.5 to +1.5"
};

// The range that holds the values; diverging where asked for, and where one of them is negative.
ColourRange RangeOf(std::span<const float> values, bool diverging = false);

// That of attention to `keys` keys, whose weights sum to at most 1. It reaches to twice an equal share at least, so
// that attention that is equal everywhere lies in the middle of the colours, and flat. 0 keys: values that are no
// weights.
ColourRange AttentionRange(std::span<const float> values, int64_t keys, bool diverging);

// The range that holds both: for drawings that are to be compared.
ColourRange Both(const ColourRange& a, const ColourRange& b);

}  // namespace vitrine

#endif  // VITRINE_REPORT_COLOUR_RANGE_H_
