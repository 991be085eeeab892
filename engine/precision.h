// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_PRECISION_H_
#define VITRINE_ENGINE_PRECISION_H_

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace vitrine {

// In what the products of a model are computed. Sums are fp32 (of bf16) or exact (of int8); what is between products is
// fp32 in all of them.
enum class Precision { kFp32, kBf16, kInt8 };

// "fp32", "bf16", "int8".
const char* Name(Precision precision);
std::optional<Precision> ParsePrecision(std::string_view name);

// How a model is computed: in which precision, and which of its operators, by name, are kept from it because they would
// cost accuracy. What is kept from int8 is bf16 where the CPU multiplies that, else fp32; what is kept from bf16, fp32.
// Attention's own products, whose both sides are activations, are bf16 in int8 too, and fp32 where kept.
struct PrecisionChoice {
  Precision precision = Precision::kFp32;
  std::set<std::string> kept;
};

}  // namespace vitrine

#endif  // VITRINE_ENGINE_PRECISION_H_
