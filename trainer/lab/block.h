// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_BLOCK_H_
#define VITRINE_TRAINER_LAB_BLOCK_H_

#include <memory>
#include <optional>
#include <vector>

#include "trainer/lab/attention.h"

namespace vitrine::sequences {

constexpr double kNormEpsilon = 1e-5;

// fc2(ReLU(fc1(x))) on every element.
class ReluFeedForward : public Module {
 public:
  ReluFeedForward(const v1::SequenceConfig& config, Initializer& initializer);

  // [B, n, width] -> [B, n, width]. `site` is the dropout site of the hidden layer.
  at::Tensor Forward(const at::Tensor& x, int site, const ForwardContext& context) const;

 private:
  const bool drop_hidden_;
  DenseLayer fc1_;  // width -> mlp_width
  DenseLayer fc2_;  // mlp_width -> width
};

// Encoder results for a decoder block.
struct Source {
  at::Tensor elements;  // [B, n, width]
  at::Tensor mask;      // as for MixValues
  int layer = 0;        // index of the cross-attention layer, for the tap
};

// Self-attention, in a decoder cross-attention, and a feed-forward block. Each has a residual and a norm placed by the
// config.
class SequenceBlock : public Module {
 public:
  SequenceBlock(const v1::SequenceConfig& config, bool decoder, Initializer& initializer);

  // [B, n, width] -> [B, n, width]; `mask` as for MixValues. `source` is null except in a decoder.
  at::Tensor Forward(at::Tensor x, const at::Tensor& mask, const Source* source, Place place,
                     const ForwardContext& context) const;

 private:
  const v1::SequenceConfig::Norm placement_;
  LayerNorm attention_norm_;
  SequenceAttention attention_;
  std::optional<LayerNorm> source_norm_;  // decoder only, like source_attention_
  std::optional<SourceAttention> source_attention_;
  LayerNorm feed_forward_norm_;
  ReluFeedForward feed_forward_;
};

// `depth` blocks, followed by a LayerNorm unless the norm is POST.
class BlockStack : public Module {
 public:
  BlockStack(const v1::SequenceConfig& config, bool decoder, Initializer& initializer);

  // Like SequenceBlock::Forward. `first` is the position of the first block and source->layer that of its
  // cross-attention; later blocks have consecutive layers and sites.
  at::Tensor Forward(at::Tensor x, const at::Tensor& mask, const Source* source, Place first,
                     const ForwardContext& context) const;

 private:
  std::vector<std::unique_ptr<SequenceBlock>> blocks_;
  std::optional<LayerNorm> norm_;
};

}  // namespace vitrine::sequences

#endif  // VITRINE_TRAINER_LAB_BLOCK_H_
