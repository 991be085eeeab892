// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_ANSWER_CHECK_H_
#define VITRINE_CLIENT_LOAD_ANSWER_CHECK_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace vitrine {

enum class AnswerKind { kWithPredictions, kWithoutPredictions, kUnreadable };

// Classifies an answer to Classify by its field tags, without parsing the fields. This is fast enough to check every
// answer of a load.
AnswerKind KindOfAnswer(absl::string_view bytes);

// Parts of a serialised ClassifyStreamResponse, as views into it. At most one of `response` and `error` is set.
struct StreamAnswerParts {
  absl::string_view request_id = {};
  std::optional<absl::string_view> response = {};  // a ClassifyResponse
  std::optional<absl::string_view> error = {};     // a StreamError
};

// Returns nullopt if the bytes are not a ClassifyStreamResponse.
std::optional<StreamAnswerParts> PartsOfStreamAnswer(absl::string_view bytes);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_ANSWER_CHECK_H_
