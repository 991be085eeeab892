// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_CODECS_OVER_WHITE_H_
#define VITRINE_COMMON_IMAGING_CODECS_OVER_WHITE_H_

#include <cstdint>

namespace vitrine {

// Returns `value` with opacity `alpha`, 0 to 255, composited over white and rounded.
constexpr uint8_t OverWhite(uint32_t value, uint32_t alpha) {
  return static_cast<uint8_t>((value * alpha + 255 * (255 - alpha) + 127) / 255);
}

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_CODECS_OVER_WHITE_H_
