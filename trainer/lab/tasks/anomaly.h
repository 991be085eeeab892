// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_TASKS_ANOMALY_H_
#define VITRINE_TRAINER_LAB_TASKS_ANOMALY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/task.h"
#include "vitrine/v1/recipe.pb.h"
#include "vitrine/v1/sequence.pb.h"

namespace vitrine {

// Finds the vector of a set that has another class than the others: one logit per element, softmax and cross entropy
// over the set. Every training vector is the anomaly once per epoch, in a newly drawn set; each measured vector once,
// in a fixed set. recipe.validation_share of each class is held out for validation.
absl::StatusOr<std::unique_ptr<Task>> MakeAnomalyTask(const v1::Recipe& recipe, const v1::SequenceConfig& config,
                                                      const std::string& data);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_TASKS_ANOMALY_H_
