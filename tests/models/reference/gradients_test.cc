// SPDX-License-Identifier: Apache-2.0
// Compares the derivatives written by hand with LibTorch's derivatives of the same formulas in fp64.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <gtest/gtest.h>

#include "models/reference/operators/convolution/convolution_patches.h"
#include "models/reference/operators/convolution/grid_convolution.h"
#include "models/reference/operators/gemm.h"
#include "models/reference/operators/patches.h"
#include "tests/models/reference/images.h"

namespace vitrine {
namespace {

using testing::Difference;
using testing::Hashed;

at::Tensor Leaf(const at::Tensor& values) {
  return values.detach().clone().set_requires_grad(true);
}
at::Tensor DoubleLeaf(const at::Tensor& values) {
  return Leaf(values.detach().to(at::kDouble));
}

// Runs backward with the product of the output and a fixed direction as the loss.
void BackwardAlong(const at::Tensor& y, const at::Tensor& direction) {
  (y * direction.to(y.scalar_type())).sum().backward();
}

TEST(AffineMap, ValueAndGradientsAgreeWithTheFormula) {
  for (const auto& [m, k, n] : {std::array<int, 3>{65, 50, 150}, {1, 7, 3}, {130, 200, 64}}) {
    at::Tensor x = Leaf(Hashed({m, k}, 1)), w = Leaf(Hashed({n, k}, 2)), b = Leaf(Hashed({n}, 3));
    at::Tensor dx = DoubleLeaf(x), dw = DoubleLeaf(w), db = DoubleLeaf(b);
    const at::Tensor direction = Hashed({m, n}, 4);
    const at::Tensor y = AffineMap(x, w, b, /*bf16=*/false);
    const at::Tensor expected = at::linear(dx, dw, db);
    EXPECT_LT(Difference(y.to(at::kDouble), expected), 1e-4);
    BackwardAlong(y, direction);
    BackwardAlong(expected, direction);
    EXPECT_LT(Difference(x.grad().to(at::kDouble), dx.grad()), 1e-4);
    EXPECT_LT(Difference(w.grad().to(at::kDouble), dw.grad()), 1e-4);
    EXPECT_LT(Difference(b.grad().to(at::kDouble), db.grad()), 1e-4);
  }
}

TEST(AffineMap, Bf16ErrorsAreRoundingErrors) {
  at::Tensor x = Leaf(Hashed({65, 50}, 1)), w = Leaf(Hashed({150, 50}, 2)), b = Leaf(Hashed({150}, 3));
  at::Tensor dx = DoubleLeaf(x), dw = DoubleLeaf(w), db = DoubleLeaf(b);
  const at::Tensor direction = Hashed({65, 150}, 4);
  const at::Tensor y = AffineMap(x, w, b, /*bf16=*/true);
  const at::Tensor expected = at::linear(dx, dw, db);
  EXPECT_EQ(y.scalar_type(), at::kFloat);
  BackwardAlong(y, direction);
  BackwardAlong(expected, direction);
  // The operands are rounded to 8 bits, so the product is off by a few parts in 256 of its largest value.
  EXPECT_LT(Difference(y.to(at::kDouble), expected), 0.02 * expected.abs().max().item<double>());
  EXPECT_LT(Difference(x.grad().to(at::kDouble), dx.grad()), 0.02 * dx.grad().abs().max().item<double>());
  EXPECT_LT(Difference(w.grad().to(at::kDouble), dw.grad()), 0.02 * dw.grad().abs().max().item<double>());
  EXPECT_LT(Difference(b.grad().to(at::kDouble), db.grad()), 1e-4);
  EXPECT_GT(Difference(y.to(at::kDouble), expected), 1e-4) << "nothing was rounded";
}

// Computes conv2d of the grid's cells, image by image; the class token stays unchanged.
at::Tensor DirectConvolution(const at::Tensor& x, const at::Tensor& weight, const TokenLayout& layout) {
  std::vector<at::Tensor> images;
  for (int i = 0; i < layout.images(); ++i) {
    const at::Tensor tokens = x.narrow(0, layout.offset(i), layout.tokens(i));
    const at::Tensor cells =
        tokens.slice(0, layout.prefix_tokens()).t().reshape({1, -1, layout.grid(i).rows, layout.grid(i).columns});
    const at::Tensor y = at::conv2d(cells, weight.permute({0, 3, 1, 2}), {}, 1, 1);
    images.push_back(tokens.slice(0, 0, layout.prefix_tokens()));
    images.push_back(y.flatten(2).squeeze(0).t());
  }
  return at::cat(images);
}

TEST(GridConvolution, ValueAndGradientsAgreeWithConv2d) {
  const auto layout = TokenLayout::Make({{3, 5}, {3, 5}, {1, 4}, {6, 2}, {1, 1}}, 1);
  constexpr int kChannels = 12;
  at::Tensor weight = Leaf(Hashed({kChannels, 3, 3, kChannels}, 3) * 0.1);
  // The input is a range of columns of a wider matrix, as in a block that convolves only some channels.
  at::Tensor wide = Leaf(Hashed({layout->total_tokens(), kChannels + 5}, 1));
  at::Tensor double_wide = DoubleLeaf(wide), double_weight = DoubleLeaf(weight);
  const at::Tensor direction = Hashed({layout->total_tokens(), kChannels}, 2);

  const at::Tensor y = ConvolveGrids({wide.narrow(1, 2, kChannels), layout}, weight, {});
  const at::Tensor expected = DirectConvolution(double_wide.narrow(1, 2, kChannels), double_weight, *layout);
  EXPECT_LT(Difference(y.to(at::kDouble), expected), 1e-4);
  BackwardAlong(y, direction);
  BackwardAlong(expected, direction);
  EXPECT_LT(Difference(wide.grad().to(at::kDouble), double_wide.grad()), 1e-4);
  EXPECT_LT(Difference(weight.grad().to(at::kDouble), double_weight.grad()), 1e-4);
}

TEST(ConvolutionPatches, ValueAndGradientsAgreeWithConvolutionAndPool) {
  for (const int pool : {3, 4}) {
    at::Tensor weight = Leaf(Hashed({20, 3, 3, 3}, 5) * 0.2), bias = Leaf(Hashed({20}, 6) * 0.2);
    at::Tensor double_weight = DoubleLeaf(weight), double_bias = DoubleLeaf(bias);
    const ImageBatch images{Hashed({3, 14, 11}, 1), Hashed({3, 8, 17}, 2), Hashed({3, 14, 11}, 3)};
    const at::Tensor y = ConvolveAndPool(images, weight, bias, pool, {});
    std::vector<at::Tensor> expected;
    for (const at::Tensor& image : images) {
      const at::Tensor convolved =
          at::conv2d(image.to(at::kDouble).unsqueeze(0), double_weight.permute({0, 3, 1, 2}), double_bias, 1, 1);
      expected.push_back(at::max_pool2d(convolved, {pool, pool}).squeeze(0).flatten(1).t());
    }
    const at::Tensor all = at::cat(expected);
    ASSERT_EQ(y.sizes(), all.sizes());
    EXPECT_LT(Difference(y.to(at::kDouble), all), 1e-5);
    const at::Tensor direction = Hashed(y.sizes(), 2);
    BackwardAlong(y, direction);
    BackwardAlong(all, direction);
    EXPECT_LT(Difference(weight.grad().to(at::kDouble), double_weight.grad()), 1e-4);
    EXPECT_LT(Difference(bias.grad().to(at::kDouble), double_bias.grad()), 1e-4);
  }
}

}  // namespace
}  // namespace vitrine
