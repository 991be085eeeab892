// SPDX-License-Identifier: Apache-2.0
#include "tests/models/reference/oracle/oracle_xcit.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>

#include <cmath>
#include <numbers>

namespace vitrine::testing {
namespace {

constexpr double kEpsilon = 1e-6;

// Normalizes a map [1, c, H, W] by the running statistics.
at::Tensor BatchNormOfMap(const Weights& weights, const std::string& name, const at::Tensor& x) {
  const auto channel = [&](const std::string& part) { return weights.Get(name + part).view({1, -1, 1, 1}); };
  return (x - channel(".running_mean")) / (channel(".running_var") + 1e-5).sqrt() * channel(".weight") +
         channel(".bias");
}

at::Tensor StemMap(const Weights& weights, const at::Tensor& image, int patch) {
  at::Tensor x = image.unsqueeze(0);
  const int steps = patch == 16 ? 4 : 3;
  for (int i = 0; i < steps; ++i) {
    const std::string number = std::to_string(i);
    x = at::conv2d(i == 0 ? x : at::gelu(x), weights.Get("stem.convolutions." + number + ".weight"), {}, 2, 1);
    x = BatchNormOfMap(weights, "stem.norms." + number, x);
  }
  return x;  // [1, d, rows, columns]
}

// Computed value by value, as in the specification.
at::Tensor Positions(const Weights& weights, int64_t rows, int64_t columns) {
  at::Tensor features = at::empty({rows * columns, 64}, at::kDouble);
  for (int64_t cell = 0; cell < rows * columns; ++cell) {
    for (int channel = 0; channel < 64; ++channel) {
      const bool of_row = channel < 32;
      const int k = channel % 32;
      const double place = of_row ? cell / columns : cell % columns;
      const double v = 2 * std::numbers::pi * (place + 1) / ((of_row ? rows : columns) + 1e-6);
      const double angle = v / std::pow(10000.0, 2 * std::floor(k / 2) / 32);
      features[cell][channel] = k % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  }
  return weights.Linear("positions.projection", features);
}

at::Tensor LocalPatchInteraction(const Weights& weights, const std::string& name, const at::Tensor& x, int64_t rows,
                                 int64_t columns) {
  const at::Tensor map = weights.Norm(name + ".norm", x, kEpsilon).t().reshape({1, -1, rows, columns});
  const auto convolve = [&](const std::string& part, const at::Tensor& y) {
    return at::conv2d(y, weights.Get(name + part + ".weight"), weights.Get(name + part + ".bias"), 1, 1, 1, y.size(1));
  };
  if (weights.Has(name + ".convolution.weight")) return convolve(".convolution", map).squeeze(0).flatten(1).t();
  const at::Tensor y = BatchNormOfMap(weights, name + ".batch_norm", at::gelu(convolve(".convolutions.0", map)));
  return convolve(".convolutions.1", y).squeeze(0).flatten(1).t();
}

at::Tensor FeedForward(const Weights& weights, const std::string& name, const at::Tensor& normalized) {
  return weights.Linear(name + ".fc2", at::gelu(weights.Linear(name + ".fc1", normalized)));
}

// Returns q, k or v (part 0, 1, 2) of tokens x.
at::Tensor Embed(const Weights& weights, const std::string& name, const v1::XcitConfig& xcit, const at::Tensor& x,
                 int part) {
  const std::string own = name + "." + "qkv"[part];
  switch (xcit.embedding()) {
    case v1::XcitConfig::SNE: {
      at::Tensor y = weights.Linear(own + ".0", x);
      for (int i = 1; weights.Has(own + "." + std::to_string(i) + ".weight"); ++i) {
        y = weights.Linear(own + "." + std::to_string(i), at::relu(y));
      }
      return y;
    }
    case v1::XcitConfig::P_SNE:
      return weights.Linear(name + ".shared", at::relu(weights.Linear(own, x)));
    case v1::XcitConfig::F_SNE: {
      const at::Tensor code = weights.Get(xcit.codes_per_block() ? name + ".codes" : "codes")[part];
      const at::Tensor with_code = at::cat({x, code.expand({x.size(0), code.size(0)})}, 1);
      return weights.Linear(name + ".second", at::relu(weights.Linear(name + ".first", with_code)));
    }
    default:
      return weights.Linear(name, x).narrow(1, part * xcit.width(), xcit.width());
  }
}

// Returns the output [N, d_h] of a head of q, k and v [d_h, N].
at::Tensor ChannelHead(const at::Tensor& temperature, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const auto unit = [](const at::Tensor& y) { return y / y.pow(2).sum(1, /*keepdim=*/true).sqrt().clamp_min(1e-12); };
  return (temperature * unit(q).matmul(unit(k).t())).softmax(-1).matmul(v).t();
}

at::Tensor CrossCovariance(const Weights& weights, const std::string& name, const v1::XcitConfig& xcit,
                           const at::Tensor& x) {
  const int64_t head = xcit.width() / xcit.heads();
  std::vector<at::Tensor> outputs;
  for (int h = 0; h < xcit.heads(); ++h) {
    const auto part = [&](int which) {
      return Head(Embed(weights, name + ".qkv", xcit, x, which), 0, head, h).t();  // [d_h, N]
    };
    outputs.push_back(ChannelHead(weights.Get(name + ".temperature")[h], part(0), part(1), part(2)));
  }
  return weights.Linear(name + ".proj", at::cat(outputs, 1));
}

// Returns [1, d], the result for the class token, from all rows, which are normalised; row 0 is the class token.
at::Tensor ClassAttention(const Weights& weights, const std::string& name, int heads, const at::Tensor& all) {
  const int64_t head = all.size(1) / heads;
  std::vector<at::Tensor> outputs;
  for (int h = 0; h < heads; ++h) {
    const auto part = [&](const std::string& which) { return Head(weights.Linear(name + which, all), 0, head, h); };
    const at::Tensor scores = part(".q").narrow(0, 0, 1).matmul(part(".k").t()) / std::sqrt(head);
    outputs.push_back(scores.softmax(-1).matmul(part(".v")));
  }
  return weights.Linear(name + ".proj", at::cat(outputs, 1));
}

// Computes the class-attention block on all tokens (row 0 is the class token), row by row as in the table of its
// quirks.
at::Tensor XcitClassBlock(const Weights& weights, const std::string& block, const v1::XcitConfig& xcit, at::Tensor x) {
  const at::Tensor u = weights.Norm(block + ".norm", x, kEpsilon);
  const at::Tensor attended = ClassAttention(weights, block + ".attention", xcit.heads(), u);
  x = x + weights.Get(block + ".attention_scale") * at::cat({attended, u.slice(0, 1)});
  const at::Tensor normalized = weights.Norm(block + ".feed_forward.norm", x, kEpsilon);
  x = xcit.tokens_norm() ? normalized : at::cat({normalized.narrow(0, 0, 1), x.slice(0, 1)});
  const at::Tensor c = x.narrow(0, 0, 1);
  const at::Tensor transformed =
      weights.Get(block + ".feed_forward_scale") * FeedForward(weights, block + ".feed_forward", c);
  return x + at::cat({transformed, x.slice(0, 1)});
}

// Returns the output of a head of q, k and v, queries by keys, through the map M.
at::Tensor MixHead(const Weights& weights, const std::string& name, const v1::XVitConfig& xvit, const at::Tensor& q,
                   const at::Tensor& k, const at::Tensor& v, int h, bool class_query) {
  if (xvit.mixer() == v1::XVitConfig::XCA && !class_query) {
    return ChannelHead(weights.Get(name + ".temperature")[h], q.t(), k.t(), v.t());
  }
  if (xvit.mixer() == v1::XVitConfig::XCA || xvit.mixer() == v1::XVitConfig::SOFTMAX) {
    return (q.matmul(k.t()) / std::sqrt(q.size(1))).softmax(-1).matmul(v);
  }
  const at::Tensor gq = weights.Get(name + ".query_scale")[h], gs = weights.Get(name + ".context_scale")[h];
  if (xvit.mixer() == v1::XVitConfig::NONE) return gq * gs * q.matmul(k.t()).matmul(v);
  const at::Tensor q_hat = gq * q / (q.pow(2).sum(1, /*keepdim=*/true).sqrt() + kEpsilon);
  const at::Tensor squares = k.t().matmul(v).pow(2);  // squares of S; its rows are features of K
  if (xvit.norm_axis() == v1::XVitConfig::LAST) {
    const at::Tensor t = squares.sum(1).sqrt() + kEpsilon;
    return (gs * (q_hat / t).matmul(k.t())).matmul(v);
  }
  const at::Tensor s = squares.sum(0).sqrt() + kEpsilon;
  return q_hat.matmul(k.t()).matmul(v) / s * gs;
}

// Returns the attention's result. The class token's query is alone if `class_query`: row 0 of x.
at::Tensor XAttention(const Weights& weights, const std::string& name, const v1::XVitConfig& xvit, const at::Tensor& x,
                      bool class_query) {
  const int64_t e = xvit.attention_width(), head = e / xvit.heads();
  const at::Tensor qkv = weights.Linear(name + ".qkv", x);
  std::vector<at::Tensor> outputs;
  for (int h = 0; h < xvit.heads(); ++h) {
    const at::Tensor q = Head(qkv, 0, head, h).narrow(0, 0, class_query ? 1 : x.size(0));
    outputs.push_back(
        MixHead(weights, name, xvit, q, Head(qkv, e, head, h), Head(qkv, 2 * e, head, h), h, class_query));
  }
  return weights.Linear(name + ".proj", at::cat(outputs, 1));
}

at::Tensor Affine(const Weights& weights, const std::string& name, const at::Tensor& x) {
  return weights.Get(name + ".weight") * x + weights.Get(name + ".bias");
}

// Computes stem or patches, and positions: [cells, d].
at::Tensor Tokens(const Weights& weights, const at::Tensor& image, int patch) {
  if (weights.Has("patches.proj.weight")) {
    const int64_t rows = image.size(1) / patch, columns = image.size(2) / patch;
    return LinearPatches(weights, image, patch) + Positions(weights, rows, columns);
  }
  const at::Tensor map = StemMap(weights, image, patch);
  return map.squeeze(0).flatten(1).t() + Positions(weights, map.size(2), map.size(3));
}

}  // namespace

at::Tensor XcitLogits(const Weights& weights, const v1::XcitConfig& xcit, const at::Tensor& image) {
  const int64_t rows = image.size(1) / xcit.patch(), columns = image.size(2) / xcit.patch();
  at::Tensor x = Tokens(weights, image, xcit.patch());
  for (int i = 0; i < xcit.depth(); ++i) {
    const std::string block = "blocks." + std::to_string(i);
    x = x + weights.Get(block + ".attention_scale") *
                CrossCovariance(weights, block + ".attention", xcit, weights.Norm(block + ".norm", x, kEpsilon));
    x = x + weights.Get(block + ".local_scale") * LocalPatchInteraction(weights, block + ".local", x, rows, columns);
    x = x + weights.Get(block + ".feed_forward_scale") *
                FeedForward(weights, block + ".feed_forward", weights.Norm(block + ".feed_forward.norm", x, kEpsilon));
  }
  x = at::cat({weights.Get("class_token"), x});
  for (int i = 0; i < xcit.class_depth(); ++i) {
    x = XcitClassBlock(weights, "class_blocks." + std::to_string(i), xcit, x);
  }
  return weights.Linear("head", weights.Norm("norm", x, kEpsilon).narrow(0, 0, 1));
}

at::Tensor XVitLogits(const Weights& weights, const v1::XVitConfig& xvit, const at::Tensor& image) {
  const int64_t rows = image.size(1) / xvit.patch(), columns = image.size(2) / xvit.patch();
  at::Tensor x = Tokens(weights, image, xvit.patch());
  const auto transform = [&](const std::string& block, const at::Tensor& y) {
    const at::Tensor normalized = weights.Norm(block + ".feed_forward.norm", y, kEpsilon);
    return Affine(weights, block + ".feed_forward_affine", FeedForward(weights, block + ".feed_forward", normalized));
  };
  for (int i = 0; i < xvit.depth(); ++i) {
    const std::string block = "blocks." + std::to_string(i);
    const at::Tensor u = weights.Norm(block + ".norm", x, kEpsilon);
    x = x + Affine(weights, block + ".attention_affine", XAttention(weights, block + ".attention", xvit, u, false));
    x = x +
        Affine(weights, block + ".local_affine", LocalPatchInteraction(weights, block + ".local", x, rows, columns));
    x = x + transform(block, x);
  }
  at::Tensor c = weights.Get("class_token");
  for (int i = 0; i < xvit.class_depth(); ++i) {
    const std::string block = "class_blocks." + std::to_string(i);
    const at::Tensor u = weights.Norm(block + ".norm", at::cat({c, x}), kEpsilon);
    c = c + Affine(weights, block + ".attention_affine", XAttention(weights, block + ".attention", xvit, u, true));
    c = c + transform(block, c);
  }
  return weights.Linear("head", weights.Norm("norm", c, kEpsilon));
}

}  // namespace vitrine::testing
