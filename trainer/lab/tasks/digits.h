// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_TASKS_DIGITS_H_
#define VITRINE_TRAINER_LAB_TASKS_DIGITS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/task.h"
#include "vitrine/v1/recipe.pb.h"
#include "vitrine/v1/sequence.pb.h"

namespace vitrine {

// Makes the recipe's DigitTask on one-hot digits, with cross entropy and accuracy per position. A training sequence is
// a function of the recipe's seed and the sequence's index. Test and validation sequences are the same for every seed.
// The task has validation sequences if recipe.validation_share is above 0.
absl::StatusOr<std::unique_ptr<Task>> MakeDigitTask(const v1::Recipe& recipe, const v1::SequenceConfig& config,
                                                    const std::string& data);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_TASKS_DIGITS_H_
