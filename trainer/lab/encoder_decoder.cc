// SPDX-License-Identifier: Apache-2.0
// The model for translation (Borji 2022, after Vaswani et al. 2017 with pre-norm): KV attention within source and
// target, QKV cross-attention.
#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

#include <limits>

#include "models/reference/operators/dropout.h"
#include "trainer/lab/block.h"
#include "trainer/lab/ends.h"

namespace vitrine::sequences {
namespace {

using v1::SequenceConfig;

class EncoderDecoder : public SequenceModel {
 public:
  EncoderDecoder(const SequenceConfig& config, Initializer& initializer)
      : SequenceModel(config),
        drop_input_(Drops(config, SequenceConfig::INPUT)),
        input_site_(2 * config.depth() * Place::kSites),
        source_embedding_(config, config.pair().source_vocabulary(), /*scaled=*/true, initializer),
        target_embedding_(config, config.pair().target_vocabulary(), /*scaled=*/true, initializer),
        source_positions_(config, initializer),
        target_positions_(config, initializer),
        encoder_(config, /*decoder=*/false, initializer),
        decoder_(config, /*decoder=*/true, initializer),
        head_(config, initializer) {
    RegisterChild("source_embedding", source_embedding_);
    RegisterChild("target_embedding", target_embedding_);
    RegisterChild("source_positions", source_positions_);
    RegisterChild("target_positions", target_positions_);
    RegisterChild("encoder", encoder_);
    RegisterChild("decoder", decoder_);
    RegisterChild("head", head_);
  }

  at::Tensor Forward(const SequenceBatch& batch, const ForwardContext& context) const override {
    const int depth = config().depth();
    const at::Tensor source_mask = PaddingMask(batch.source);                          // [B, 1, 1, n]
    at::Tensor target_mask = CausalMask(batch.target.size(1), batch.target.device());  // [t, t]
    if (const at::Tensor padding = PaddingMask(batch.target); padding.defined()) target_mask = target_mask + padding;

    at::Tensor x = Drop(source_positions_.Add(source_embedding_.Forward(batch.source)), input_site_, context);
    x = encoder_.Forward(x, source_mask, /*source=*/nullptr, Place{}, context);  // [B, n, d]
    const Source source{.elements = x, .mask = source_mask, .layer = 2 * depth};
    at::Tensor y = Drop(target_positions_.Add(target_embedding_.Forward(batch.target)), input_site_ + 1, context);
    y = decoder_.Forward(y, target_mask, &source, {depth, depth * Place::kSites}, context);  // [B, t, d]
    return head_.Forward(y, at::Tensor(), input_site_ + 2, context);
  }

 private:
  at::Tensor Drop(const at::Tensor& x, int site, const ForwardContext& context) const {
    return drop_input_ ? Dropout(x, context.dropout.position, site, context) : x;
  }

  // Returns a mask: -inf for keys that are padding, otherwise 0. Undefined if the config has no padding.
  at::Tensor PaddingMask(const at::Tensor& ids) const {
    if (!config().pair().has_padding()) return {};
    at::Tensor mask = at::zeros(ids.sizes(), at::TensorOptions().dtype(at::kFloat).device(ids.device()));
    mask.masked_fill_(ids == config().pair().padding(), -std::numeric_limits<float>::infinity());
    return mask.unsqueeze(1).unsqueeze(1);
  }

  const bool drop_input_;
  const int input_site_;
  Embedding source_embedding_;
  Embedding target_embedding_;
  Positions source_positions_;
  Positions target_positions_;
  BlockStack encoder_;
  BlockStack decoder_;
  Head head_;
};

}  // namespace

std::unique_ptr<SequenceModel> MakeEncoderDecoder(const SequenceConfig& config, Initializer& initializer) {
  return std::make_unique<EncoderDecoder>(config, initializer);
}

}  // namespace vitrine::sequences
