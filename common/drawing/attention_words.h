// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_ATTENTION_WORDS_H_
#define VITRINE_COMMON_DRAWING_ATTENTION_WORDS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "vitrine/v1/attention.pb.h"
#include "vitrine/v1/classifier.pb.h"
#include "vitrine/v1/features.pb.h"

namespace vitrine {

// Convert attention kinds from and to their names on the command line, in URLs, file names and JSON: class, mean,
// rollout, scores, weights, class-attention, channels, query, distance.
std::string AttentionKindName(v1::AttentionKind kind);
std::optional<v1::AttentionKind> AttentionKindOf(absl::string_view name);
const std::vector<std::string>& AttentionKindNames();

// Returns true for kinds on the token grid, false for matrices and the distance.
bool IsSpatial(v1::AttentionKind kind);

// Convert feature kinds from and to their names: class, mean, patches, registers, projection.
std::string FeatureKindName(v1::FeatureKind kind);
std::optional<v1::FeatureKind> FeatureKindOf(absl::string_view name);
const std::vector<std::string>& FeatureKindNames();

// Labels for drawings of attention.

// Returns for example "Attention rollout".
std::string AttentionTitle(v1::AttentionKind kind);

// Return "layer 3" or, for a negative number, "all layers"; "head 0" or, for a negative number, "mean over heads".
std::string LayerInWords(int layer);
std::string HeadInWords(int head);

// Returns "eit-mini version 2: cat 91.2 %": model and version that answered, and the first class if there is one.
std::string AnswerInWords(const v1::ClassifyResponse& answer);

// Returns for example "Attention of one query, row 3, column 4". `grid_columns`: width of the token grid; 0: unknown.
std::string KindInWords(const v1::AttentionRequest& asked, int grid_columns);

// Like KindInWords, with layer and head if the kind has them.
std::string MapInWords(const v1::AttentionRequest& asked, int grid_columns, int layer, int head);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_ATTENTION_WORDS_H_
