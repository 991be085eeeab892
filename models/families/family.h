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

// What the rest of the house needs to know of a family. Each is made at the end of its family's file.
struct Family {
  // kCustom: configs of this family are `custom` with its name, because the contract has no message for it.
  v1::ModelConfig::FamilyCase which = v1::ModelConfig::FAMILY_NOT_SET;
  absl::string_view name;
  // INVALID_ARGUMENT names the field at fault. Preprocessing and classes are checked already.
  absl::Status (*validate)(const v1::ModelConfig& config) = nullptr;
  // Its published variants; null where another family lists them.
  std::vector<ZooRow> (*variants)() = nullptr;
  // The model as operators. Requires a config that `validate` accepts.
  program::Program (*program)(const v1::ModelConfig& config) = nullptr;
};

// All of them, in the order of table.cc.
const std::vector<Family>& Families();

// The family of a config that is right in all its fields. INVALID_ARGUMENT names what is missing or out of range.
absl::StatusOr<const Family*> CheckedFamilyOf(const v1::ModelConfig& config);

// The model as operators. Errors as CheckedFamilyOf.
absl::StatusOr<program::Program> ProgramOf(const v1::ModelConfig& config);

}  // namespace vitrine

#endif  // VITRINE_MODELS_FAMILIES_FAMILY_H_
