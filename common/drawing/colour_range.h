// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_COLOUR_RANGE_H_
#define VITRINE_COMMON_DRAWING_COLOUR_RANGE_H_

#include <cstdint>
#include <span>
#include <string>

namespace vitrine {

// Mapping of values to colours. Both kinds are anchored at 0, so that nearly equal values look equal and drawings with
// one range can be compared:
//   sequential: 0 is dark, `high` bright yellow (OpenCV's inferno, perceptually uniform);
//   diverging: from -high (blue) over 0 (nearly white) to high (red), linear in CIELAB with both ends equally dark, so
//   that equally large values of either sign are equally visible.
struct ColourRange {
  double high = 0;
  bool diverging = false;

  double low() const { return diverging ? -high : 0; }
  std::string InWords() const;  // "0 to 0.031", "-1.5 to +1.5"
};

// Returns the range of the values; diverging if requested or if one of them is negative.
ColourRange RangeOf(std::span<const float> values, bool diverging = false);

// Returns the range for attention to `keys` keys, whose weights sum to at most 1. It extends at least to twice an equal
// share, so that uniform attention has one colour, in the middle of the range. 0 keys: the values are no weights.
ColourRange AttentionRange(std::span<const float> values, int64_t keys, bool diverging);

// Returns the range that contains both: for drawings to be compared.
ColourRange Both(const ColourRange& a, const ColourRange& b);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_COLOUR_RANGE_H_
