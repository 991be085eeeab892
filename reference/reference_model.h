// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_REFERENCE_MODEL_H_
#define VITRINE_REFERENCE_REFERENCE_MODEL_H_

#include <memory>
#include <vector>

#include "models/model.h"
#include "models/program/program.h"
#include "reference/interpreter.h"

namespace vitrine {

class Initializer;

// A program with weights, run by the interpreter.
class ReferenceModel : public Model {
 public:
  // Weights as the program says they start, drawn from the initializer.
  ReferenceModel(const v1::ModelConfig& config, program::Program program, Initializer& initializer);

  at::Tensor Forward(const ImageBatch& images, const ForwardContext& context) const override {
    return interpreter_.Run(weights_, images, context);
  }
  absl::StatusOr<Grid> GridFor(int height, int width) const override;
  int cell() const override;
  int prefix_tokens() const override { return program_.has_class_token() ? 1 : 0; }
  AttentionAbility attention() const override;
  FeatureAbility features() const override;

 private:
  const program::Program program_;
  std::vector<at::Tensor> weights_;
  const Interpreter interpreter_;
};

// As MakeModel, through the family's program. UNIMPLEMENTED for a family that has modules alone.
absl::StatusOr<std::unique_ptr<Model>> MakeReferenceModel(const v1::ModelConfig& config, uint64_t seed = 0);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_REFERENCE_MODEL_H_
