// SPDX-License-Identifier: Apache-2.0
#include "tests/models/reference/oracle/oracle.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <functional>
#include <stdexcept>

#include "tests/models/reference/oracle/oracle_weights.h"
#include "tests/models/reference/oracle/oracle_xcit.h"

namespace vitrine::testing {
namespace {

at::Tensor Attention(const Weights& weights, const std::string& name, const at::Tensor& x, int heads) {
  const at::Tensor qkv = weights.Linear(name + ".qkv", x);
  const int64_t d = qkv.size(1) / 3, head = d / heads;
  std::vector<at::Tensor> outputs;
  for (int h = 0; h < heads; ++h) {
    const at::Tensor scores = Head(qkv, 0, head, h).matmul(Head(qkv, d, head, h).t()) / std::sqrt(head);
    outputs.push_back(scores.softmax(-1).matmul(Head(qkv, 2 * d, head, h)));
  }
  return weights.Linear(name + ".proj", at::cat(outputs, 1));
}

// Returns P_ij = [E(i), E(j)] cut to m channels, channel by channel as in the paper's library.
at::Tensor PositionalTensor(int64_t n, int m) {
  const int q = 2 * static_cast<int>(std::ceil(m / 4.0));
  at::Tensor p = at::zeros({n, n, m}, at::kDouble);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int c = 0; c < m; ++c) {
        const int64_t position = c < q ? i : j;
        const int channel = c < q ? c : c - q;
        const int pair = channel / 2;
        const double angle = position * std::pow(10000.0, -2.0 * pair / q);
        p[i][j][c] = channel % 2 == 0 ? std::sin(angle) : std::cos(angle);
      }
    }
  }
  return p;
}

at::Tensor KvAttention(const Weights& weights, const std::string& name, const at::Tensor& x, const v1::KvConfig& kv) {
  const int64_t d = x.size(1), head = d / kv.heads();
  const double alpha = 1 / std::sqrt(kv.score_scale() == v1::KvConfig::HEAD_WIDTH ? head : d);
  const at::Tensor projected = weights.Linear(name + ".projection", x);
  const int64_t keys = kv.attention() == v1::KvConfig::QKV ? d : 0;
  std::vector<at::Tensor> outputs;
  for (int h = 0; h < kv.heads(); ++h) {
    const at::Tensor k = Head(projected, keys, head, h);
    const at::Tensor q = kv.attention() == v1::KvConfig::QKV ? Head(projected, 0, head, h) : k;
    at::Tensor scores = q.matmul(k.t()) * alpha;
    if (kv.attention() == v1::KvConfig::KV_POS) {
      // map_pos as published: a linear layer m -> 1 on the broadcast scores plus the positional tensor.
      const at::Tensor mixed = scores.unsqueeze(-1) + PositionalTensor(x.size(0), kv.position_channels());
      scores = mixed.matmul(weights.Get(name + ".map_pos.weight")) + weights.Get(name + ".map_pos.bias");
    }
    outputs.push_back(scores.softmax(-1).matmul(Head(projected, keys + d, head, h)));
  }
  return weights.Linear(name + ".output", at::cat(outputs, 1));
}

at::Tensor Vit(const Weights& weights, const v1::VitConfig& vit, const at::Tensor& image) {
  const double epsilon = vit.norm_epsilon() == 0 ? 1e-6 : vit.norm_epsilon();
  at::Tensor x = at::cat({weights.Get("class_token"), LinearPatches(weights, image, vit.patch())});
  x = x + weights.Get("positions.table");
  for (int i = 0; i < vit.depth(); ++i) {
    const std::string block = "blocks." + std::to_string(i), mlp = block + ".feed_forward";
    const auto attend = [&](const at::Tensor& u) { return Attention(weights, block + ".attention", u, vit.heads()); };
    if (vit.norm() == v1::VitConfig::POST) {
      x = weights.Norm(block + ".norm", x + attend(x), epsilon);
      const at::Tensor hidden = at::gelu(weights.Linear(mlp + ".fc1", x));
      x = weights.Norm(mlp + ".norm", x + weights.Linear(mlp + ".fc2", hidden), epsilon);
    } else {
      x = x + attend(weights.Norm(block + ".norm", x, epsilon));
      x = weights.FeedForward(mlp, x, epsilon);
    }
  }
  if (vit.norm() != v1::VitConfig::POST) x = weights.Norm("norm", x, epsilon);
  return weights.Linear("head", x.narrow(0, 0, 1));
}

