// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_FAMILIES_FAMILY_H_
#define VITRINE_MODELS_FAMILIES_FAMILY_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/program/program.h"
#include "models/zoo.h"

namespace vitrine {

// Interface of a model family. Each family's file defines its own Family at the end.
struct Family {
  // Field of ModelConfig that has the family's config. A family without a message in model.proto has kCustom;
  // its configs are `custom` messages with the family's name.
  v1::ModelConfig::FamilyCase which = v1::ModelConfig::FAMILY_NOT_SET;
  absl::string_view name;
  // Checks a config. INVALID_ARGUMENT names the invalid field. Requires valid preprocessing and classes.
  absl::Status (*validate)(const v1::ModelConfig& config) = nullptr;
  // Returns the family's published variants. The pointer is null if another family lists these variants.
  std::vector<ZooRow> (*variants)() = nullptr;
  // Returns the model as operators. Requires a config that `validate` accepts.
  program::Program (*program)(const v1::ModelConfig& config) = nullptr;
};

// Returns all families, in the order of table.cc.
const std::vector<Family>& Families();

// Returns the family of a config, after checking all its fields. INVALID_ARGUMENT names the missing or out-of-range
// field.
absl::StatusOr<const Family*> ValidatedFamily(const v1::ModelConfig& config);

// Returns the model as operators, or the error of ValidatedFamily.
absl::StatusOr<program::Program> ProgramOf(const v1::ModelConfig& config);

}  // namespace vitrine

#endif  // VITRINE_MODELS_FAMILIES_FAMILY_H_
