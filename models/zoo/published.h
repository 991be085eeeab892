// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ZOO_PUBLISHED_H_
#define VITRINE_MODELS_ZOO_PUBLISHED_H_

#include <optional>
#include <string_view>

namespace vitrine {

// A paper's definition of FLOPs. models/workload/conventions.h has a function for each definition.
enum class FlopConvention {
  kNone,  // the paper prints no figure for the model
  kMacs,  // paper 002, and figures that it quotes: multiply-adds
  k001,   // paper 001: two per multiply-add, plus costs per element
};

// Figures that the papers print for a variant, verbatim; empty if not printed.
struct Published {
  std::string_view name;        // name of the zoo row
  std::string_view parameters;  // in millions
  std::string_view flops;       // in units of 10^9, counted by `convention`
  FlopConvention convention = FlopConvention::kNone;
  int side = 0;               // side of the square input that `flops` is for, in pixels; 0 for the default
  std::string_view accuracy;  // top-1 in percent
  std::string_view data;      // data set of the accuracy
  std::string_view remark;    // source of the figures, or how other figures differ
};

// Returns the printed figures of a variant; nullopt if there are none.
std::optional<Published> FindPublished(std::string_view name);

}  // namespace vitrine

#endif  // VITRINE_MODELS_ZOO_PUBLISHED_H_
