// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ZOO_PUBLISHED_H_
#define VITRINE_MODELS_ZOO_PUBLISHED_H_

#include <optional>
#include <string_view>

namespace vitrine {

// What a paper means by FLOPs; models/workload/conventions.h counts all of them.
enum class FlopConvention {
  kNone,  // the paper prints no figure for the model
  kMacs,  // paper 002, and what it quotes of others: multiply-adds
  k001,   // paper 001: two for every multiply-add, plus costs per element
};

// What the papers print of a variant, in their own digits. Empty where they print nothing.
struct Published {
  std::string_view name;        // of the zoo's row
  std::string_view parameters;  // millions
  std::string_view flops;       // 10^9, in `convention`
  FlopConvention convention = FlopConvention::kNone;
  int side = 0;               // pixels of the square input that `flops` is for; 0 for the model's default
  std::string_view accuracy;  // top-1 in per cent
  std::string_view data;      // that it was measured on
  std::string_view remark;    // where print and arithmetic disagree
};

// Nothing for a variant of which nothing is printed.
std::optional<Published> FindPublished(std::string_view name);

}  // namespace vitrine

#endif  // VITRINE_MODELS_ZOO_PUBLISHED_H_
