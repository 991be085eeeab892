#ifndef VITRINE_CLIENT_NAMES_H_
#define VITRINE_CLIENT_NAMES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "vitrine/v1/attention.pb.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// The words for attention kinds on the command line, in file names and in JSON: class, mean, rollout, scores, weights.
std::string AttentionKindName(v1::AttentionKind kind);
std::optional<v1::AttentionKind> AttentionKindOf(absl::string_view name);
const std::vector<std::string>& AttentionKindNames();

// True for kinds that lie on the token grid, false for matrices between tokens.
bool IsSpatial(v1::AttentionKind kind);

// "loading", "ready", "retiring", "failed"
std::string ModelStateName(v1::ModelState state);

// What pictures become: "28x28 grey", "36 to 144 tokens of 4x4 RGB".
std::string InputDescription(const v1::ModelConfig& config);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_NAMES_H_
