// SPDX-License-Identifier: Apache-2.0
// Compares our handwritten derivatives of layers with LibTorch's derivatives of the plain formulas.
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <functional>

#include "models/reference/initializer.h"
#include "models/reference/operators/attention/attention.h"
#include "models/reference/operators/attention/cross_covariance_attention.h"
#include "models/reference/operators/batch_norm.h"
#include "models/reference/operators/convolution/convolution_stem.h"
#include "models/reference/operators/convolution/depthwise_convolution.h"
#include "models/reference/operators/cpu_kernels.h"
#include "models/reference/operators/elementwise.h"
#include "models/reference/operators/gemm.h"
#include "models/reference/operators/layer_norm.h"
#include "tests/models/reference/images.h"

namespace vitrine {
namespace {

using testing::Difference;
using testing::Hashed;

struct Passed {
  std::vector<NamedTensor> tensors;  // the output, then every gradient
};

using Layer = std::function<at::Tensor(const at::Tensor&, const ForwardContext&)>;

// A module with the given tensors. Tensors whose names contain "running_" are buffers; all others are parameters.
class Weights : public Module {
 public:
  using Shapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;
  explicit Weights(const Shapes& shapes = {}) : tensors_(shapes.size()) {
    Initializer initializer(1, at::kCPU);
    for (size_t i = 0; i < shapes.size(); ++i) {
      const auto& [name, shape] = shapes[i];
      const bool buffer = name.find("running_") != std::string::npos;
      at::Tensor initial = initializer.Constant(shape, name.ends_with("running_mean") ? 0 : 1);
      if (buffer) {
        RegisterBuffer(name, tensors_[i], std::move(initial));
      } else {
        RegisterParameter(name, tensors_[i], std::move(initial), /*decays=*/true);
      }
    }
  }
  const at::Tensor& operator[](size_t i) const { return tensors_[i]; }
  // Returns the four tensors from index `i` on as the tensors of a BatchNorm.
  BatchNormTensors Norm(size_t i) const { return {tensors_[i], tensors_[i + 1], tensors_[i + 2], tensors_[i + 3]}; }

