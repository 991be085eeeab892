// SPDX-License-Identifier: Apache-2.0
#include "models/model_description.h"

#include <utility>

#include "common/status_macros.h"
#include "models/families/family.h"
#include "models/families/input.h"
#include "models/program/abilities.h"

namespace vitrine {

absl::StatusOr<ModelDescription> ModelDescription::Make(const v1::ModelConfig& config) {
  ASSIGN_OR_RETURN(program::Program program, ProgramOf(config));
  return ModelDescription(config, std::move(program));
}

ModelDescription::ModelDescription(const v1::ModelConfig& config, program::Program program)
    : config_(config), program_(std::move(program)) {}

absl::StatusOr<Grid> ModelDescription::GridFor(int height, int width) const {
  if (program_.cell() == 0) return Grid{1, 1};  // the model reads no pixels
  return GridOfInput(config_.preprocessing(), program_.cell(), height, width);
}

int ModelDescription::cell() const {
  const v1::Preprocessing& preprocessing = config_.preprocessing();
  if (program_.cell() > 0) return program_.cell();
  return preprocessing.has_native() ? preprocessing.native().cell() : preprocessing.fixed().height();
}

AttentionAbility ModelDescription::attention() const {
  return program::AttentionOf(program_);
}

FeatureAbility ModelDescription::features() const {
  return program::FeaturesOf(program_);
}

}  // namespace vitrine
