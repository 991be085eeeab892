#include "tests/models/oracle.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <map>
#include <stdexcept>

namespace vitrine::testing {
namespace {

// Parameters by name, in fp64.
class Weights {
 public:
  explicit Weights(const Model& model) {
    for (const NamedTensor& parameter : model.Parameters()) {
      tensors_[parameter.name] = parameter.tensor.detach().to(at::kDouble);
    }
  }
  bool Has(const std::string& name) const { return tensors_.contains(name); }
  at::Tensor Get(const std::string& name) const { return tensors_.at(name); }

  at::Tensor Linear(const std::string& name, const at::Tensor& x) const {
    const at::Tensor product = x.matmul(Get(name + ".weight").t());
    return Has(name + ".bias") ? product + Get(name + ".bias") : product;
  }
  at::Tensor Norm(const std::string& name, const at::Tensor& x, double epsilon) const {
    const at::Tensor centred = x - x.mean(-1, /*keepdim=*/true);
    const at::Tensor variance = (centred * centred).mean(-1, /*keepdim=*/true);
    return centred / (variance + epsilon).sqrt() * Get(name + ".weight") + Get(name + ".bias");
  }
  at::Tensor FeedForward(const std::string& name, const at::Tensor& x, double epsilon) const {
    return x + Linear(name + ".fc2", at::gelu(Linear(name + ".fc1", Norm(name + ".norm", x, epsilon))));
  }

 private:
  std::map<std::string, at::Tensor> tensors_;
};

// Head h of the columns of x that start at `first`.
at::Tensor Head(const at::Tensor& x, int64_t first, int64_t width, int h) {
  return x.narrow(1, first + h * width, width);
}

at::Tensor Attention(const Weights& weights, const std::string& name, const at::Tensor& x, int heads) {
  const int64_t d = x.size(1), head = d / heads;
  const at::Tensor qkv = weights.Linear(name + ".qkv", x);
  std::vector<at::Tensor> outputs;
  for (int h = 0; h < heads; ++h) {
    const at::Tensor scores = Head(qkv, 0, head, h).matmul(Head(qkv, d, head, h).t()) / std::sqrt(head);
    outputs.push_back(scores.softmax(-1).matmul(Head(qkv, 2 * d, head, h)));
  }
  return weights.Linear(name + ".proj", at::cat(outputs, 1));
}

// P_ij = [E(i), E(j)] cut to m channels, channel by channel as the paper's library does.
at::Tensor PositionalTensor(int64_t n, int m) {
  const int q = 2 * static_cast<int>(std::ceil(m / 4.0));
  at::Tensor p = at::zeros({n, n, m}, at::kDouble);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int c = 0; c < m; ++c) {
        const int64_t position = c < q ? i : j;
        const int channel = c < q ? c : c - q;
        const double angle = position * std::pow(10000.0, -2.0 * (channel / 2) / q);
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
      // map_pos as published: a linear layer m -> 1 on the scores, broadcast, plus the positional tensor.
      const at::Tensor mixed = scores.unsqueeze(-1) + PositionalTensor(x.size(0), kv.position_channels());
      scores = mixed.matmul(weights.Get(name + ".map_pos.weight")) + weights.Get(name + ".map_pos.bias");
    }
    outputs.push_back(scores.softmax(-1).matmul(Head(projected, keys + d, head, h)));
  }
  return weights.Linear(name + ".output", at::cat(outputs, 1));
}

// Rows of pixels in the order row, column, channel.
at::Tensor LinearPatches(const Weights& weights, const at::Tensor& image, int patch) {
  std::vector<at::Tensor> rows;
  for (int64_t y = 0; y + patch <= image.size(1); y += patch) {
    for (int64_t x = 0; x + patch <= image.size(2); x += patch) {
      rows.push_back(image.narrow(1, y, patch).narrow(2, x, patch).permute({1, 2, 0}).reshape({1, -1}));
    }
  }
  return weights.Linear("patches.proj", at::cat(rows));
}

at::Tensor Vit(const Weights& weights, const v1::VitConfig& vit, const at::Tensor& image) {
  at::Tensor x = at::cat({weights.Get("class_token"), LinearPatches(weights, image, vit.patch())});
  x = x + weights.Get("positions.table");
  for (int i = 0; i < vit.depth(); ++i) {
    const std::string block = "blocks." + std::to_string(i);
    x = x + Attention(weights, block + ".attention", weights.Norm(block + ".norm", x, 1e-6), vit.heads());
    x = weights.FeedForward(block + ".feed_forward", x, 1e-6);
  }
  return weights.Linear("head", weights.Norm("norm", x, 1e-6).narrow(0, 0, 1));
}

at::Tensor Eit(const Weights& weights, const v1::EitConfig& eit, const at::Tensor& image) {
  const bool eit_p = !eit.has_conv_projection() || eit.conv_projection();
  const bool eit_t = !eit.has_conv_channels() || eit.conv_channels();
  at::Tensor patches;
  if (eit_p) {
    const at::Tensor kernel = weights.Get("patches.weight").permute({0, 3, 1, 2});
    const at::Tensor y = at::conv2d(image.unsqueeze(0), kernel, weights.Get("patches.bias"), 1, 1);
    patches = at::max_pool2d(y, {eit.pool(), eit.pool()}).squeeze(0).flatten(1).t();
  } else {
    patches = LinearPatches(weights, image, eit.pool());
  }
  const int64_t rows = image.size(1) / eit.pool(), columns = image.size(2) / eit.pool();
  at::Tensor x = at::cat({weights.Get("class_token"), patches}) + weights.Get("positions.table");
  for (int i = 1; i <= eit.depth(); ++i) {
    const std::string block = "blocks." + std::to_string(i - 1);
    const int a =
        eit_t ? static_cast<int>(std::floor(double{1.0} * (eit.width() / eit.heads()) * i / eit.depth())) * eit.heads()
              : eit.width();
    const int c = i == eit.depth() ? 0 : eit.width() - a;
    const at::Tensor u = weights.Norm(block + ".norm", x, 1e-6);
    at::Tensor mixed = Attention(weights, block + ".attention", u.slice(1, c), eit.heads());
    if (c > 0) {
      const at::Tensor cells = u.slice(0, 1).slice(1, 0, c).t().reshape({1, c, rows, columns});
      const at::Tensor kernel = weights.Get(block + ".convolution.weight").permute({0, 3, 1, 2});
      const at::Tensor y = at::conv2d(cells, kernel, {}, 1, 1).squeeze(0).flatten(1).t();
      mixed = at::cat({at::cat({u.slice(0, 0, 1).slice(1, 0, c), y}), mixed}, 1);
    }
    x = weights.FeedForward(block + ".feed_forward", x + mixed, 1e-6);
  }
  return weights.Linear("head", weights.Norm("norm", x, 1e-6).narrow(0, 0, 1));
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
    case v1::ModelConfig::kKv:
      return Kv(weights, model.config().kv(), pixels);
    case v1::ModelConfig::kNull:
      return at::zeros({1, model.config().classes()}, at::kDouble);
    default:
      throw std::invalid_argument("no formulas for this family");
  }
}

}  // namespace vitrine::testing
