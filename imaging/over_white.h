// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_OVER_WHITE_H_
#define VITRINE_IMAGING_OVER_WHITE_H_

#include <cstdint>

namespace vitrine {

// A value with `alpha` laid over white, rounded; all of them are 0 to `white`, which is 255 or 65535.
constexpr uint32_t OverWhite(uint32_t value, uint32_t alpha, uint32_t white) {
  return (value * alpha + white * (white - alpha) + white / 2) / white;
}

}  // namespace vitrine

#endif  // VITRINE_IMAGING_OVER_WHITE_H_
