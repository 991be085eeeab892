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

// Maximum bytes of the attention maps and features in an answer. 16 MiB hold 216 FLOAT16 matrices of 197 x 197 tokens.
inline constexpr int64_t kMostAttentionBytes = int64_t{16} << 20;

// A patch token, given by its index, or by its row and column in the grid of each image.
struct QueryToken {
  int index = 0;
  std::optional<std::pair<int, int>> cell;  // row and column; if set, `index` is unused
};

// Indices of layers or heads, or all of them. Counted from 0; negative indices count from the end.
struct Indices {
  std::vector<int32_t> numbers = {};
  bool all = false;
  bool empty() const { return numbers.empty() && !all; }
};

// Options of the attention maps of one command.
struct AttentionOptions {
  std::string folder = {};                    // folder of the drawings; empty: no attention
  std::vector<v1::AttentionKind> kinds = {};  // empty: the model's first kind on the image's grid
  Indices layers = {};                        // empty: all layers for `sheet` or DISTANCE, else the last layer
  Indices heads = {};                         // empty: all heads for `sheet` or DISTANCE, else their mean
  std::optional<QueryToken> query = {};       // query token; if `kinds` is empty, requests QUERY_ROW
  bool keep_class_mass = false;               // field of DISTANCE; if `kinds` is empty, requests DISTANCE
  bool sheet = false;                         // true: one drawing per kind shows every layer and head
  // True: one drawing shows the image and every kind in `kinds`. If `kinds` is empty, it shows all kinds whose maps
  // have the image's grid.
  bool side_by_side = false;
};

// Returns the attention requests for `model`, with layers and heads counted from 0. A request for a rollout has no
// layers and heads. Returns no requests if options.folder is empty. INVALID_ARGUMENT: the model lacks a kind, layer or
// head, or an option applies to none of the kinds. PERMISSION_DENIED: the options need the model's entry in the
// Registry, which this client may not read. Also returns the errors of CheckLoaded.
absl::StatusOr<std::vector<v1::AttentionRequest>> ChooseAttention(const AttentionOptions& options,
                                                                  const v1::ModelVersion& model);

// Returns the model's entry for this kind; nullptr if the model lacks the kind or its server does not report layers.
const v1::AttentionOffer* OfferOf(const v1::ModelVersion& model, v1::AttentionKind kind);

// Returns true if the model's attention has positive and negative values: X-ViT whose mixer is neither SOFTMAX nor XCA.
bool HasSignedAttention(const v1::ModelConfig& config);

// If query.cell is set, sets the query of each QUERY_ROW entry of `request` to the index of this patch in the grid of
// the image `encoded`. INVALID_ARGUMENT: the cell is outside the grid, or the grid or the image's size is not known.
absl::Status PlaceQuery(const QueryToken& query, const v1::ModelConfig& config, std::string_view encoded,
                        v1::ClassifyRequest& request);

// Parses a patch token: "17" is an index, and "3,4" is row 3 and column 4.
absl::StatusOr<QueryToken> ParseQuery(absl::string_view text);
// Parses numbers separated by commas, or "all".
absl::StatusOr<Indices> ParseIndices(absl::string_view text);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_ATTENTION_CHOICE_H_
