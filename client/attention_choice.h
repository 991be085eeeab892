// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_ATTENTION_CHOICE_H_
#define VITRINE_CLIENT_ATTENTION_CHOICE_H_

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

// Most bytes of maps and features that an answer can be allowed. A matrix of every head of every layer may be large,
// and whoever asks for it wants it.
inline constexpr int64_t kMostAttentionBytes = int64_t{16} << 20;

// A patch token: by its number, or by row and column of the grid, which may differ from picture to picture.
struct QueryToken {
  int index = 0;
  std::optional<std::pair<int, int>> cell;  // row, column; instead of `index`
};

// Which blocks or heads: numbers, counted from 0 or, if negative, from the end; or all that there are.
struct Indices {
  std::vector<int32_t> numbers = {};
  bool all = false;
  bool empty() const { return numbers.empty() && !all; }
};

// What was asked to be looked at.
struct AttentionWish {
  std::string folder = {};                    // for the drawings; empty: no attention
  std::vector<v1::AttentionKind> kinds = {};  // empty: the first spatial kind that the model has
  Indices layers = {};                        // empty: the last; all for a sheet and for the distance
  Indices heads = {};                         // empty: their mean; all for a sheet and for the distance
  std::optional<QueryToken> query = {};       // of QUERY_ROW, which it asks for where `kinds` is empty
  bool keep_class_mass = false;               // of DISTANCE
  bool sheet = false;                         // one drawing per kind with every layer and head
  // One drawing with the picture and every kind; then `kinds` empty means all that lie on the picture.
  bool side_by_side = false;
};

// The requests that ask `model` for it, layers and heads counted from 0; a rollout has neither. Empty without folder.
// INVALID_ARGUMENT with what the model has: a kind, layer or head that it has not; parts of the wish that fit no kind.
absl::StatusOr<std::vector<v1::AttentionRequest>> ChooseAttention(const AttentionWish& wish,
                                                                  const v1::ModelVersion& model);

// Fills in the query's number for the grid that this picture will have. INVALID_ARGUMENT: the cell is outside it, or
// the picture's size cannot be read.
absl::Status PlaceQuery(const QueryToken& query, const v1::ModelConfig& config, std::string_view encoded,
                        v1::ClassifyRequest& request);

// "17", or "3,4" for row 3 and column 4.
absl::StatusOr<QueryToken> ParseQuery(absl::string_view text);
// Numbers separated by commas, or "all".
absl::StatusOr<Indices> ParseIndices(absl::string_view text);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_ATTENTION_CHOICE_H_
