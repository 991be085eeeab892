// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_SEQUENCE_MODEL_H_
#define VITRINE_TRAINER_LAB_SEQUENCE_MODEL_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/reference/forward_context.h"
#include "models/reference/module.h"
#include "vitrine/v1/sequence.pb.h"

namespace vitrine {

// Sequences of equal length, on the model's device.
struct SequenceBatch {
  // FeatureInput: [B, n, values] fp32. TokenInput and TokenPair: [B, n] int64 ids.
  at::Tensor source;
  // TokenPair only: the first ids of the target, [B, t] int64. t is independent of n. Logits at position i predict
  // position i + 1.
  at::Tensor target;
};

// A model of sequences or sets, built from a SequenceConfig, for training and inference.
class SequenceModel : public Module {
 public:
  explicit SequenceModel(v1::SequenceConfig config) : config_(std::move(config)) {}

  // Returns the logits of every element, [B, n, outputs] fp32; for a TokenPair, the logits of the target's elements,
  // [B, t, outputs]. Requires a batch that CheckBatch accepts. Differentiable if parameters require gradients. Throws
  // LibTorch's exceptions; RunSequenceModel catches them. May be called concurrently outside of training.
  //
  // If context.tap requests attention with source kTokens, stores the attention in context.tap. `image` in such a
  // request is the index of the sequence in the batch. Layers are the blocks in order. In an encoder-decoder of depth
  // L, the encoder has layers 0..L-1, the decoder L..2L-1, and the decoder's cross-attention 2L..3L-1. Stored scores
  // are taken before any mask is applied and, for KV+Pos, before g(j) is added (see MapPosition).
  virtual at::Tensor Forward(const SequenceBatch& batch, const ForwardContext& context) const = 0;

  const v1::SequenceConfig& config() const { return config_; }

 private:
  const v1::SequenceConfig config_;
};

// Checks a config for MakeSequenceModel. INVALID_ARGUMENT names the field that is missing, out of range or inconsistent
// with another field.
absl::Status ValidateSequence(const v1::SequenceConfig& config);

// Builds the model that `config` describes, with initial parameters drawn from `seed`. Calls ValidateSequence, and
// returns its errors, before any allocation. `device` is the CPU, or the meta device for a model whose tensors have
// shapes but no memory.
absl::StatusOr<std::unique_ptr<SequenceModel>> MakeSequenceModel(const v1::SequenceConfig& config, uint64_t seed = 0,
                                                                 at::Device device = at::kCPU);

// Returns the number of logits per element: config.outputs, or the vocabulary's size if config.outputs is 0. Requires a
// valid config.
int SequenceOutputs(const v1::SequenceConfig& config);

// Checks types, shapes, lengths, ids within the vocabulary, and that no sequence begins with padding. INVALID_ARGUMENT
// says what the model accepts. Reads every id, which takes time, so training checks its data only once.
absl::Status CheckBatch(const v1::SequenceConfig& config, const SequenceBatch& batch);

// Calls CheckBatch, then Forward without gradients. Converts LibTorch's exceptions to INTERNAL.
absl::StatusOr<at::Tensor> RunSequenceModel(const SequenceModel& model, const SequenceBatch& batch,
                                            AttentionTap* tap = nullptr);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_SEQUENCE_MODEL_H_
