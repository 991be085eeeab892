// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_MODEL_DESCRIPTION_H_
#define VITRINE_MODELS_MODEL_DESCRIPTION_H_

#include "absl/status/statusor.h"
#include "models/abilities.h"
#include "models/program/program.h"
#include "models/token_layout.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// A model without its weights: config, program, valid inputs and possible outputs. Does not depend on a back end.
// Immutable; thread-safe.
class ModelDescription {
 public:
  // Makes the description of a model. INVALID_ARGUMENT names the missing or out-of-range field of the config.
  static absl::StatusOr<ModelDescription> Make(const v1::ModelConfig& config);

  const v1::ModelConfig& config() const { return config_; }
  const program::Program& program() const { return program_; }

  // Returns how many numbers a forward pass returns per image: logits, or the vector of a model without classes.
  int64_t outputs() const { return program_.info(program_.logits()).columns; }

  // Returns the grid of an input of this size. INVALID_ARGUMENT says which sizes the model accepts.
  absl::StatusOr<Grid> GridFor(int height, int width) const;
  // Returns the side of a grid cell in input pixels.
  int cell() const;
  // Returns the number of tokens that precede an image's grid (class tokens, registers).
  int prefix_tokens() const { return program_.prefix_tokens(); }
  AttentionAbility attention() const;
  // Returns the features that the model offers; `kinds` is empty if the model has no final tokens.
  FeatureAbility features() const;

 private:
  ModelDescription(const v1::ModelConfig& config, program::Program program);

  v1::ModelConfig config_;
  program::Program program_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_MODEL_DESCRIPTION_H_
