// SPDX-License-Identifier: Apache-2.0
// Layers whose derivatives are written by hand against LibTorch's own derivatives of the plain formulas.
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <functional>

#include "models/layers/attention.h"
#include "models/layers/batch_norm.h"
#include "models/layers/convolution_stem.h"
#include "models/layers/cross_covariance_attention.h"
#include "models/layers/depthwise_convolution.h"
#include "models/layers/elementwise.h"
#include "models/layers/feed_forward.h"
#include "models/layers/local_patch_interaction.h"
#include "tests/models/pictures.h"

namespace vitrine {
namespace {

using testing::Difference;
using testing::Hashed;

struct Passed {
  std::vector<NamedTensor> tensors;  // the output, then every gradient
};

using Layer = std::function<at::Tensor(const at::Tensor&, const ForwardContext&)>;

// Output and gradients of a layer along a fixed direction.
Passed Pass(Module& module, const at::Tensor& input, const ForwardContext& context, const Layer& layer) {
  module.RequireGrad(true);
  for (const NamedTensor& parameter : module.Parameters()) parameter.tensor.mutable_grad().reset();
  const at::Tensor x = input.detach().clone().set_requires_grad(true);
  const at::Tensor y = layer(x, context);
  (y.to(at::kFloat) * Hashed(y.sizes(), 77)).sum().backward();
  Passed passed{{{"output", y.detach().to(at::kFloat)}, {"dx", x.grad().clone()}}};
  for (const NamedTensor& parameter : module.Parameters()) {
    passed.tensors.push_back({"d" + parameter.name, parameter.tensor.grad().clone()});
  }
  return passed;
}

// Of the largest value of each tensor. In bf16 values have 8 bits, and sums of them err more.
constexpr double kExact = 2e-5;
constexpr double kRounded = 0.04;

void ExpectEqual(const Passed& ours, const Passed& theirs, double tolerance) {
  ASSERT_EQ(ours.tensors.size(), theirs.tensors.size());
  for (size_t i = 0; i < ours.tensors.size(); ++i) {
    const auto& [name, tensor] = ours.tensors[i];
    const double largest = theirs.tensors[i].tensor.abs().max().item<double>();
    EXPECT_GT(largest, 0) << name;
    EXPECT_LT(Difference(tensor, theirs.tensors[i].tensor), tolerance * std::max(largest, 1e-3)) << name;
  }
}

struct Check {
  bool training = false;
  bool bf16 = true;  // in bf16 too
};

void CheckAgainstLibrary(Module& module, const at::Tensor& input, const Layer& layer, const Check& check = {}) {
  testing::HashWeights(module);
  ForwardContext library, own, bf16;
  library.library_only = true;
  bf16.bf16 = true;
  library.training = own.training = bf16.training = check.training;
  const Passed expected = Pass(module, input, library, layer);
  ExpectEqual(Pass(module, input, own, layer), expected, kExact);
  if (check.bf16) ExpectEqual(Pass(module, input, bf16, layer), expected, kRounded);
}

// Grids whose tokens and rows fill vectors and do not.
std::shared_ptr<const TokenLayout> MixedLayout(int prefix_tokens) {
  return TokenLayout::Make({{3, 5}, {3, 5}, {4, 4}, {1, 1}, {7, 6}}, prefix_tokens);
}

TEST(TrainingLayers, LayerNorm) {
  for (const int width : {7, 16, 50, 250}) {
    Initializer initializer(1, at::kCPU);
    LayerNorm norm(width, 1e-6, initializer);
    // A constant row and one far from zero among them.
    const at::Tensor x = Hashed({9, width}, 1);
    x.select(0, 3).add_(20);
    CheckAgainstLibrary(norm, x, [&](const at::Tensor& tokens, const ForwardContext& context) {
      return norm.ForwardOperand(tokens, context);
    });
  }
}

struct NoParameters : Module {};

TEST(TrainingLayers, Gelu) {
  NoParameters none;
  CheckAgainstLibrary(none, Hashed({31, 33}, 1) * 6, [](const at::Tensor& x, const ForwardContext& context) {
    return Gelu(x.to(context.bf16 ? at::kBFloat16 : at::kFloat), context);
  });
}

struct Scale : Module {
  explicit Scale(int width) {
    Initializer initializer(1, at::kCPU);
    RegisterParameter("scale", scale, initializer.Ones({width}));
  }
  at::Tensor scale;
};

TEST(TrainingLayers, AddBranch) {
  Scale scale(37);
  NoParameters none;
  const auto branch = [](const at::Tensor& x, const ForwardContext& context) {
    return (x * 0.5).to(context.bf16 ? at::kBFloat16 : at::kFloat);
  };
  CheckAgainstLibrary(scale, Hashed({21, 37}, 1), [&](const at::Tensor& x, const ForwardContext& context) {
    return AddBranch(x, branch(x, context), scale.scale, context);
  });
  CheckAgainstLibrary(none, Hashed({21, 37}, 1), [&](const at::Tensor& x, const ForwardContext& context) {
    return AddBranch(x, branch(x, context), {}, context);
  });
}

TEST(TrainingLayers, ColumnSums) {
  for (const int rows : {1, 8, 29}) {
    const at::Tensor x = Hashed({rows, 45}, 1);
    EXPECT_LT(Difference(ColumnSums(x), x.sum(0)), 1e-5);
    EXPECT_LT(Difference(ColumnSums(x.narrow(1, 3, 20)), x.narrow(1, 3, 20).sum(0)), 1e-5);
    EXPECT_LT(Difference(ColumnSums(x.to(at::kBFloat16)), x.to(at::kBFloat16).to(at::kFloat).sum(0)), 1e-5);
  }
}

TEST(TrainingLayers, FeedForward) {
  Initializer initializer(1, at::kCPU);
  FeedForward block(20, 50, 1e-6, initializer);
  const auto layout = MixedLayout(1);
  CheckAgainstLibrary(block, Hashed({layout->total_tokens(), 20}, 1),
                      [&](const at::Tensor& x, const ForwardContext& context) {
                        return block.Forward({x, layout}, 0, context);
                      });
}

TEST(TrainingLayers, SelfAttention) {
  const auto layout = MixedLayout(1);
  for (const int width : {5, 16, 25, 40}) {
    Initializer initializer(1, at::kCPU);
    SelfAttention attention(2 * width, 2, initializer);
    CheckAgainstLibrary(attention, Hashed({layout->total_tokens(), 2 * width}, 1),
                        [&](const at::Tensor& x, const ForwardContext& context) {
                          return attention.Forward({x, layout}, 0, 0, context);
                        });
  }
}

TEST(TrainingLayers, SoftmaxOfLargeScores) {
  Initializer initializer(1, at::kCPU);
  SelfAttention attention(10, 2, initializer);
  const auto layout = MixedLayout(0);
  testing::HashWeights(attention);
  ForwardContext library, own;
  library.library_only = true;
  const Layer layer = [&](const at::Tensor& x, const ForwardContext& context) {
    return attention.Forward({x, layout}, 0, 0, context);
  };
  const at::Tensor x = Hashed({layout->total_tokens(), 10}, 1) * 40;
  ExpectEqual(Pass(attention, x, own, layer), Pass(attention, x, library, layer), 1e-4);
}

TEST(TrainingLayers, CrossCovarianceAttention) {
  const auto layout = MixedLayout(0);
  for (const auto kind : {v1::XcitConfig::LINEAR, v1::XcitConfig::P_SNE}) {
    for (const int width : {5, 16, 32}) {
      v1::XcitConfig config;
      config.set_width(2 * width);
      config.set_heads(2);
      config.set_embedding(kind);
      config.set_embedding_width(24);
      Initializer initializer(1, at::kCPU);
      CrossCovarianceAttention attention(config, initializer);
      CheckAgainstLibrary(attention, Hashed({layout->total_tokens(), 2 * width}, 1),
                          [&](const at::Tensor& x, const ForwardContext& context) {
                            return attention.Forward({x, layout}, {}, 0, 0, context);
                          },
                          // Rounding turns the sign of what a ReLU sees, and a gradient with it.
                          {.bf16 = kind == v1::XcitConfig::LINEAR});
    }
  }
}

TEST(TrainingLayers, DepthwiseConvolution) {
  const auto layout = MixedLayout(0);
  Initializer initializer(1, at::kCPU);
  DepthwiseConvolution convolution(37, initializer);
  CheckAgainstLibrary(convolution, Hashed({layout->total_tokens(), 37}, 1),
                      [&](const at::Tensor& x, const ForwardContext& context) {
                        return convolution.Forward({x, layout}, context);
                      });
}

TEST(TrainingLayers, LocalPatchInteraction) {
  const auto layout = MixedLayout(0);
  Initializer initializer(1, at::kCPU);
  LocalPatchInteraction interaction(20, 1e-6, initializer);
  CheckAgainstLibrary(interaction, Hashed({layout->total_tokens(), 20}, 1),
                      [&](const at::Tensor& x, const ForwardContext& context) {
                        return interaction.Forward({x, layout}, context);
                      },
                      {.training = true});
}

TEST(TrainingLayers, ConvolutionStem) {
  Initializer initializer(1, at::kCPU);
  ConvolutionStem stem(3, 8, 32, initializer);
  const ImageBatch images = {testing::Picture(3, 24, 16, 1), testing::Picture(3, 24, 16, 2),
                             testing::Picture(3, 32, 8, 3), testing::Picture(3, 16, 32, 4)};
  CheckAgainstLibrary(
      stem, Hashed({3 * 2 + 3 * 2 + 4 + 2 * 4, 32}, 1),
      [&](const at::Tensor& x, const ForwardContext& context) { return stem.Forward(images, context) + x; },
      {.training = true});
}

TEST(TrainingLayers, RunningStatistics) {
  for (const bool bf16 : {false, true}) {
    std::vector<at::Tensor> buffers[2];
    for (const bool library : {false, true}) {
      Initializer initializer(1, at::kCPU);
      BatchNorm norm(21, initializer);
      ForwardContext context;
      context.training = true;
      context.library_only = library;
      context.bf16 = bf16;
      for (int i = 0; i < 3; ++i) norm.ForwardGelu(Hashed({50, 21}, i) * 3 + 2, context);
      context.update_statistics = false;
      norm.ForwardGelu(Hashed({50, 21}, 9), context);
      for (const NamedTensor& buffer : norm.Buffers()) buffers[library].push_back(buffer.tensor);
    }
    EXPECT_LT(Difference(buffers[0][0], buffers[1][0]), 1e-5);
    EXPECT_LT(Difference(buffers[0][1], buffers[1][1]), 1e-5);
    EXPECT_GT(buffers[0][0].abs().max().item<double>(), 0.1);
  }
}

// Whole models: the same gradients with the library's operators alone.
TEST(TrainingLayers, Families) {
  const std::string ends = "classes: 5 preprocessing { channels: 3 native { cell: 4 min_tokens: 1 max_tokens: 64 } } ";
  const std::string large = "classes: 5 preprocessing { channels: 3 native { cell: 8 min_tokens: 1 max_tokens: 64 } } ";
  for (const std::string& text :
       {ends + "eit { pool: 4 width: 40 depth: 3 heads: 2 mlp_width: 30 grid_rows: 3 grid_columns: 2 }",
        ends + "eit { pool: 4 width: 40 depth: 2 heads: 2 mlp_width: 30 grid_rows: 3 grid_columns: 2 "
               "convolution: GELU_CONV }",
        ends + "vit { patch: 4 width: 40 depth: 2 heads: 2 mlp_width: 30 grid_rows: 3 grid_columns: 2 }",
        large + "xcit { patch: 8 width: 32 depth: 2 class_depth: 2 heads: 2 mlp_width: 30 }"}) {
    const std::unique_ptr<Model> model = testing::MakeHashed(testing::Config(text));
    ImageBatch images;
    for (int i = 0; i < 6; ++i) images.push_back(testing::Picture(3, i < 3 ? 24 : 32, i < 3 ? 24 : 16, i));
    ForwardContext library, own, bf16;
    library.training = own.training = bf16.training = true;
    library.library_only = true;
    bf16.bf16 = true;
    const Layer layer = [&](const at::Tensor& unused, const ForwardContext& context) {
      return model->Forward(images, context) + unused;
    };
    const at::Tensor zeros = Hashed({6, 5}, 1) * 0;
    const Passed expected = Pass(*model, zeros, library, layer);
    SCOPED_TRACE(text);
    ExpectEqual(Pass(*model, zeros, own, layer), expected, 1e-3);
    // Directions agree although values are rounded many times over.
    const Passed rounded = Pass(*model, zeros, bf16, layer);
    double dot = 0, ours = 0, theirs = 0;
    for (size_t i = 1; i < expected.tensors.size(); ++i) {
      const at::Tensor& a = rounded.tensors[i].tensor;
      const at::Tensor& b = expected.tensors[i].tensor;
      dot += (a * b).sum().item<double>();
      ours += (a * a).sum().item<double>();
      theirs += (b * b).sum().item<double>();
    }
    EXPECT_GT(dot / std::sqrt(ours * theirs), 0.99);
  }
}

}  // namespace
}  // namespace vitrine
