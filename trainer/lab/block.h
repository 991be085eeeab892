// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_BLOCK_H_
#define VITRINE_TRAINER_LAB_BLOCK_H_

#include <memory>
#include <optional>
#include <vector>

#include "trainer/lab/attention.h"

namespace vitrine::sequences {

constexpr double kNormEpsilon = 1e-5;

// Position-wise feed-forward layer: fc2(ReLU(fc1(x))) for each element [width].
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

// Output of the encoder, which decoder blocks read.
struct Source {
  at::Tensor elements;  // [B, n, width]
  at::Tensor mask;      // mask of the source's elements; see MixValues
  int layer = 0;        // index of the cross-attention layer, for AttentionTap
};

// A block: self-attention, cross-attention (in a decoder only), and feed-forward. Each of these layers has a residual
// connection and a norm. config.norm gives the place of the norm.
class SequenceBlock : public Module {
 public:
  SequenceBlock(const v1::SequenceConfig& config, bool decoder, Initializer& initializer);

  // [B, n, width] -> [B, n, width]. See MixValues for `mask`. A decoder requires `source`; an encoder ignores it.
  at::Tensor Forward(at::Tensor x, const at::Tensor& mask, const Source* source, Place place,
                     const ForwardContext& context) const;

 private:
  const v1::SequenceConfig::Norm placement_;
  LayerNorm attention_norm_;
  SequenceAttention attention_;
  std::optional<LayerNorm> source_norm_;  // set in a decoder only, like source_attention_
  std::optional<SourceAttention> source_attention_;
  LayerNorm feed_forward_norm_;
  ReluFeedForward feed_forward_;
};

// Stack of config.depth blocks, followed by a LayerNorm unless config.norm is POST.
class BlockStack : public Module {
 public:
  BlockStack(const v1::SequenceConfig& config, bool decoder, Initializer& initializer);

  // Runs all blocks; see SequenceBlock::Forward. `first` is the place of the first block, and source->layer is the
  // index of the first cross-attention layer. The next blocks have consecutive layers and sites.
  at::Tensor Forward(at::Tensor x, const at::Tensor& mask, const Source* source, Place first,
                     const ForwardContext& context) const;

 private:
  std::vector<std::unique_ptr<SequenceBlock>> blocks_;
  std::optional<LayerNorm> norm_;
};

}  // namespace vitrine::sequences

#endif  // VITRINE_TRAINER_LAB_BLOCK_H_
