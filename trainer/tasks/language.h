// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_TASKS_LANGUAGE_H_
#define VITRINE_TRAINER_TASKS_LANGUAGE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/task.h"
#include "vitrine/v1/recipe.pb.h"
#include "vitrine/v1/sequence.pb.h"

namespace vitrine {

// The next token of a text: characters of a file, or the number words. The text is cut in order into what is trained
// on, what validates (recipe.validation_share of the former, at its end) and what tests. Measured are the mean cross
// entropy of a token, which chooses the best state, the share of tokens foretold, and the perplexity exp(loss), over
// windows of `context` tokens side by side; fewer tokens at the end are left out.
absl::StatusOr<std::unique_ptr<Task>> MakeLanguageTask(const v1::Recipe& recipe, const v1::SequenceConfig& config,
                                                       const std::string& data);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_TASKS_LANGUAGE_H_
