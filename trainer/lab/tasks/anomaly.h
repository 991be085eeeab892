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

// Makes the task to find a set's anomaly: the only vector whose class differs from the others. The model gives one
// logit per element; softmax and cross entropy are over the set. In training, every vector is the anomaly once per
// epoch, in a newly drawn set. In measurements, every vector is the anomaly once, in a fixed set. The share
// recipe.validation_share of each class is held out for validation.
absl::StatusOr<std::unique_ptr<Task>> MakeAnomalyTask(const v1::Recipe& recipe, const v1::SequenceConfig& config,
                                                      const std::string& data);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_TASKS_ANOMALY_H_
