// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_MODEL_H_
#define VITRINE_MODELS_REFERENCE_MODEL_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "models/attention_tap.h"
#include "models/model_description.h"
#include "models/reference/forward_context.h"
#include "models/reference/images.h"
#include "models/reference/interpreter.h"
#include "models/reference/module.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

class Initializer;

// A model description with weights, run by the interpreter. Used in training and as the reference for engines.
class Model : public Module, public ModelDescription {
 public:
  // Draws the initial weights of the program from the initializer. Other code calls MakeModel or MakeBlankModel, which
  // use this constructor.
  Model(ModelDescription description, Initializer& initializer);

  // Returns logits [images, classes] fp32. Differentiable if parameters require gradients. Throws LibTorch's
  // exceptions; RunModel catches them. May be called concurrently outside of training.
  at::Tensor Forward(const ImageBatch& images, const ForwardContext& context) const {
    return interpreter_.Run(weights_, images, context);
  }

  // Weights in program order. They share storage with the model's tensors.
  const std::vector<at::Tensor>& weights() const { return weights_; }

 private:
  std::vector<at::Tensor> weights_;  // in program order
  const Interpreter interpreter_;
};

// Builds the model that `config` describes, with initial parameters drawn from `seed`. INVALID_ARGUMENT names the
// missing or out-of-range field, before any allocation. Returns errors of CheckSupported and cpu::ChosenPath. INTERNAL
// for an exception of LibTorch. `device` is the CPU, or the meta device for tensors with shapes but no memory.
absl::StatusOr<std::unique_ptr<Model>> MakeModel(const v1::ModelConfig& config, uint64_t seed = 0,
                                                 at::Device device = at::kCPU);

// Like MakeModel on the CPU, with uninitialized parameters and buffers, for a caller that sets all values.
absl::StatusOr<std::unique_ptr<Model>> MakeBlankModel(const v1::ModelConfig& config);

// Runs a forward pass without gradients. INVALID_ARGUMENT if an image does not fit the model. LibTorch's exceptions
// become RESOURCE_EXHAUSTED (out of memory) or INTERNAL with `what()`, which callers log but do not send to clients.
absl::StatusOr<at::Tensor> RunModel(const Model& model, const ImageBatch& images, AttentionTap* tap = nullptr,
                                    TokenTap* tokens = nullptr);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_MODEL_H_
