// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/convolution/grid_convolution.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cstring>
#include <utility>

#include "models/reference/operators/gemm.h"
#include "models/reference/operators/held_layout.h"
#include "models/reference/operators/library_bf16.h"
#include "models/reference/operators/token_sequence.h"

namespace vitrine {
namespace {

// Gathers the 3x3 neighbourhood of every token: converts [T, c] to [T, 9 * c] for T tokens of c channels. Neighbours
// outside the grid and rows that are not patches are zeros. Copies bytes, so any type is possible. CPU only.
at::Tensor GatherNeighbours(const at::Tensor& x, const TokenLayout& layout) {
  const int64_t channels = x.size(1);
  at::Tensor neighbours = at::empty({x.size(0), 9 * channels}, x.options());
  const size_t bytes = channels * x.element_size();
  const size_t stride = x.stride(0) * x.element_size();
  const char* source = static_cast<const char*>(x.const_data_ptr());
  char* target = static_cast<char*>(neighbours.data_ptr());
  const int64_t tokens = layout.total_tokens();
  std::memset(target + tokens * 9 * bytes, 0, (x.size(0) - tokens) * 9 * bytes);
  at::parallel_for(0, layout.images(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      const Grid grid = layout.grid(static_cast<int>(image));
      const int64_t offset = layout.offset(static_cast<int>(image));
      const int64_t first = offset + layout.prefix_tokens();
      std::memset(target + offset * 9 * bytes, 0, layout.prefix_tokens() * 9 * bytes);
      char* out = target + first * 9 * bytes;
      for (int row = 0; row < grid.rows; ++row) {
        for (int column = 0; column < grid.columns; ++column) {
          for (int k = 0; k < 9; ++k, out += bytes) {
            const int r = row + k / 3 - 1;
            const int c = column + k % 3 - 1;
            if (r < 0 || r >= grid.rows || c < 0 || c >= grid.columns) {
              std::memset(out, 0, bytes);
            } else {
              std::memcpy(out, source + (first + int64_t{r} * grid.columns + c) * stride, bytes);
            }
          }
        }
      }
    }
  });
  return neighbours;
}

// Copies the prefix tokens of every image; both tensors have the same type.
void CopyPrefix(const at::Tensor& x, const TokenLayout& layout, at::Tensor& y) {
  for (int image = 0; image < layout.images(); ++image) {
    for (int token = 0; token < layout.prefix_tokens(); ++token) {
      const int64_t row = layout.offset(image) + token;
      const int64_t bytes = x.element_size();
      std::memcpy(static_cast<char*>(y.data_ptr()) + row * y.stride(0) * bytes,
                  static_cast<const char*>(x.const_data_ptr()) + row * x.stride(0) * bytes, x.size(1) * bytes);
    }
  }
}

at::Tensor Convolve(const at::Tensor& x, const at::Tensor& weight, const TokenLayout& layout) {
  const at::Tensor matrix = weight.view({weight.size(0), -1});                  // [out, 9 * in]
  return GemmNt(GatherNeighbours(x.to(weight.scalar_type()), layout), matrix);  // [T, out]
}

class ConvolutionFunction : public torch::autograd::Function<ConvolutionFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::shared_ptr<const TokenLayout>& layout, bool bf16) {
    const auto type = bf16 ? at::kBFloat16 : at::kFloat;
    const at::Tensor operand = x.to(type).contiguous();
    const at::Tensor kernel = weight.to(type);
    context->save_for_backward({operand, kernel});
    context->saved_data["layout"] = HoldLayout(layout);
    at::Tensor y = Convolve(operand, kernel, *layout).to(x.scalar_type());
    CopyPrefix(x, *layout, y);
    return y;
  }

  // Computes the gradients. With G[t, k] = dy[t + offset k], the neighbours of the gradient:
  //   dx[t] = sum_k W[8 - k]^T G[t, k]      (the convolution with the kernel rotated by 180 degrees)
  //   dW[8 - k] = sum_t G[t, k] x[t]^T
  // So both sums use the same gathered neighbours, and the neighbours of x need not be stored.
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    const auto layout = HeldLayout(context->saved_data["layout"]);
    const int64_t out = weight.size(0);
    const int64_t in = weight.size(3);
    const at::Tensor gradient = gradients[0].contiguous();
    const at::Tensor neighbours = GatherNeighbours(gradient.to(weight.scalar_type()), *layout);  // [T, 9 * out]

    const at::Tensor turned = weight.view({out, 9, in}).flip(1).permute({2, 1, 0}).reshape({in, 9 * out});
    at::Tensor dx = GemmNt(neighbours, turned).to(gradient.scalar_type());  // [T, in]
    CopyPrefix(gradient, *layout, dx);

    const at::Tensor products = GemmTn(neighbours, x).to(at::kFloat);  // [9 * out, in]
    const at::Tensor dw = products.view({9, out, in}).flip(0).transpose(0, 1).reshape(weight.sizes());
    return {dx, dw, at::Tensor(), at::Tensor()};
  }
};

// Computes ConvolveGrids on devices that GatherNeighbours does not support, with one library convolution per run of
// equal grids.
at::Tensor ConvolveRuns(const PackedTokens& x, const at::Tensor& weight, bool bf16) {
  const auto type = bf16 ? at::kBFloat16 : at::kFloat;
  const at::Tensor kernel = weight.to(type).permute({0, 3, 1, 2});
  const int64_t prefix = x.layout->prefix_tokens();
  const int64_t channels = x.data.size(1);
  std::vector<at::Tensor> outputs;
  for (const TokenLayout::Run& run : x.layout->runs()) {
    const at::Tensor tokens = x.data.narrow(0, run.first_token, run.images * run.tokens_per_image)
                                  .view({run.images, run.tokens_per_image, channels});
    const at::Tensor cells =
        tokens.narrow(1, prefix, run.grid.cells()).reshape({run.images, run.grid.rows, run.grid.columns, channels});
    const at::Tensor convolved =
        LibraryConvolution(cells.to(type).permute({0, 3, 1, 2}), kernel, {}, /*stride=*/1, /*padding=*/1)
            .to(at::kFloat)
            .permute({0, 2, 3, 1});
    outputs.push_back(at::cat({tokens.narrow(1, 0, prefix), convolved.reshape({run.images, run.grid.cells(), -1})}, 1)
                          .reshape({-1, channels}));
  }
  return JoinRuns(std::move(outputs), x.data.size(0));
}

}  // namespace

at::Tensor ConvolveGrids(const PackedTokens& x, const at::Tensor& weight, const ForwardContext& context) {
  if (context.library_only || !x.data.is_cpu()) return ConvolveRuns(x, weight, context.bf16);
  if (at::GradMode::is_enabled() && (x.data.requires_grad() || weight.requires_grad())) {
    return ConvolutionFunction::apply(x.data, weight, x.layout, context.bf16);
  }
  const auto type = context.bf16 ? at::kBFloat16 : at::kFloat;
  at::Tensor y = Convolve(x.data, weight.to(type), *x.layout).to(x.data.scalar_type());
  CopyPrefix(x.data, *x.layout, y);
  return y;
}

}  // namespace vitrine
