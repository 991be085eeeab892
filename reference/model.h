// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_MODEL_H_
#define VITRINE_REFERENCE_MODEL_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "models/attention_tap.h"
#include "models/model_description.h"
#include "reference/forward_context.h"
#include "reference/images.h"
#include "reference/interpreter.h"
#include "reference/module.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

class Initializer;

// A classifier: a description with weights, run by the interpreter. It trains, and is what engines are compared with.
class Model : public Module, public ModelDescription {
 public:
  // Weights as the program says they start, drawn from the initializer. MakeModel is the front door.
  Model(ModelDescription description, Initializer& initializer);

  // Logits [images, classes] fp32. Differentiable when parameters require gradients. LibTorch's exceptions pass
  // through; RunModel catches them. Const calls may run concurrently outside of training.
  at::Tensor Forward(const ImageBatch& images, const ForwardContext& context) const {
    return interpreter_.Run(weights_, images, context);
  }

  // In the order of the program's. They share storage with the model's.
  const std::vector<at::Tensor>& weights() const { return weights_; }

 private:
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
