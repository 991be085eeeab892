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

// Indices of layers or heads, or `all` of them. If `numbers` is empty and `all` is false, the default of the gRPC API
// applies.
struct AttentionNumbers {
  std::vector<int32_t> numbers = {};
  bool all = false;
};

// The parameter `attention` of a URL: "KIND", "KIND:LAYERS" or "KIND:LAYERS:HEADS", or, only for the kind `query`,
// "query:LAYERS:HEADS:PATCH". The names of kinds are those of `vitrine classify`. An example is "mean:0,-1:all".
struct AttentionParameter {
  v1::AttentionKind kind = v1::ATTENTION_KIND_UNSPECIFIED;
  AttentionNumbers layers = {};
  AttentionNumbers heads = {};
  int32_t patch = 0;  // index in the grid: row * columns + column
};

// Parses the parameter. INVALID_ARGUMENT lists the valid forms or kinds.
absl::StatusOr<AttentionParameter> ParseAttentionParameter(std::string_view text);

// Converts the parameter to an AttentionRequest for a model with `ability`. If `encoding` is not set, maps that fit on
// the image are encoded as overlays, and other maps as numbers. INVALID_ARGUMENT: the model lacks the kind (the message
// lists the model's kinds), or an overlay is requested for a kind whose maps do not fit on the image. PlanRequest
// checks layers and heads.
absl::StatusOr<v1::AttentionRequest> AttentionOf(const AttentionParameter& requested, const AttentionAbility& ability,
                                                 std::optional<v1::AttentionEncoding> encoding);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_ATTENTION_PARAMETER_H_
