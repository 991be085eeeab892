// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_ATTENTION_CHOICE_H_
#define VITRINE_CLIENT_COMMANDS_ATTENTION_CHOICE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "vitrine/v1/attention.pb.h"
#include "vitrine/v1/classifier.pb.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// Limit for the bytes of maps and features in an answer. Large enough for matrices of every head of every layer.
inline constexpr int64_t kMostAttentionBytes = int64_t{16} << 20;

// A patch token: its index, or its row and column in the grid, which may differ from image to image.
struct QueryToken {
  int index = 0;
  std::optional<std::pair<int, int>> cell;  // row, column; instead of `index`
};

// Blocks or heads: numbers, counted from 0 or, if negative, from the end; or all.
struct Indices {
  std::vector<int32_t> numbers = {};
  bool all = false;
  bool empty() const { return numbers.empty() && !all; }
};

// Options of the attention maps of one command.
struct AttentionOptions {
  std::string folder = {};                    // for the drawings; empty: no attention
  std::vector<v1::AttentionKind> kinds = {};  // empty: the first spatial kind that the model has
  Indices layers = {};                        // empty: the last; all for a sheet and for the distance
  Indices heads = {};                         // empty: their mean; all for a sheet and for the distance
  std::optional<QueryToken> query = {};       // token of QUERY_ROW; implies that kind if `kinds` is empty
  bool keep_class_mass = false;               // AttentionRequest::keep_class_mass, for DISTANCE
  bool sheet = false;                         // one drawing per kind with every layer and head
  // One drawing with the image and every kind; empty `kinds` then means all kinds on the image's grid.
  bool side_by_side = false;
};

// Returns the attention requests for `model`, with layers and heads counted from 0; a rollout has neither. Empty
// without folder. INVALID_ARGUMENT lists what the model has: a kind, layer or head is missing, or an option fits no
// kind.
absl::StatusOr<std::vector<v1::AttentionRequest>> ChooseAttention(const AttentionOptions& wish,
                                                                  const v1::ModelVersion& model);

// Sets the query's index for the grid of this image. INVALID_ARGUMENT: the cell is outside the grid, or the image's
// size cannot be read.
absl::Status PlaceQuery(const QueryToken& query, const v1::ModelConfig& config, std::string_view encoded,
                        v1::ClassifyRequest& request);

// "17", or "3,4" for row 3 and column 4.
absl::StatusOr<QueryToken> ParseQuery(absl::string_view text);
// Numbers separated by commas, or "all".
absl::StatusOr<Indices> ParseIndices(absl::string_view text);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_ATTENTION_CHOICE_H_
