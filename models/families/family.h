// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_FAMILIES_FAMILY_H_
#define VITRINE_MODELS_FAMILIES_FAMILY_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "models/layers/initializer.h"
#include "models/model.h"
#include "models/zoo.h"

namespace vitrine {

// What the rest of the house needs to know of a family. Each is made at the end of its family's file.
struct Family {
  // kCustom: configs of this family are `custom` with its name, because the contract has no message for it.
  v1::ModelConfig::FamilyCase which = v1::ModelConfig::FAMILY_NOT_SET;
  absl::string_view name;
  // INVALID_ARGUMENT names the field at fault. Preprocessing and classes are checked already.
  absl::Status (*validate)(const v1::ModelConfig& config) = nullptr;
  // Requires a config that `validate` accepts.
  std::unique_ptr<Model> (*make)(const v1::ModelConfig& config, Initializer& initializer) = nullptr;
  // Its published variants; null where another family lists them.
  std::vector<ZooRow> (*variants)() = nullptr;
};

// All of them, in the order of table.cc.
const std::vector<Family>& Families();

// Null if the config names none.
const Family* FamilyOf(const v1::ModelConfig& config);

}  // namespace vitrine

#endif  // VITRINE_MODELS_FAMILIES_FAMILY_H_
