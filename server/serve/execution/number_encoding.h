// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_EXECUTION_NUMBER_ENCODING_H_
#define VITRINE_SERVER_SERVE_EXECUTION_NUMBER_ENCODING_H_

#include <cstdint>
#include <span>
#include <string>

namespace vitrine {

// Floats as they go over the wire, little-endian.
std::string EncodeFloat(std::span<const float> values);
// As IEEE 754 binary16, rounded to nearest even; overflow becomes infinity.
std::string EncodeHalf(std::span<const float> values);

// IEEE 754 binary16 of a float, rounded to nearest even; overflow becomes infinity.
uint16_t ToHalf(float value);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_EXECUTION_NUMBER_ENCODING_H_
