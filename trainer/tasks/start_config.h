// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_TASKS_START_CONFIG_H_
#define VITRINE_TRAINER_TASKS_START_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "vitrine/v1/manifest.pb.h"
#include "vitrine/v1/model.pb.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// The config of the model that a recipe trains from the version `start`: the zoo's row, or the version's own with this
// many classes where the recipe names no row, with the version's preprocessing unless start.replace_preprocessing, and
// with the recipe's overrides. INVALID_ARGUMENT if version and recipe are of two families, or if the overrides name
// another preprocessing than the version's; the sentence holds both values and the way out.
absl::StatusOr<v1::ModelConfig> ConfigFrom(const v1::Manifest& start, const v1::Recipe& recipe, int classes);

// Whether the classifier's last layer starts at random: where the recipe says so, and where it takes the version's
// model for other classes than the version's.
bool ReplacesHead(const v1::Recipe& recipe, const std::vector<std::string>& version_labels,
                  const std::vector<std::string>& labels);

// "eit-mini-cifar10/2"
std::string NameOf(const v1::Manifest& version);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_TASKS_START_CONFIG_H_