// Convolves [C, H, W] -> [C', H', W']. The kernel is stored as [out, rows, columns, in].
at::Tensor Convolve(const Weights& weights, const std::string& name, const at::Tensor& image, int stride, int padding) {
  const at::Tensor bias = weights.Has(name + ".bias") ? weights.Get(name + ".bias") : at::Tensor();
  const at::Tensor kernel = weights.Get(name + ".weight").permute({0, 3, 1, 2});
  return at::conv2d(image.unsqueeze(0), kernel, bias, stride, padding).squeeze(0);
}

// Convolves 3x3 over a grid: [cells, c] -> [cells, c].
at::Tensor ConvolveCells(const Weights& weights, const std::string& name, const at::Tensor& cells, Grid grid) {
  return Convolve(weights, name, cells.t().reshape({cells.size(1), grid.rows, grid.columns}), 1, 1).flatten(1).t();
}

at::Tensor BatchNorm(const Weights& weights, const std::string& name, const at::Tensor& x) {
  return (x - weights.Get(name + ".running_mean")) / (weights.Get(name + ".running_var") + 1e-5).sqrt() *
             weights.Get(name + ".weight") +
         weights.Get(name + ".bias");
}

// Computes the convolution branch; its tensors determine its form. The class token passes through unchanged.
at::Tensor Branch(const Weights& weights, const std::string& name, const at::Tensor& u, Grid grid, bool lsra) {
  at::Tensor y = u.slice(0, 1);
  const auto convolve = [&](const std::string& weight) { y = ConvolveCells(weights, weight, y, grid); };
  if (lsra) {
    y = at::gelu(y);
    convolve(name);
    y = weights.Linear(name + ".linear", y);
  } else if (weights.Has(name + ".linear.weight")) {
    y = at::gelu(weights.Linear(name + ".linear", y));
    convolve(name);
  } else {
    convolve(name);
    if (weights.Has(name + ".second.weight")) {
      convolve(name + ".second");
      convolve(name + ".third");
    }
    if (weights.Has(name + ".batch_norm.weight")) y = at::relu(BatchNorm(weights, name + ".batch_norm", y));
  }
  return at::cat({u.slice(0, 0, 1), y});
}

int AttentionChannels(const v1::EitConfig& eit, int block) {
  if ((eit.has_conv_channels() && !eit.conv_channels()) || block == eit.depth()) return eit.width();
  const int unit = eit.width() / eit.heads();
  if (eit.schedule() == v1::EitConfig::INVARIANT) return unit / 2 * eit.heads();
  const int i = eit.schedule() == v1::EitConfig::INCREASING ? eit.depth() - block : block;
  return static_cast<int>(std::floor(1.0 * unit * i / eit.depth())) * eit.heads();
}

// Computes class token, positions if there are any, blocks, norm and head. `mix` returns what a block adds to its
// tokens.
at::Tensor EitFrame(const Weights& weights, const at::Tensor& patches, int depth,
                    const std::function<at::Tensor(int, const std::string&, const at::Tensor&)>& mix) {
  at::Tensor x = at::cat({weights.Get("class_token"), patches});
  if (weights.Has("positions.table")) x = x + weights.Get("positions.table");
  for (int i = 1; i <= depth; ++i) {
    const std::string block = "blocks." + std::to_string(i - 1);
    x = x + mix(i, block, weights.Norm(block + ".norm", x, 1e-6));
    x = weights.FeedForward(block + ".feed_forward", x, 1e-6);
  }
  return weights.Linear("head", weights.Norm("norm", x, 1e-6).narrow(0, 0, 1));
}

at::Tensor Eit(const Weights& weights, const v1::EitConfig& eit, const at::Tensor& image) {
  at::Tensor patches;
  if (!eit.has_conv_projection() || eit.conv_projection()) {
    const at::Tensor y = Convolve(weights, "patches", image, 1, 1);
    patches = at::max_pool2d(y.unsqueeze(0), {eit.pool(), eit.pool()}).squeeze(0).flatten(1).t();
  } else {
    patches = LinearPatches(weights, image, eit.pool());
  }
  const Grid grid{static_cast<int>(image.size(1) / eit.pool()), static_cast<int>(image.size(2) / eit.pool())};
  return EitFrame(weights, patches, eit.depth(), [&](int i, const std::string& block, const at::Tensor& u) {
    const int c = eit.width() - AttentionChannels(eit, i);
    const at::Tensor attended = Attention(weights, block + ".attention", u.slice(1, c), eit.heads());
    if (eit.parallel_convolution()) return attended + Branch(weights, block + ".convolution", u, grid, false);
    if (c == 0) return attended;
    return at::cat({Branch(weights, block + ".convolution", u.slice(1, 0, c), grid, false), attended}, 1);
  });
}

