// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_PUBLISH_TRAINING_ROWS_H_
#define VITRINE_TRAINER_PUBLISH_TRAINING_ROWS_H_

#include <string>

#include "trainer/state.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Returns rows of a model card's table, "| name | value |\n", with every field of the recipe that changes the weights:
// sizes, augmentation, mixing, regularization, step, optimizer, schedule and held-out samples. Defaults are
// written out; mixing and held-out samples have no row if the recipe does not use them.
std::string TrainingRows(const v1::Recipe& recipe, const RunPosition& position);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_PUBLISH_TRAINING_ROWS_H_
