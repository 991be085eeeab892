// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_FEATURE_WORDS_H_
#define VITRINE_SERVER_WIRE_HTTP_FEATURE_WORDS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "vitrine/v1/features.pb.h"

namespace vitrine {

// The word for a kind, as `vitrine embed` has it: "class", "mean", "patches".
std::string FeatureWord(v1::FeatureKind kind);

// The parameter `features` of a URL: such words with commas between them, each once. INVALID_ARGUMENT with what there
// is.
absl::StatusOr<std::vector<v1::FeatureKind>> ParseFeatureWords(std::string_view text);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_FEATURE_WORDS_H_