at::Tensor EitBaseline(const Weights& weights, const v1::EitBaselineConfig& baseline, const at::Tensor& image) {
  at::Tensor map;  // [C, rows, columns]
  if (baseline.patches() == v1::EitBaselineConfig::OVERLAPPING) map = Convolve(weights, "patches", image, 2, 1);
  if (baseline.patches() == v1::EitBaselineConfig::STEM) {
    map = at::relu(Convolve(weights, "patches.conv1", image, 2, 1));
    map = at::relu(Convolve(weights, "patches.conv2", map, 2, 1));
    map = Convolve(weights, "patches.conv3", map, 1, 0);
  }
  const bool linear = baseline.patches() == v1::EitBaselineConfig::LINEAR;
  const int64_t rows = linear ? image.size(1) / 4 : map.size(1), columns = linear ? image.size(2) / 4 : map.size(2);
  const Grid grid{static_cast<int>(rows), static_cast<int>(columns)};
  const at::Tensor patches = linear ? LinearPatches(weights, image, 4) : map.flatten(1).t();
  return EitFrame(weights, patches, baseline.depth(), [&](int, const std::string& block, const at::Tensor& u) {
    const std::string attention = block + ".attention";
    if (baseline.mixer() == v1::EitBaselineConfig::CONVOLVED_QKV) {
      std::vector<at::Tensor> parts;
      for (const char* part : {".conv_q", ".conv_k", ".conv_v"}) {
        parts.push_back(at::cat({u.slice(0, 0, 1), ConvolveCells(weights, attention + part, u.slice(0, 1), grid)}));
      }
      return Attention(weights, attention, at::cat(parts, 1), baseline.heads());
    }
    const int c = baseline.mixer() == v1::EitBaselineConfig::LSRA
                      ? baseline.width() - baseline.width() / baseline.heads() / 2 * baseline.heads()
                      : 0;
    const at::Tensor attended = Attention(weights, attention, u.slice(1, c), baseline.heads());
    if (c == 0) return attended;
    return at::cat({Branch(weights, block + ".convolution", u.slice(1, 0, c), grid, true), attended}, 1);
  });
}

at::Tensor Kv(const Weights& weights, const v1::KvConfig& kv, const at::Tensor& image) {
  at::Tensor x = at::cat({weights.Get("class_token"), LinearPatches(weights, image, kv.patch())});
  x = x + weights.Get("positions.table");
  for (int i = 0; i < kv.depth(); ++i) {
    const std::string block = "blocks." + std::to_string(i);
    x = x + KvAttention(weights, block + ".attention", weights.Norm(block + ".norm", x, 1e-5), kv);
    x = weights.FeedForward(block + ".feed_forward", x, 1e-5);
  }
  return weights.Linear("head_out", at::gelu(weights.Linear("head_in", x.narrow(0, 0, 1))));
}

}  // namespace

at::Tensor OracleLogits(const Model& model, const at::Tensor& image) {
  const Weights weights(model);
  const at::Tensor pixels = image.to(at::kDouble);
  switch (model.config().family_case()) {
    case v1::ModelConfig::kVit:
      return Vit(weights, model.config().vit(), pixels);
    case v1::ModelConfig::kEit:
      return Eit(weights, model.config().eit(), pixels);
    case v1::ModelConfig::kEitBaseline:
      return EitBaseline(weights, model.config().eit_baseline(), pixels);
    case v1::ModelConfig::kKv:
      return Kv(weights, model.config().kv(), pixels);
    case v1::ModelConfig::kXcit:
      return XcitLogits(weights, model.config().xcit(), pixels);
    case v1::ModelConfig::kXvit:
      return XVitLogits(weights, model.config().xvit(), pixels);
    case v1::ModelConfig::kNull:
      return at::zeros({1, model.config().classes()}, at::kDouble);
    default:
      throw std::invalid_argument("no formulas for this family");
  }
}

}  // namespace vitrine::testing
