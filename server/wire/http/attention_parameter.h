// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_ATTENTION_PARAMETER_H_
#define VITRINE_SERVER_WIRE_HTTP_ATTENTION_PARAMETER_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "models/abilities.h"
#include "vitrine/v1/attention.pb.h"

namespace vitrine {

// Layers or heads: numbers, or all that there are. Neither: the contract's default.
struct AttentionNumbers {
  std::vector<int32_t> numbers = {};
  bool all = false;
};

// The parameter `attention` of a URL: "KIND", "KIND:LAYERS", "KIND:LAYERS:HEADS" or, of the kind `query` alone,
// "query:LAYERS:HEADS:PATCH", in the words of `vitrine classify`, as in "mean:0,-1:all".
struct AttentionParameter {
  v1::AttentionKind kind = v1::ATTENTION_KIND_UNSPECIFIED;
  AttentionNumbers layers = {};
  AttentionNumbers heads = {};
  int32_t patch = 0;  // row * columns + column of the grid
};

// INVALID_ARGUMENT with what there is.
absl::StatusOr<AttentionParameter> ParseAttentionParameter(std::string_view text);

// What asks a model of this ability for it. Without `encoding` kinds that lie on the picture come as overlays, others
// as numbers. INVALID_ARGUMENT if the model has not the kind, with those that it has; numbers that it has not are
// refused where requests are planned.
absl::StatusOr<v1::AttentionRequest> AttentionOf(const AttentionParameter& wish, const AttentionAbility& ability,
                                                 std::optional<v1::AttentionEncoding> encoding);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_ATTENTION_PARAMETER_H_
