// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_TASKS_SEQUENCE_TASK_H_
#define VITRINE_TRAINER_TASKS_SEQUENCE_TASK_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/task.h"
#include "vitrine/v1/recipe.pb.h"
#include "vitrine/v1/sequence.pb.h"

namespace vitrine {

// What recipe.sequence says is learned (Borji 2022, the KV transformer's tasks on sequences and sets). Requires
// recipe.has_sequence(). `data` is what --data named: KIND:WHERE, or WHERE alone where recipe.data.format says the
// kind; empty for data that are generated from the recipe alone.
//
//   digits         no data
//   anomaly        features:DIR or features:FILE.safetensors (see ReadFeatures), or generated:clusters
//   characters     text:FILE, UTF-8; or generated:numbers, the number words by characters
//   number words   no data
//   translation    parallel:DIR (see ReadParallelText), or generated:numbers
//
// Everything that can be checked is checked here: INVALID_ARGUMENT names the field or file that does not fit the
// recipe, the model or the data; NOT_FOUND says which data are absent and where they come from.
absl::StatusOr<std::unique_ptr<Task>> MakeSequenceTask(const v1::Recipe& recipe, const std::string& data);

// The sequence zoo's row with the recipe's overrides, valid.
absl::StatusOr<v1::SequenceConfig> SequenceConfigOf(const v1::Recipe& recipe);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_TASKS_SEQUENCE_TASK_H_
