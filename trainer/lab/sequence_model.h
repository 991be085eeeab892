// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_SEQUENCE_MODEL_H_
#define VITRINE_TRAINER_LAB_SEQUENCE_MODEL_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "reference/forward_context.h"
#include "reference/module.h"
#include "vitrine/v1/sequence.pb.h"

namespace vitrine {

// Sequences of one length, on the model's device.
struct SequenceBatch {
  // FeatureInput: [B, n, values] fp32. TokenInput and TokenPair: [B, n] int64 ids.
  at::Tensor source;
  // TokenPair only: the target so far, [B, t] int64 ids, t independent of n. Logits at position i are for position i
  // + 1.
  at::Tensor target;
};

// A model of sequences or sets, built from a SequenceConfig. One definition serves training and inference.
class SequenceModel : public Module {
 public:
  explicit SequenceModel(v1::SequenceConfig config) : config_(std::move(config)) {}

  // Logits [B, n, outputs] fp32 of every element; for a TokenPair [B, t, outputs] of the target's. Requires a batch
  // that CheckBatch accepts. Differentiable when parameters require gradients. LibTorch's exceptions pass through;
  // RunSequenceModel catches them. Const calls may run concurrently outside of training.
  //
  // A tap gets source kTokens; `image` is the sequence's place in the batch. Layers are the blocks in order; an
  // encoder-decoder of depth L has its encoder's at 0..L-1, the decoder's at L..2L-1, and the decoder's attention to
  // the source at 2L..3L-1. Scores are those before any mask; for KV+Pos the symmetric part, before g(j).
  virtual at::Tensor Forward(const SequenceBatch& batch, const ForwardContext& context) const = 0;

  const v1::SequenceConfig& config() const { return config_; }

 private:
  const v1::SequenceConfig config_;
};

// OK if MakeSequenceModel would build it; INVALID_ARGUMENT names the field that is missing, out of range or in
// contradiction to another.
absl::Status ValidateSequence(const v1::SequenceConfig& config);

// Builds the model that `config` describes, with freshly initialised parameters drawn from `seed`. INVALID_ARGUMENT as
// ValidateSequence, before anything is allocated. `device` is the CPU, or the meta device for a model whose tensors
// have shapes but no memory.
absl::StatusOr<std::unique_ptr<SequenceModel>> MakeSequenceModel(const v1::SequenceConfig& config, uint64_t seed = 0,
                                                                 at::Device device = at::kCPU);

// Logits per element: config.outputs, or the vocabulary where that is 0. Requires a valid config.
int SequenceOutputs(const v1::SequenceConfig& config);

// Whether the model takes this batch: types, shapes, lengths, ids within the vocabulary, and no sequence that begins
// with padding. INVALID_ARGUMENT says what it takes. Reads every id, so a training loop checks its data once instead.
absl::Status CheckBatch(const v1::SequenceConfig& config, const SequenceBatch& batch);

// CheckBatch, then Forward without gradients. LibTorch's exceptions become INTERNAL.
absl::StatusOr<at::Tensor> RunSequenceModel(const SequenceModel& model, const SequenceBatch& batch,
                                            AttentionTap* tap = nullptr);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_SEQUENCE_MODEL_H_
