// SPDX-License-Identifier: Apache-2.0
#include "tests/trainer/lab/oracle.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "tests/models/reference/images.h"
#include "trainer/lab/zoo.h"

namespace vitrine::testing {
namespace {

using v1::KvConfig;
using v1::SequenceConfig;

// The model's layers, computed from its parameters in fp64.
class Oracle {
 public:
  Oracle(const SequenceModel& model) : config_(model.config()) {
    for (const NamedTensor& parameter : model.Parameters()) {
      tensors_[parameter.name] = parameter.tensor.detach().to(at::kDouble);
    }
  }

  at::Tensor Encode(const at::Tensor& x, const at::Tensor& visible) const {
    return Stack("encoder", x, visible, at::Tensor(), at::Tensor());
  }

  // Applies the blocks of one stack to x [n, d]. visible [n, n] is 1 if the row may attend to the column.
  at::Tensor Stack(const std::string& name, at::Tensor x, const at::Tensor& visible, const at::Tensor& source,
                   const at::Tensor& source_visible) const {
    for (int i = 0; i < config_.depth(); ++i) {
      const std::string block = name + ".blocks." + std::to_string(i);
      x = Residual(block + ".attention_norm", x,
                   [&](const at::Tensor& y) { return SelfAttention(block + ".attention", y, visible); });
      if (source.defined()) {
        x = Residual(block + ".source_norm", x, [&](const at::Tensor& y) {
          return SourceAttention(block + ".source_attention", y, source, source_visible);
        });
      }
      x = Residual(block + ".feed_forward_norm", x, [&](const at::Tensor& y) {
        return Linear(block + ".feed_forward.fc2", Linear(block + ".feed_forward.fc1", y).clamp_min(0));
      });
    }
    return config_.norm() == SequenceConfig::POST ? x : Norm(name + ".norm", x);
  }

  at::Tensor Embed(const std::string& name, const at::Tensor& ids, bool scaled) const {
    std::vector<at::Tensor> rows;
    for (int64_t i = 0; i < ids.size(0); ++i) rows.push_back(Get(name + ".table")[ids[i].item<int64_t>()]);
    return at::stack(rows) * (scaled ? std::sqrt(config_.width()) : 1.0);
  }

  at::Tensor Place(const std::string& name, const at::Tensor& x) const {
    const int d = config_.width();
    at::Tensor y = x.clone();
    for (int64_t t = 0; t < x.size(0); ++t) {
      for (int c = 0; c < d; ++c) {
        // `k` gives the frequency of channel c. `sine` is true if the channel is a sine, and false if it is a cosine.
        const bool halves = config_.positions() == SequenceConfig::HALVES;
        const int k = halves ? c % (d / 2) : c / 2;
        const bool sine = halves ? c < d / 2 : c % 2 == 0;
        const double angle = t / std::pow(10000.0, 2.0 * k / d);
        if (config_.positions() == SequenceConfig::LEARNED) {
          y[t][c] += Get(name + ".table")[t][c];
        } else if (config_.positions() != SequenceConfig::NONE) {
          y[t][c] += sine ? std::sin(angle) : std::cos(angle);
        }
      }
    }
    return y;
  }

  at::Tensor Head(const at::Tensor& x) const {
    if (config_.head() == SequenceConfig::TIED) return x.matmul(Get("embedding.table").t()) + Get("head.bias");
    if (config_.head() == SequenceConfig::LINEAR) return Linear("head.output", x);
    return Linear("head.output", Norm("head.norm", Linear("head.hidden", x)).clamp_min(0));
  }

  at::Tensor Linear(const std::string& name, const at::Tensor& x) const {
    const at::Tensor product = x.matmul(Get(name + ".weight").t());
    return tensors_.contains(name + ".bias") ? product + Get(name + ".bias") : product;
  }

 private:
  at::Tensor Get(const std::string& name) const { return tensors_.at(name); }

