// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_ANSWER_CHECK_H_
#define VITRINE_CLIENT_LOAD_ANSWER_CHECK_H_

#include "absl/strings/string_view.h"

namespace vitrine {

enum class AnswerKind { kWithPredictions, kWithoutPredictions, kUnreadable };

// What the bytes of an answer to Classify are, without parsing what its fields hold: fast enough for every answer of a
// load.
AnswerKind KindOfAnswer(absl::string_view bytes);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_ANSWER_CHECK_H_
