// SPDX-License-Identifier: Apache-2.0
#include "models/layers/qkv_embedding.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/stack.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "models/layers/cpu_kernels.h"
#include "models/layers/gemm.h"
#include "models/layers/linear.h"

namespace vitrine {
namespace {

constexpr const char* kNames[] = {"q", "k", "v"};

// The parts of x [T, 3 width]. NOTE: the derivative of split joins three gradients; that of narrow fills up with zeros.
Qkv SplitColumns(const at::Tensor& x) {
  const std::vector<at::Tensor> parts = x.split(x.size(1) / 3, 1);
  return {parts[0], parts[1], parts[2]};
}

class LinearEmbedding : public QkvEmbedding {
 public:
  LinearEmbedding(int width, Initializer& initializer) {
    RegisterParameter("weight", weight_, initializer.TruncatedNormal({3 * width, width}, 0.02));
    RegisterParameter("bias", bias_, initializer.Zeros({3 * width}));
  }

  Qkv Forward(const at::Tensor& x, const at::Tensor& /*codes*/, const ForwardContext& context) const override {
    return SplitColumns(AffineMap(x, weight_, bias_, context.bf16, OperandType(x, context)));
  }

 private:
  at::Tensor weight_;
  at::Tensor bias_;
};

class Sne : public QkvEmbedding {
 public:
  Sne(int width, int hidden, int layers, Initializer& initializer) {
    for (int part = 0; part < 3; ++part) {
      for (int i = 0; i < layers; ++i) {
        networks_[part].push_back(std::make_unique<Linear>(i == 0 ? width : hidden, i + 1 == layers ? width : hidden,
                                                           /*bias=*/true, initializer));
        RegisterChild(absl::StrCat(kNames[part], ".", i), *networks_[part].back());
      }
    }
  }

  Qkv Forward(const at::Tensor& x, const at::Tensor& /*codes*/, const ForwardContext& context) const override {
    return {Apply(0, x, context), Apply(1, x, context), Apply(2, x, context)};
  }

 private:
  at::Tensor Apply(int part, at::Tensor x, const ForwardContext& context) const {
    for (size_t i = 0; i < networks_[part].size(); ++i) {
      x = networks_[part][i]->ForwardOperand(i == 0 ? x : at::relu(x), context);
    }
    return x;
  }

  std::vector<std::unique_ptr<Linear>> networks_[3];
};

class PartlySharedSne : public QkvEmbedding {
 public:
  PartlySharedSne(int width, int hidden, Initializer& initializer)
      : first_{{width, hidden, /*bias=*/true, initializer},
               {width, hidden, /*bias=*/true, initializer},
               {width, hidden, /*bias=*/true, initializer}},
        shared_(hidden, width, /*bias=*/true, initializer) {
    for (int part = 0; part < 3; ++part) RegisterChild(kNames[part], first_[part]);
    RegisterChild("shared", shared_);
  }

  Qkv Forward(const at::Tensor& x, const at::Tensor& /*codes*/, const ForwardContext& context) const override {
    const auto apply = [&](const Linear& first) {
      return shared_.ForwardOperand(at::relu(first.ForwardOperand(x, context)), context);
    };
    return {apply(first_[0]), apply(first_[1]), apply(first_[2])};
  }

 private:
  Linear first_[3];
  Linear shared_;
};

// NOTE: the code is the same for every token, so that [x, C] W1^T = x Wx^T + C Wc^T with W1 = [Wx, Wc]: the product
// with x is computed once, and a code adds one row to it.
class FullySharedSne : public QkvEmbedding {
 public:
  FullySharedSne(const v1::XcitConfig& config, Initializer& initializer)
      : width_(config.width()),
        first_(width_ + config.code_length(), config.embedding_width(), /*bias=*/true, initializer),
        second_(config.embedding_width(), width_, /*bias=*/true, initializer) {
    if (config.codes_per_block()) RegisterParameter("codes", codes_, InitialCodes(config.code_length(), initializer));
    RegisterChild("first", first_);
    RegisterChild("second", second_);
  }

  Qkv Forward(const at::Tensor& x, const at::Tensor& shared_codes, const ForwardContext& context) const override {
    const at::Tensor& codes = codes_.defined() ? codes_ : shared_codes;
    const at::Tensor of_tokens = first_.weight().narrow(1, 0, width_).contiguous();  // Wx, [hidden, width]
    const at::Tensor of_codes = first_.weight().slice(1, width_);                    // Wc, [hidden, code]
    const at::Tensor hidden = AffineMap(x, of_tokens, first_.bias(), context.bf16);  // [T, hidden]
    const auto finish = [&](int part) {
      const at::Tensor row = at::matmul(of_codes, codes[part]);  // [hidden]
      return second_.ForwardOperand(at::relu(hidden + row), context);
    };
    return {finish(0), finish(1), finish(2)};
  }

 private:
  const int width_;
  at::Tensor codes_;  // undefined where the model's are used
  Linear first_;
  Linear second_;
};

}  // namespace

std::unique_ptr<QkvEmbedding> MakeQkvEmbedding(const v1::XcitConfig& config, Initializer& initializer) {
  const int layers = config.embedding_layers() == 0 ? 2 : config.embedding_layers();
  switch (config.embedding()) {
    case v1::XcitConfig::SNE:
      return std::make_unique<Sne>(config.width(), config.embedding_width(), layers, initializer);
    case v1::XcitConfig::P_SNE:
      return std::make_unique<PartlySharedSne>(config.width(), config.embedding_width(), initializer);
    case v1::XcitConfig::F_SNE:
      return std::make_unique<FullySharedSne>(config, initializer);
    default:
      return std::make_unique<LinearEmbedding>(config.width(), initializer);
  }
}

at::Tensor InitialCodes(int length, Initializer& initializer) {
  return initializer.Normal({3, length}, 1);
}

CodeGeometry GeometryOf(const at::Tensor& codes) {
  const at::Tensor norms = at::linalg_vector_norm(codes, 2, 1);
  const at::Tensor directions = codes / norms.unsqueeze(1).clamp_min(1e-12);
  return {directions.matmul(directions.t()), norms};
}

}  // namespace vitrine
