// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_IMPORT_IMPORT_NAMES_H_
#define VITRINE_MODELS_REPOSITORY_IMPORT_IMPORT_NAMES_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/repository/foreign/import.h"

namespace vitrine {

// Conversion of the shape of a foreign tensor to the shape of our tensor, written as foreign -> ours.
enum class Reshape {
  kSame,        // [...] -> [...]
  kOneLess,     // [1, ...] -> [...]
  kOneMore,     // [...] -> [1, ...]
  kTransposed,  // [e, d] -> [d, e]
  kPatchRows,   // convolution [d, channels, P, P] -> patches in the order row, column, channel [d, P * P * channels]
  kMatrix,      // 1x1 convolution [d, e, 1, 1] -> [d, e]
  kStackedQkv,  // three tensors [d, ...] for query, key and value -> [3 d, ...]
};

// The layers to which a rule applies. The index of the layer, counted from 0, replaces "#" in both names; twice the
// index replaces "@" in a foreign name.
enum class Repeat { kOnce, kBlocks, kClassBlocks, kStem };

struct NameRule {
  std::string foreign;  // for kStackedQkv, "{a|b|c}" means a for query, b for key, c for value
  std::string ours;
  Reshape reshape = Reshape::kSame;
  Repeat repeat = Repeat::kOnce;
};

// Returns the rules for a source and a model; empty if the source lacks the family. If releases of the source use
// different names, returns the rules for the names that `tensors` have.
std::vector<NameRule> NameRules(ForeignSource source, const v1::ModelConfig& config, const TensorMap& tensors);

// Returns the names and shapes of the source's tensors for the model of `config`. If releases of the source use
// different names, uses the names that `tensors` have. Returns the errors of ModelDescription::Make.
absl::StatusOr<std::map<std::string, std::vector<int64_t>>> ForeignShapes(ForeignSource source,
                                                                          const v1::ModelConfig& config,
                                                                          const TensorMap& tensors);

// Returns true if `tensors` fits the body, which is the model of `config` without the head. It fits if every tensor of
// the body is in `tensors` and has the right shape, and `tensors` contains no other body layers.
bool FitsBody(ForeignSource source, const v1::ModelConfig& config, const TensorMap& tensors);

// Returns the names (as for ForeignConfig) of all models whose body `tensors` fit (see FitsBody). Builds every model,
// which is slow, so call it only to explain an error.
std::vector<std::string> FittingArchs(ForeignSource source, const TensorMap& tensors);

// Returns true if `name` is the name of a model's tensor outside the model's head.
bool IsOfBody(ForeignSource source, std::string_view name);

// Returns true for a foreign tensor that is ignored if the model has no counterpart. The tensor may lack its data.
bool IsIgnorable(ForeignSource source, std::string_view name, const StoredTensor& tensor);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_IMPORT_IMPORT_NAMES_H_
