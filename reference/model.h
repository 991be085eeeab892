// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_MODEL_H_
#define VITRINE_REFERENCE_MODEL_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "models/abilities.h"
#include "models/attention_tap.h"
#include "models/program/program.h"
#include "models/token_layout.h"
#include "reference/forward_context.h"
#include "reference/images.h"
#include "reference/interpreter.h"
#include "reference/module.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

class Initializer;

// A classifier: the program of a ModelConfig with weights, run by the interpreter. It serves and trains.
class Model : public Module {
 public:
  // Weights as the program says they start, drawn from the initializer. MakeModel is the front door.
  Model(const v1::ModelConfig& config, program::Program program, Initializer& initializer);

  // Logits [images, classes] fp32. Differentiable when parameters require gradients. LibTorch's exceptions pass
  // through; RunModel catches them. Const calls may run concurrently outside of training.
  at::Tensor Forward(const ImageBatch& images, const ForwardContext& context) const {
    return interpreter_.Run(weights_, images, context);
  }

  // The grid of an input of this size. INVALID_ARGUMENT if the model cannot take it; the sentence says what it takes.
  absl::StatusOr<Grid> GridFor(int height, int width) const;
  // Pixels of the input per grid cell, along each side.
  int cell() const;
  // Tokens an image has beside its grid (class token).
  int prefix_tokens() const { return program_.has_class_token() ? 1 : 0; }
  AttentionAbility attention() const;
  // The forward pass hands its final tokens to ForwardContext::tokens where any kind is named.
  FeatureAbility features() const;

  const v1::ModelConfig& config() const { return config_; }
  const program::Program& program() const { return program_; }
  // In the order of the program's. They share storage with the model's.
  const std::vector<at::Tensor>& weights() const { return weights_; }

 private:
  const v1::ModelConfig config_;
  const program::Program program_;
  std::vector<at::Tensor> weights_;  // in the order of the program's
  const Interpreter interpreter_;
};

// Builds the model that `config` describes, with freshly initialised parameters drawn from `seed`.
// INVALID_ARGUMENT names the field that is missing or out of range, before anything is allocated. For VITRINE_ISA see
// cpu::ChosenPath.
// `device` is the CPU, or the meta device for a model whose tensors have shapes but no memory.
absl::StatusOr<std::unique_ptr<Model>> MakeModel(const v1::ModelConfig& config, uint64_t seed = 0,
                                                 at::Device device = at::kCPU);

// The same on the CPU, with parameters and buffers that hold anything: for a caller who gives them their values, since
// nothing is drawn and no memory touched.
absl::StatusOr<std::unique_ptr<Model>> MakeBlankModel(const v1::ModelConfig& config);

// Forward without gradients. LibTorch's exceptions become INTERNAL here, and nowhere else in serving; `what()` goes to
// the status message, which callers log and never send.
absl::StatusOr<at::Tensor> RunModel(const Model& model, const ImageBatch& images, AttentionTap* tap = nullptr,
                                    TokenTap* tokens = nullptr);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_MODEL_H_
