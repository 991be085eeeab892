// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_IMPORT_IMPORT_NAMES_H_
#define VITRINE_MODELS_REPOSITORY_IMPORT_IMPORT_NAMES_H_

#include <span>
#include <string_view>

#include "models/repository/import/import.h"

namespace vitrine {

// Conversion of a foreign tensor to ours. Shapes are foreign -> ours.
enum class Reshape {
  kSame,        // [...] -> [...]
  kOneLess,     // [1, ...] -> [...]
  kPatchRows,   // convolution [d, channels, P, P] -> patches in the order row, column, channel [d, P * P * channels]
  kMatrix,      // convolution 1x1 [d, e, 1, 1] -> [d, e]
  kStackedQkv,  // three tensors [d, ...], of query, key and value -> [3 d, ...]
};

// Repetition of a rule. The number replaces "#" in both names; in a foreign name "@" is twice the number.
enum class Repeat { kOnce, kBlocks, kClassBlocks, kStem };

struct NameRule {
  std::string_view foreign;  // for kStackedQkv, "{a|b|c}" is a for query, b for key, c for value
  std::string_view ours;
  Reshape reshape = Reshape::kSame;
  Repeat repeat = Repeat::kOnce;
};

// Returns the table of a source and a family, for the spelling that these tensors use if the source changed its names;
// empty if the source lacks the family.
std::span<const NameRule> NameRules(ForeignSource source, v1::ModelConfig::FamilyCase family, const TensorMap& tensors);

// True if a foreign tensor may be left out of the model.
bool IsIgnorable(ForeignSource source, std::string_view name);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_IMPORT_IMPORT_NAMES_H_
