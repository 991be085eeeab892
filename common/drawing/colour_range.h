// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_COLOUR_RANGE_H_
#define VITRINE_COMMON_DRAWING_COLOUR_RANGE_H_

#include <cstdint>
#include <span>
#include <string>

namespace vitrine {

// Mapping of values to colours. Drawings with the same range can be compared. Both kinds of range include 0, so that
// nearly equal values get nearly equal colours. The kinds are:
//   sequential: 0 is dark, `high` is bright yellow (inferno, perceptually uniform).
//   diverging: -high is blue, 0 nearly white, `high` red. The colours are linear in CIELAB and both ends are equally
//   dark, so that equal magnitudes of either sign are equally visible.
struct ColourRange {
  double high = 0;
  bool diverging = false;

  double low() const { return diverging ? -high : 0; }
  std::string InWords() const;  // Returns "0 to 0.031" or "-1.5 to +1.5".
};

// Returns the range of the values: diverging if requested or if a value is negative.
ColourRange RangeOf(std::span<const float> values, bool diverging = false);

// Returns the range for attention weights that sum to at most 1 over `keys` keys. A sequential range extends to at
// least twice the equal share 1 / `keys`. Uniform attention is thus drawn in a single colour from the middle of the
// range. If `keys` is 0, the values are not weights, and this rule does not apply.
ColourRange AttentionRange(std::span<const float> values, int64_t keys, bool diverging);

// Returns a range that contains both `a` and `b`, so that two drawings can be compared.
ColourRange Both(const ColourRange& a, const ColourRange& b);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_COLOUR_RANGE_H_
