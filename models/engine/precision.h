// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_PRECISION_H_
#define VITRINE_MODELS_ENGINE_PRECISION_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace vitrine {

// Precision of a model's products. bf16 products are summed in fp32; int8 products are summed exactly. Values between
// products are fp32; a value that only bf16 products read may be stored as bf16.
enum class Precision { kFp32, kBf16, kInt8 };

// Returns "fp32", "bf16" or "int8".
const char* Name(Precision precision);
std::optional<Precision> ParsePrecision(std::string_view name);

// Precision of a model, and the names of the operators that are kept out of this precision to protect accuracy.
// Operators kept out of int8 run in bf16 if the device supports bf16, else in fp32; operators kept out of bf16 run in
// fp32. Products of two activations (in attention) and convolutions of images never run in int8: they run in bf16 or
// fp32. If they are kept out of bf16 or int8, they run in fp32.
struct PrecisionChoice {
  Precision precision = Precision::kFp32;
  std::set<std::string> kept;
};

// Maximum number of products of a byte (0 to 255) and a weight (-127 to 127) whose sum always fits in 32 bits.
inline constexpr int64_t kMostByteInputs = 0x7fffffff / (255 * 127);

}  // namespace vitrine

#endif  // VITRINE_MODELS_ENGINE_PRECISION_H_
