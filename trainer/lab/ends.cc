// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/ends.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/relu.h>

#include <cmath>
#include <limits>

#include "models/reference/operators/dropout.h"
#include "models/reference/operators/gemm.h"
#include "trainer/lab/block.h"

namespace vitrine::sequences {
namespace {

using v1::SequenceConfig;

}  // namespace

at::Tensor Sinusoids(int64_t length, int64_t width, bool halves) {
  at::Tensor table = at::empty({length, width}, at::kFloat);
  float* values = table.data_ptr<float>();
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t k = 0; k < width / 2; ++k) {
      const double angle = t * std::pow(10000.0, -2.0 * k / width);
      values[t * width + (halves ? k : 2 * k)] = static_cast<float>(std::sin(angle));
      values[t * width + (halves ? width / 2 + k : 2 * k + 1)] = static_cast<float>(std::cos(angle));
    }
  }
  return table;
}

Positions::Positions(const SequenceConfig& config, Initializer& initializer) : kind_(config.positions()) {
  if (kind_ == SequenceConfig::LEARNED) {
    RegisterParameter("table", table_, InitialTable(config, config.max_length(), initializer), /*decays=*/false);
  } else if (kind_ != SequenceConfig::NONE) {
    table_ = Sinusoids(config.max_length(), config.width(), kind_ == SequenceConfig::HALVES);
  }
}

at::Tensor Positions::Add(const at::Tensor& x) const {
  if (kind_ == SequenceConfig::NONE) return x;
  return x + table_.slice(0, 0, x.size(1)).to(x.device());
}

Embedding::Embedding(const SequenceConfig& config, int vocabulary, bool scaled, Initializer& initializer)
    : scale_(scaled ? std::sqrt(config.width()) : 1) {
  RegisterParameter("table", table_, InitialTable(config, vocabulary, initializer), /*decays=*/true);
}

at::Tensor Embedding::Forward(const at::Tensor& ids) const {
  const at::Tensor vectors = at::embedding(table_, ids);  // [B, n, width]
  return scale_ == 1 ? vectors : vectors * scale_;
}

Head::Head(const SequenceConfig& config, Initializer& initializer)
    : kind_(config.head()), drop_hidden_(Drops(config, SequenceConfig::HIDDEN_LAYER)) {
  const int width = config.width(), outputs = SequenceOutputs(config);
  const bool xavier = config.initial() == SequenceConfig::XAVIER;
  if (kind_ == SequenceConfig::TIED) {
    RegisterParameter("bias", bias_, initializer.Uniform({outputs}, 1 / std::sqrt(width)), /*decays=*/false);
    return;
  }
  if (kind_ == SequenceConfig::HIDDEN) {
    RegisterChild("hidden", hidden_.emplace(width, width, /*bias=*/true, xavier, initializer));
    RegisterChild("norm", norm_.emplace(width, kNormEpsilon, initializer));
  }
  RegisterChild("output", output_.emplace(width, outputs, /*bias=*/true, xavier, initializer));
}

at::Tensor Head::Forward(const at::Tensor& x, const at::Tensor& table, int site, const ForwardContext& context) const {
  switch (kind_) {
    case SequenceConfig::TIED:
      return AffineMap(x.reshape({-1, x.size(-1)}), table, bias_, context.bf16).view({x.size(0), x.size(1), -1});
    case SequenceConfig::HIDDEN: {
      const at::Tensor hidden = at::relu(norm_->Forward(OnElements(*hidden_, x, context)));
      return OnElements(*output_, drop_hidden_ ? Dropout(hidden, context.dropout.mlp, site, context) : hidden, context);
    }
    default:
      return OnElements(*output_, x, context);
  }
}

at::Tensor CausalMask(int64_t n, const at::Device& device) {
  return at::full({n, n}, -std::numeric_limits<float>::infinity(), at::TensorOptions().device(device)).triu(1);
}

}  // namespace vitrine::sequences