  at::Tensor Norm(const std::string& name, const at::Tensor& x) const {
    const at::Tensor centred = x - x.mean(-1, /*keepdim=*/true);
    const at::Tensor variance = (centred * centred).mean(-1, /*keepdim=*/true);
    return centred / (variance + 1e-5).sqrt() * Get(name + ".weight") + Get(name + ".bias");
  }

  template <typename F>
  at::Tensor Residual(const std::string& norm, const at::Tensor& x, const F& f) const {
    switch (config_.norm()) {
      case SequenceConfig::POST:
        return Norm(norm, x + f(x));
      case SequenceConfig::PRE:
        return x + f(Norm(norm, x));
      default: {
        const at::Tensor y = Norm(norm, x);
        return y + f(y);
      }
    }
  }

  static at::Tensor Softmax(const at::Tensor& logits, const at::Tensor& visible) {
    const at::Tensor e = (logits - logits.max()).exp() * visible;
    return e / e.sum(-1, /*keepdim=*/true);
  }

  double Alpha() const {
    const double head = static_cast<double>(config_.width()) / config_.heads();
    return 1 / std::sqrt(config_.score_scale() == KvConfig::HEAD_WIDTH ? head : config_.width());
  }

  at::Tensor SelfAttention(const std::string& name, const at::Tensor& x, const at::Tensor& visible) const {
    const int head = config_.width() / config_.heads();
    const bool queries = config_.attention() == KvConfig::QKV;
    const int parts = queries ? 3 : 2;
    const at::Tensor projected = Linear(name + ".projection", x);
    std::vector<at::Tensor> outputs;
    for (int h = 0; h < config_.heads(); ++h) {
      const auto part = [&](int p) { return projected.narrow(1, (h * parts + p) * head, head); };
      const at::Tensor k = part(parts - 2), v = part(parts - 1);
      at::Tensor scores = (queries ? part(0) : k).matmul(k.t()) * Alpha();
      if (config_.attention() == KvConfig::KV_POS) {
        const bool own = config_.map_pos_per_head();
        const at::Tensor weight = own ? Get(name + ".map_pos.weight")[h] : Get(name + ".map_pos.weight");
        const at::Tensor mixed = scores.unsqueeze(-1) + PositionalTensor(x.size(0), config_.position_channels());
        scores = mixed.matmul(weight) + Get(name + ".map_pos.bias")[own ? h : 0];
      }
      outputs.push_back(Softmax(scores, visible).matmul(v));
    }
    return Linear(name + ".output", at::cat(outputs, 1));
  }

  at::Tensor SourceAttention(const std::string& name, const at::Tensor& x, const at::Tensor& source,
                             const at::Tensor& visible) const {
    const int head = config_.width() / config_.heads();
    const at::Tensor q = Linear(name + ".query", x), kv = Linear(name + ".key_value", source);
    std::vector<at::Tensor> outputs;
    for (int h = 0; h < config_.heads(); ++h) {
      const at::Tensor k = kv.narrow(1, 2 * h * head, head), v = kv.narrow(1, (2 * h + 1) * head, head);
      const at::Tensor scores = q.narrow(1, h * head, head).matmul(k.t()) * Alpha();
      outputs.push_back(Softmax(scores, visible).matmul(v));
    }
    return Linear(name + ".output", at::cat(outputs, 1));
  }

  const SequenceConfig config_;
  std::map<std::string, at::Tensor> tensors_;
};

// Returns a mask [rows, columns]: 1 if row i may attend to column j. If `ids` is undefined, there is no padding.
at::Tensor Visible(int64_t rows, int64_t columns, bool causal, const at::Tensor& ids, int64_t padding) {
  at::Tensor visible = at::zeros({rows, columns}, at::kDouble);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const bool pad = ids.defined() && ids[j].item<int64_t>() == padding;
      visible[i][j] = (causal && j > i) || pad ? 0 : 1;
    }
  }
  return visible;
}

}  // namespace

