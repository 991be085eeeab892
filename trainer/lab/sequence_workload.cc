// SPDX-License-Identifier: Apache-2.0
// Costs of the KV transformer's models of sequences and sets (Borji 2022, sections 5.6 to 5.8).
#include "trainer/lab/sequence_workload.h"

#include "absl/strings/str_cat.h"
#include "models/workload/builder.h"

namespace vitrine {
namespace {

using v1::SequenceConfig;
using workload::Builder;

class SequenceDescription {
 public:
  SequenceDescription(const SequenceConfig& config, int length)
      : config_(config), length_(length), builder_(1, {1, length}, /*prefix=*/0) {}

  Workload Describe() {
    if (config_.has_pair()) {
      builder_.Within("source", [&] { Embed(config_.pair().source_vocabulary()); });
      Blocks("encoder", /*decoder=*/false);
      builder_.Enter(ModelPart::kInput);
      builder_.Within("target", [&] { Embed(config_.pair().target_vocabulary()); });
      Blocks("decoder", /*decoder=*/true);
      Head(config_.pair().target_vocabulary());
    } else {
      Embed(config_.tokens().vocabulary());
      Blocks("encoder", /*decoder=*/false);
      Head(config_.tokens().vocabulary());
    }
    return builder_.Take();
  }

 private:
  void Embed(int vocabulary) {
    if (config_.has_features()) {
      builder_.Linear("input", length_, config_.features().width(), config_.width());
    } else {
      builder_.Elementwise(OperatorKind::kConcatenate, "embedding", length_, config_.width(),
                           int64_t{vocabulary} * config_.width());
    }
    if (config_.positions() == SequenceConfig::NONE) return;
    const bool learned = config_.positions() == SequenceConfig::LEARNED;
    builder_.Add("positions", length_, config_.width()).parameters =
        learned ? int64_t{config_.max_length()} * config_.width() : 0;
  }

  void Mix() {
    const int64_t head_width = config_.width() / config_.heads();
    builder_.Matmul("scores", config_.heads(), length_, head_width, length_);
    builder_.Elementwise(OperatorKind::kScale, "scale", int64_t{config_.heads()} * length_, length_);
    builder_.Elementwise(OperatorKind::kSoftmax, "softmax", int64_t{config_.heads()} * length_, length_);
    builder_.Matmul("values", config_.heads(), length_, length_, head_width);
  }

  void SelfAttention() {
    const int64_t parts = config_.attention() == v1::KvConfig::QKV ? 3 : 2;
    builder_.Within("attention", [&] {
      builder_.Linear("projection", length_, config_.width(), parts * config_.width(), config_.projection_bias());
      if (config_.attention() == v1::KvConfig::KV_POS) {
        const int64_t maps = config_.map_pos_per_head() ? config_.heads() : 1;
        builder_.Elementwise(OperatorKind::kAffine, "map_pos", int64_t{config_.heads()} * length_, length_,
                             maps * (config_.position_channels() + 1));
      }
      Mix();
      builder_.Linear("output", length_, config_.width(), config_.width(), config_.output_bias());
    });
  }

  void SourceAttention() {
    builder_.Within("source_attention", [&] {
      builder_.Linear("query", length_, config_.width(), config_.width(), config_.projection_bias());
      builder_.Linear("key_value", length_, config_.width(), 2 * int64_t{config_.width()}, config_.projection_bias());
      Mix();
      builder_.Linear("output", length_, config_.width(), config_.width(), config_.output_bias());
    });
  }

  void NormAndAdd(const std::string& name) {
    builder_.LayerNorm(name + ".norm", length_, config_.width());
    builder_.Add(name + ".add", length_, config_.width());
  }

  void Blocks(const std::string& name, bool decoder) {
    builder_.Enter(ModelPart::kBlock);
    for (int i = 0; i < config_.depth(); ++i) {
      builder_.Within(absl::StrCat(name, ".blocks.", i), [&] {
        SelfAttention();
        NormAndAdd("attention");
        if (decoder) {
          SourceAttention();
          NormAndAdd("source_attention");
        }
        builder_.Linear("feed_forward.fc1", length_, config_.width(), config_.mlp_width());
        builder_.Elementwise(OperatorKind::kRelu, "feed_forward.relu", length_, config_.mlp_width());
        builder_.Linear("feed_forward.fc2", length_, config_.mlp_width(), config_.width());
        NormAndAdd("feed_forward");
      });
    }
    if (config_.norm() != SequenceConfig::POST) builder_.LayerNorm(name + ".norm", length_, config_.width());
  }

  void Head(int vocabulary) {
    builder_.Enter(ModelPart::kHead);
    const int outputs = config_.outputs() == 0 ? vocabulary : config_.outputs();
    if (config_.head() == SequenceConfig::TIED) {
      builder_.Linear("head", length_, config_.width(), outputs).parameters =
          outputs;  // only the bias counts here: the matrix is the embedding's table
      return;
    }
    if (config_.head() == SequenceConfig::HIDDEN) {
      builder_.Linear("head.hidden", length_, config_.width(), config_.width());
      builder_.LayerNorm("head.norm", length_, config_.width());
      builder_.Elementwise(OperatorKind::kRelu, "head.relu", length_, config_.width());
    }
    builder_.Linear("head.output", length_, config_.width(), outputs);
  }

  const SequenceConfig& config_;
  const int64_t length_;
  Builder builder_;
};

}  // namespace

Workload SequenceWorkloadOf(const SequenceConfig& config, int length) {
  return SequenceDescription(config, length).Describe();
}

int DefaultLength(const SequenceConfig& config) {
  constexpr int kSet = 10;
  return config.positions() == SequenceConfig::NONE ? kSet : config.max_length();
}

}  // namespace vitrine
