// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_TASKS_SEQUENCE_TASK_H_
#define VITRINE_TRAINER_LAB_TASKS_SEQUENCE_TASK_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/task.h"
#include "vitrine/v1/recipe.pb.h"
#include "vitrine/v1/sequence.pb.h"

namespace vitrine {

// Makes the task of recipe.sequence (Borji 2022, the KV transformer's tasks on sequences and sets). Requires
// recipe.has_sequence(). `data` is the value of --data: KIND:WHERE, or WHERE alone if recipe.data.format gives the
// kind. `data` is empty if the recipe generates its data.
//
//   digits         no data
//   anomaly        features:DIR or features:FILE.safetensors (see ReadFeatures), or generated:clusters
//   characters     text:FILE, UTF-8; or generated:numbers, the number words by characters
//   number words   no data
//   translation    parallel:DIR (see ReadParallelText), or generated:numbers
//
// INVALID_ARGUMENT names the field or file that is inconsistent with the recipe, the model or the data; NOT_FOUND names
// the missing data and their origin.
absl::StatusOr<std::unique_ptr<Task>> MakeSequenceTask(const v1::Recipe& recipe, const std::string& data);

// Returns the validated config: the recipe's row of the sequence zoo, with the recipe's overrides.
absl::StatusOr<v1::SequenceConfig> SequenceConfigOf(const v1::Recipe& recipe);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_TASKS_SEQUENCE_TASK_H_