at::Tensor SequenceOracle(const SequenceModel& model, const SequenceBatch& batch) {
  const Oracle oracle(model);
  const SequenceConfig& config = model.config();
  std::vector<at::Tensor> logits;
  for (int64_t b = 0; b < batch.source.size(0); ++b) {
    const at::Tensor source = batch.source[b];
    const int64_t n = source.size(0);
    if (config.has_pair()) {
      const at::Tensor target = batch.target[b];
      const int64_t t = target.size(0), padding = config.pair().has_padding() ? config.pair().padding() : -1;
      const at::Tensor x = oracle.Place("source_positions", oracle.Embed("source_embedding", source, true));
      const at::Tensor encoded = oracle.Encode(x, Visible(n, n, false, source, padding));
      const at::Tensor y = oracle.Place("target_positions", oracle.Embed("target_embedding", target, true));
      logits.push_back(oracle.Head(oracle.Stack("decoder", y, Visible(t, t, true, target, padding), encoded,
                                                Visible(t, n, false, source, padding))));
    } else {
      const at::Tensor x = config.has_features() ? oracle.Linear("input", source.to(at::kDouble))
                                                 : oracle.Embed("embedding", source, config.tokens().scaled());
      logits.push_back(
          oracle.Head(oracle.Encode(oracle.Place("positions", x), Visible(n, n, config.causal(), {}, -1))));
    }
  }
  return at::stack(logits);
}

at::Tensor PositionalTensor(int64_t n, int m) {
  const int q = 2 * static_cast<int>(std::ceil(m / 4.0));
  at::Tensor p = at::zeros({n, n, m}, at::kDouble);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int c = 0; c < m; ++c) {
        const int channel = c % q;
        const int pair = channel / 2;
        const double angle = (c < q ? i : j) * std::pow(10000.0, -2.0 * pair / q);
        p[i][j][c] = channel % 2 == 0 ? std::sin(angle) : std::cos(angle);
      }
    }
  }
  return p;
}

SequenceConfig SequenceConfigOf(std::string_view row) {
  const absl::StatusOr<SequenceRow> found = FindSequence(row);
  if (!found.ok()) {
    ADD_FAILURE() << found.status();
    std::abort();
  }
  return found->config;
}

std::unique_ptr<SequenceModel> MakeHashedSequence(std::string_view row) {
  return MakeHashedSequence(SequenceConfigOf(row));
}

std::unique_ptr<SequenceModel> MakeHashedSequence(const SequenceConfig& config) {
  absl::StatusOr<std::unique_ptr<SequenceModel>> model = MakeSequenceModel(config);
  if (!model.ok()) {
    ADD_FAILURE() << model.status();
    std::abort();
  }
  HashWeights(**model);
  return *std::move(model);
}

SequenceConfig Small(SequenceConfig config) {
  config.set_mlp_width(config.mlp_width() / config.width() * 24);
  config.set_width(24);
  config.set_depth(2);
  config.set_heads(3);
  config.set_max_length(12);
  if (config.has_pair()) {
    config.mutable_pair()->set_source_vocabulary(11);
    config.mutable_pair()->set_target_vocabulary(13);
  }
  if (config.has_features()) config.mutable_features()->set_width(std::min(config.features().width(), 17));
  return config;
}

SequenceBatch HashedBatch(const SequenceConfig& config, int64_t batch, int64_t length, uint64_t seed) {
  if (config.has_features()) return {Hashed({batch, length, config.features().width()}, seed), {}};
  // Ids start at 2, so that no id is padding.
  const auto ids = [](int64_t rows, int64_t columns, int vocabulary, uint64_t s) {
    return ((Hashed({rows, columns}, s) + 1) / 2 * (vocabulary - 2)).floor().clamp(0, vocabulary - 3).to(at::kLong) + 2;
  };
  if (config.has_tokens()) return {ids(batch, length, config.tokens().vocabulary(), seed), {}};
  return {ids(batch, length, config.pair().source_vocabulary(), seed),
          ids(batch, length - 1, config.pair().target_vocabulary(), seed + 1)};
}

}  // namespace vitrine::testing
