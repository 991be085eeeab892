// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_OPTIMISE_TRAINED_H_
#define VITRINE_TRAINER_OPTIMISE_TRAINED_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/task.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Returns the parameters of a task's model that training changes. Their multipliers of the learning rate
// (NamedTensor::rate) are set from the settings. INVALID_ARGUMENT: a pattern of settings.rate_by_pattern sets the rate
// of no parameter, or no parameter is left to train.
absl::StatusOr<std::vector<NamedTensor>> TrainedParameters(const v1::Optimizer& settings, const Task& task,
                                                           const Module& model);

// Returns "frozen: 90 of 100 parameters, 5 of 7 tensors"; "" if `trained` are all parameters of the model.
std::string FrozenInWords(const Module& model, const std::vector<NamedTensor>& trained);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_OPTIMISE_TRAINED_H_
