// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_PUBLISH_TRAINING_ROWS_H_
#define VITRINE_TRAINER_PUBLISH_TRAINING_ROWS_H_

#include <string>

#include "trainer/state.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Returns rows of a model card's table, "| name | value |\n", with every field of the recipe that changes the weights:
// sizes, augmentation, mixing, regularization, step, optimizer, schedule and held-out samples. Fields that are not set
// have rows with their default values.
std::string TrainingRows(const v1::Recipe& recipe, const RunPosition& position);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_PUBLISH_TRAINING_ROWS_H_
