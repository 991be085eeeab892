// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_MODEL_H_
#define VITRINE_MODELS_MODEL_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "models/abilities.h"
#include "models/attention_tap.h"
#include "models/forward_context.h"
#include "models/module.h"
#include "models/packed_tokens.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// The images of a batch, each [channels, height, width] fp32 on the model's device, normalised, of any sizes that
// GridFor accepts. Sort by size where the order is free: equal neighbours share batched calls.
using ImageBatch = std::vector<at::Tensor>;

// A classifier built from a ModelConfig. One definition serves training and the reference form of inference.
class Model : public Module {
 public:
  explicit Model(v1::ModelConfig config) : config_(std::move(config)) {}

  // Logits [images, classes] fp32. Differentiable when parameters require gradients. LibTorch's exceptions pass
  // through; RunModel catches them. Const calls may run concurrently outside of training.
  virtual at::Tensor Forward(const ImageBatch& images, const ForwardContext& context) const = 0;

  // The grid of an input of this size. INVALID_ARGUMENT if the model cannot take it; the sentence says what it takes.
  virtual absl::StatusOr<Grid> GridFor(int height, int width) const = 0;
  // Pixels of the input per grid cell, along each side.
  virtual int cell() const = 0;
  // Tokens an image has beside its grid (class token).
  virtual int prefix_tokens() const = 0;
  virtual AttentionAbility attention() const = 0;
  // The forward pass hands its final tokens to ForwardContext::tokens where any kind is named.
  virtual FeatureAbility features() const = 0;

  const v1::ModelConfig& config() const { return config_; }

 private:
  const v1::ModelConfig config_;
};

// Builds the model that `config` describes, with freshly initialised parameters drawn from `seed`.
// INVALID_ARGUMENT names the field that is missing or out of range, before anything is allocated.
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

#endif  // VITRINE_MODELS_MODEL_H_
