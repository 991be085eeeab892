// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_NAMES_H_
#define VITRINE_CLIENT_NAMES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "vitrine/v1/attention.pb.h"
#include "vitrine/v1/features.pb.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// The words for attention kinds on the command line, in file names and in JSON: class, mean, rollout, scores, weights,
// class-attention, channels, query, distance.
std::string AttentionKindName(v1::AttentionKind kind);
std::optional<v1::AttentionKind> AttentionKindOf(absl::string_view name);
const std::vector<std::string>& AttentionKindNames();

// True for kinds that lie on the token grid, false for matrices and the distance.
bool IsSpatial(v1::AttentionKind kind);

// The words for features: class, mean, patches.
std::string FeatureKindName(v1::FeatureKind kind);
std::optional<v1::FeatureKind> FeatureKindOf(absl::string_view name);
const std::vector<std::string>& FeatureKindNames();

// A kind as a model has it: "mean 8x10" for 8 layers and 10 heads, "rollout".
std::string OfferName(const v1::AttentionOffer& offer);

// "loading", "ready", "retiring", "failed"
std::string ModelStateName(v1::ModelState state);

// What pictures become: "28x28 grey", "36 to 144 tokens of 4x4 RGB".
std::string InputDescription(const v1::ModelConfig& config);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_NAMES_H_
