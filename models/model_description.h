// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_MODEL_DESCRIPTION_H_
#define VITRINE_MODELS_MODEL_DESCRIPTION_H_

#include "absl/status/statusor.h"
#include "models/abilities.h"
#include "models/program/program.h"
#include "models/token_layout.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// A model without its weights: its config, its program, which inputs it takes and what it can show. Whatever computes
// it, the CPU engine or the reference, is another matter. Immutable; thread-safe.
class ModelDescription {
 public:
  // INVALID_ARGUMENT names the field of the config that is missing or out of range.
  static absl::StatusOr<ModelDescription> Make(const v1::ModelConfig& config);

  const v1::ModelConfig& config() const { return config_; }
  const program::Program& program() const { return program_; }

  // The grid of an input of this size. INVALID_ARGUMENT if the model cannot take it; the sentence says what it takes.
  absl::StatusOr<Grid> GridFor(int height, int width) const;
  // Pixels of the input per grid cell, along each side.
  int cell() const;
  // Tokens an image has beside its grid (class token).
  int prefix_tokens() const { return program_.has_class_token() ? 1 : 0; }
  AttentionAbility attention() const;
  // The final tokens are handed out where any kind is named.
  FeatureAbility features() const;

 private:
  ModelDescription(const v1::ModelConfig& config, program::Program program);

  v1::ModelConfig config_;
  program::Program program_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_MODEL_DESCRIPTION_H_