 private:
  std::vector<at::Tensor> tensors_;
};

at::Tensor Multiply(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                    const ForwardContext& context) {
  return AffineMap(x, weight, bias, context.bf16, OperandType(x, context));
}

// Returns the output of a layer, and its gradients along a fixed direction.
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

// Tolerances relative to the largest value of each tensor. bf16 values have 8 bits, and errors add up in sums.
constexpr double kExact = 2e-5;
constexpr double kRounded = 0.04;

void ExpectEqual(const Passed& ours, const Passed& theirs, double tolerance) {
  ASSERT_EQ(ours.tensors.size(), theirs.tensors.size());
  for (size_t i = 0; i < ours.tensors.size(); ++i) {
    const std::string& name = ours.tensors[i].name;
    const at::Tensor& tensor = ours.tensors[i].tensor;
    const double largest = theirs.tensors[i].tensor.abs().max().item<double>();
    EXPECT_GT(largest, 0) << name;
    EXPECT_LT(Difference(tensor, theirs.tensors[i].tensor), tolerance * std::max(largest, 1e-3)) << name;
  }
}

struct Check {
  bool training = false;
  bool bf16 = true;  // true: also tested in bf16
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

// Returns grids whose tokens and rows fill whole vectors, and grids whose tokens and rows do not.
std::shared_ptr<const TokenLayout> MixedLayout(int prefix_tokens) {
  return TokenLayout::Make({{3, 5}, {3, 5}, {4, 4}, {1, 1}, {7, 6}}, prefix_tokens);
}

TEST(TrainingLayers, LayerNormAgreesWithTheLibrary) {
  for (const int width : {7, 16, 50, 250}) {
    Weights w({{"norm.weight", {width}}, {"norm.bias", {width}}});
    // Row 3 has values far from zero.
    const at::Tensor x = Hashed({9, width}, 1);
    x.select(0, 3).add_(20);
    CheckAgainstLibrary(w, x, [&](const at::Tensor& tokens, const ForwardContext& context) {
      return NormalizeLayer(tokens, w[0], w[1], 1e-6, context, OperandType(tokens, context));
    });
  }
}

TEST(TrainingLayers, GeluAgreesWithTheLibrary) {
  Weights none;
  CheckAgainstLibrary(none, Hashed({31, 33}, 1) * 6, [](const at::Tensor& x, const ForwardContext& context) {
    return Gelu(x.to(context.bf16 ? at::kBFloat16 : at::kFloat), context);
  });
}

TEST(TrainingLayers, AddBranchAgreesWithTheLibrary) {
  Weights scale({{"scale", {37}}}), none;
  const auto branch = [](const at::Tensor& x, const ForwardContext& context) {
    return (x * 0.5).to(context.bf16 ? at::kBFloat16 : at::kFloat);
  };
  CheckAgainstLibrary(scale, Hashed({21, 37}, 1), [&](const at::Tensor& x, const ForwardContext& context) {
    return AddBranch(x, branch(x, context), scale[0], context);
  });
  CheckAgainstLibrary(none, Hashed({21, 37}, 1), [&](const at::Tensor& x, const ForwardContext& context) {
    return AddBranch(x, branch(x, context), {}, context);
  });
}

TEST(TrainingLayers, ColumnSumsAgreeWithTheLibrary) {
  for (const int rows : {1, 8, 29}) {
    const at::Tensor x = Hashed({rows, 45}, 1);
    EXPECT_LT(Difference(ColumnSums(x), x.sum(0)), 1e-5);
    EXPECT_LT(Difference(ColumnSums(x.narrow(1, 3, 20)), x.narrow(1, 3, 20).sum(0)), 1e-5);
    EXPECT_LT(Difference(ColumnSums(x.to(at::kBFloat16)), x.to(at::kBFloat16).to(at::kFloat).sum(0)), 1e-5);
  }
}

// A single fp32 sum of 300,000 values of 0.1 would be off by 3e-3.
TEST(TrainingLayers, SumsOverManyRowsAreAccurate) {
  constexpr int64_t kImages = 3000, kRows = 100 * kImages;
  const auto layout = TokenLayout::Make(std::vector<Grid>(kImages, Grid{10, 10}), 0);
  Weights w({{"norm.weight", {2}}, {"norm.bias", {2}}, {"mean", {2}}, {"variance", {2}}, {"kernel", {2, 1, 3, 3}}});
  testing::HashWeights(w);
  w.RequireGrad(true);
  const at::Tensor x = Hashed({kRows, 2}, 1).set_requires_grad(true);
  const ForwardContext own, training{.training = true};
  const BatchNormTensors norm{w[0], w[1], w[2].detach().clone(), w[3].detach().abs(), 1e-5, 0.1};
  const std::pair<const char*, std::function<at::Tensor()>> layers[] = {
      {"LayerNorm", [&] { return NormalizeLayer(x, w[0], w[1], 1e-6, own, at::kFloat); }},
      {"BatchNorm", [&] { return NormalizeBatch(x, norm, training); }},
      {"scale of a branch", [&] { return AddBranch(x, x.detach() * 0 + 1, w[1], own); }},
      {"depthwise convolution",
       [&] {
         return ConvolveDepthwise({x, layout}, w[4], w[1], own);
       }},
  };
  for (const auto& [name, layer] : layers) {
    w[1].mutable_grad().reset();
    (layer() * 0.1).sum().backward();
    for (int column = 0; column < 2; ++column) {
      EXPECT_NEAR(w[1].grad()[column].item<float>() / kRows, 0.1, 3e-5) << name;
    }
  }
  EXPECT_NEAR(ColumnSums(x.detach() * 0 + 0.1)[0].item<float>() / kRows, 0.1, 3e-5);
}

TEST(TrainingLayers, SelfAttentionAgreesWithTheLibrary) {
  const auto layout = MixedLayout(1);
  for (const int width : {5, 16, 25, 40}) {
    Weights w({{"qkv.weight", {6 * width, 2 * width}}, {"qkv.bias", {6 * width}}});
    CheckAgainstLibrary(w, Hashed({layout->total_tokens(), 2 * width}, 1),
                        [&](const at::Tensor& x, const ForwardContext& context) {
                          const at::Tensor qkv = Multiply(x, w[0], w[1], context).view({-1, 3, 2, width});
                          return AttendWithinImages(qkv, layout, 0, 0, context);
                        });
  }
}

TEST(TrainingLayers, SoftmaxOfLargeScoresAgreesWithTheLibrary) {
  Weights w({{"qkv.weight", {30, 10}}, {"qkv.bias", {30}}});
  const auto layout = MixedLayout(0);
  testing::HashWeights(w);
  ForwardContext library, own;
  library.library_only = true;
  const Layer layer = [&](const at::Tensor& x, const ForwardContext& context) {
    return AttendWithinImages(Multiply(x, w[0], w[1], context).view({-1, 3, 2, 5}), layout, 0, 0, context);
  };
  const at::Tensor x = Hashed({layout->total_tokens(), 10}, 1) * 40;
  ExpectEqual(Pass(w, x, own, layer), Pass(w, x, library, layer), 2e-4);
}

TEST(TrainingLayers, CrossCovarianceAttentionAgreesWithTheLibrary) {
  const auto layout = MixedLayout(0);
  for (const int width : {10, 32, 64}) {
    Weights w({{"qkv.weight", {3 * width, width}}, {"qkv.bias", {3 * width}}, {"temperature", {2, 1, 1}}});
    CheckAgainstLibrary(w, Hashed({layout->total_tokens(), width}, 1),
                        [&](const at::Tensor& x, const ForwardContext& context) {
                          const std::vector<at::Tensor> qkv = Multiply(x, w[0], w[1], context).split(width, 1);
                          return AttendChannels({qkv[0], qkv[1], qkv[2]}, w[2], layout, 0, 0, context);
                        });
  }
}

const Weights::Shapes kDepthwise = {{"weight", {37, 1, 3, 3}}, {"bias", {37}}};

TEST(TrainingLayers, DepthwiseConvolutionAgreesWithTheLibrary) {
  const auto layout = MixedLayout(0);
  Weights w(kDepthwise);
  CheckAgainstLibrary(w, Hashed({layout->total_tokens(), 37}, 1),
                      [&](const at::Tensor& x, const ForwardContext& context) {
                        return ConvolveDepthwise({x, layout}, w[0], w[1], context);
                      });
}

Weights::Shapes NormShapes(const std::string& name, int64_t channels) {
  return {{name + ".weight", {channels}},
          {name + ".bias", {channels}},
          {name + ".running_mean", {channels}},
          {name + ".running_var", {channels}}};
}

// Tests the BatchNorm of the GELU of a convolution, as in XCiT's local patch interaction.
TEST(TrainingLayers, BatchNormAgreesWithTheLibrary) {
  const auto layout = MixedLayout(0);
  Weights::Shapes shapes = kDepthwise;
  for (const auto& each : NormShapes("norm", 37)) shapes.push_back(each);
  Weights w(shapes);
  CheckAgainstLibrary(w, Hashed({layout->total_tokens(), 37}, 1),
                      [&](const at::Tensor& x, const ForwardContext& context) {
                        const at::Tensor convolved = ConvolveDepthwise({x, layout}, w[0], w[1], context);
                        return NormalizeBatch(Gelu(convolved, context), w.Norm(2), context);
                      },
                      {.training = true});
}

TEST(TrainingLayers, ConvolutionStemAgreesWithTheLibrary) {
  Weights::Shapes shapes = {{"convolutions.0.weight", {16, 3, 3, 3}}, {"convolutions.1.weight", {32, 16, 3, 3}}};
  for (const int i : {0, 1}) {
    for (const auto& each : NormShapes("norms." + std::to_string(i), 16 << i)) shapes.push_back(each);
  }
  Weights w(shapes);
  const ImageBatch images = {testing::RandomImage(3, 24, 16, 1), testing::RandomImage(3, 24, 16, 2),
                             testing::RandomImage(3, 32, 8, 3), testing::RandomImage(3, 16, 32, 4)};
  CheckAgainstLibrary(w, Hashed({4 * (3 * 2 + 3 * 2 + 4 + 2 * 4), 32}, 1),
                      [&](const at::Tensor& x, const ForwardContext& context) {
                        const Maps first = ConvolveAndNormalize(RunsOf(images, 8), w[0], w.Norm(2), true, context);
                        return PixelsOfAll(ConvolveAndNormalize(first, w[1], w.Norm(6), false, context)) + x;
                      },
                      {.training = true});
}

TEST(TrainingLayers, RunningStatisticsAgreeWithTheLibrary) {
  for (const bool bf16 : {false, true}) {
    std::vector<at::Tensor> buffers[2];
    for (const bool library : {false, true}) {
      Weights w(NormShapes("norm", 21));
      ForwardContext context;
      context.training = true;
      context.library_only = library;
      context.bf16 = bf16;
      for (int i = 0; i < 3; ++i) NormalizeBatchGelu(Hashed({50, 21}, i) * 3 + 2, w.Norm(0), context);
      context.update_statistics = false;
      NormalizeBatchGelu(Hashed({50, 21}, 9), w.Norm(0), context);
      buffers[library] = {w[2], w[3]};
    }
    EXPECT_LT(Difference(buffers[0][0], buffers[1][0]), 1e-5);
    EXPECT_LT(Difference(buffers[0][1], buffers[1][1]), 1e-5);
    EXPECT_GT(buffers[0][0].abs().max().item<double>(), 0.1);
  }
}

// Whole models must give the same gradients as with only LibTorch's operators.
TEST(TrainingLayers, GradientsOfModelsAgreeWithTheLibrary) {
  const std::string ends = "classes: 5 preprocessing { channels: 3 native { cell: 4 min_tokens: 1 max_tokens: 64 } } ";
  const std::string large = "classes: 5 preprocessing { channels: 3 native { cell: 8 min_tokens: 1 max_tokens: 64 } } ";
  for (const std::string& text :
       {ends + "eit { pool: 4 width: 40 depth: 3 heads: 2 mlp_width: 30 grid_rows: 3 grid_columns: 2 }",
        ends + "eit { pool: 4 width: 40 depth: 2 heads: 2 mlp_width: 30 grid_rows: 3 grid_columns: 2 "
               "convolution: GELU_CONV }",
        ends + "eit { pool: 4 width: 40 depth: 2 heads: 2 mlp_width: 30 grid_rows: 3 grid_columns: 2 "
               "convolution: BN_RELU }",
        ends + "vit { patch: 4 width: 40 depth: 2 heads: 2 mlp_width: 30 grid_rows: 3 grid_columns: 2 }",
        large + "xcit { patch: 8 width: 32 depth: 2 class_depth: 2 heads: 2 mlp_width: 30 }"}) {
    const std::unique_ptr<Model> model = testing::MakeHashed(testing::Config(text));
    ImageBatch images;
    for (int i = 0; i < 6; ++i) images.push_back(testing::RandomImage(3, i < 3 ? 24 : 32, i < 3 ? 24 : 16, i));
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
    // The gradients' directions agree, although values are rounded many times.
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
