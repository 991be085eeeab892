// SPDX-License-Identifier: Apache-2.0
// Models of a single sequence or set: synthetic tasks, set anomaly, characters, numbers (Borji 2022).
#include <ATen/TensorOperators.h>

#include <optional>

#include "models/reference/operators/dropout.h"
#include "trainer/lab/block.h"
#include "trainer/lab/ends.h"

namespace vitrine::sequences {
namespace {

using v1::SequenceConfig;

class Encoder : public SequenceModel {
 public:
  Encoder(const SequenceConfig& config, Initializer& initializer)
      : SequenceModel(config),
        drop_input_(Drops(config, SequenceConfig::INPUT)),
        input_site_(config.depth() * Place::kSites),
        positions_(config, initializer),
        blocks_(config, /*decoder=*/false, initializer),
        head_(config, initializer) {
    if (config.has_features()) {
      RegisterChild("input", features_.emplace(config.features().width(), config.width(), /*bias=*/true,
                                               config.initial() == SequenceConfig::XAVIER, initializer));
    } else {
      RegisterChild("embedding",
                    embedding_.emplace(config, config.tokens().vocabulary(), config.tokens().scaled(), initializer));
    }
    RegisterChild("positions", positions_);
    RegisterChild("encoder", blocks_);
    RegisterChild("head", head_);
  }

  at::Tensor Forward(const SequenceBatch& batch, const ForwardContext& context) const override {
    const at::Tensor& source = batch.source;
    const at::Tensor mask = config().causal() ? CausalMask(source.size(1), source.device()) : at::Tensor();
    const at::Tensor x = blocks_.Forward(Embed(source, context), mask, /*source=*/nullptr, Place{}, context);
    return head_.Forward(x, embedding_ ? embedding_->table() : at::Tensor(), input_site_ + 1, context);
  }

 private:
  // [B, n, d]
  at::Tensor Embed(const at::Tensor& source, const ForwardContext& context) const {
    if (features_) {
      // NOTE: for features, dropout applies before the linear layer; for tokens, it applies after the positions are
      // added.
      const at::Tensor x = drop_input_ ? Dropout(source, context.dropout.position, input_site_, context) : source;
      return positions_.Add(OnElements(*features_, x, context));
    }
    const at::Tensor x = positions_.Add(embedding_->Forward(source));
    return drop_input_ ? Dropout(x, context.dropout.position, input_site_, context) : x;
  }

  const bool drop_input_;
  const int input_site_;
  std::optional<DenseLayer> features_;  // set if embedding_ is not set
  std::optional<Embedding> embedding_;
  Positions positions_;
  BlockStack blocks_;
  Head head_;
};

}  // namespace

std::unique_ptr<SequenceModel> MakeEncoder(const SequenceConfig& config, Initializer& initializer) {
  return std::make_unique<Encoder>(config, initializer);
}

}  // namespace vitrine::sequences
