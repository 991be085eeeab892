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

// Returns the config of the model that a recipe trains from the version `start`. The base is the recipe's zoo row;
// without a zoo row, it is the version's model with `classes` classes. The preprocessing is the version's unless
// recipe.start.replace_preprocessing is set. The recipe's overrides apply last. INVALID_ARGUMENT: version and recipe
// have different families, or the overrides change the preprocessing although replace_preprocessing is not set. The
// message has both values and the solution.
absl::StatusOr<v1::ModelConfig> ConfigFrom(const v1::Manifest& start, const v1::Recipe& recipe, int classes);

// Returns true if the classifier's last layer starts with random weights: if recipe.start.replace_head is set, or if
// the recipe uses the version's model with other classes.
bool ReplacesHead(const v1::Recipe& recipe, const std::vector<std::string>& version_labels,
                  const std::vector<std::string>& labels);

// Returns MODEL/VERSION: "eit-mini-cifar10/2".
std::string NameOf(const v1::Manifest& version);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_TASKS_START_CONFIG_H_
