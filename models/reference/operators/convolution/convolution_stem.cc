// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/convolution/convolution_stem.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>

#include "models/reference/operators/cpu_kernels.h"
#include "models/reference/operators/elementwise.h"
#include "models/reference/operators/library_bf16.h"
#include "models/reference/operators/patches.h"

namespace vitrine {
namespace {

// Computes a 3x3 convolution of stride 2. Input and output are channels-last in memory, so that each pixel is a row.
at::Tensor Convolve(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, bool bf16,
                    at::ScalarType result = at::kFloat) {
  const auto type = bf16 ? at::kBFloat16 : at::kFloat;
  const at::Tensor kernel = weight.to(type).contiguous(at::MemoryFormat::ChannelsLast);
  return LibraryConvolution(x.to(type), kernel, bias.defined() ? bias.to(type) : bias, /*stride=*/2, /*padding=*/1)
      .to(result);
}

// Converts [images, channels, rows, columns] to [pixels, channels].
at::Tensor PixelsOf(const at::Tensor& map) {
  return map.permute({0, 2, 3, 1}).reshape({-1, map.size(1)});
}

at::Tensor MapOf(const at::Tensor& pixels, const at::Tensor& like) {
  return pixels.view({like.size(0), like.size(2), like.size(3), like.size(1)}).permute({0, 3, 1, 2});
}

at::Tensor Join(const std::vector<at::Tensor>& tensors) {
  return tensors.size() == 1 ? tensors[0] : at::cat(tensors);
}

}  // namespace

Maps RunsOf(const ImageBatch& images, int cell) {
  const auto layout = TokenLayout::Make(GridsOf(images, cell), /*prefix_tokens=*/0);
  Maps runs;
  for (const TokenLayout::Run& run : layout->runs()) {
    std::vector<at::Tensor> cut;
    for (int i = 0; i < run.images; ++i) {
      cut.push_back(images[run.first_image + i]
                        .narrow(1, 0, int64_t{run.grid.rows} * cell)
                        .narrow(2, 0, int64_t{run.grid.columns} * cell));
    }
    runs.push_back(at::stack(cut));
  }
  return runs;
}

namespace {

// Computes the statistics over the whole batch, including images of different sizes.
Maps ConvolveInTraining(const Maps& maps, const at::Tensor& weight, const BatchNormTensors& norm, bool gelu,
                        const ForwardContext& context) {
  Maps convolved;
  std::vector<at::Tensor> pixels;
  for (const at::Tensor& map : maps) {
    convolved.push_back(Convolve(map, weight, {}, context.bf16, gelu ? OperandType(map, context) : at::kFloat));
    pixels.push_back(PixelsOf(convolved.back()));
  }
  const at::Tensor normalized =
      gelu ? NormalizeBatchGelu(Join(pixels), norm, context) : NormalizeBatch(Join(pixels), norm, context);
  int64_t first = 0;
  for (at::Tensor& map : convolved) {
    const int64_t count = map.numel() / map.size(1);
    map = MapOf(normalized.narrow(0, first, count), map);
    first += count;
  }
  return convolved;
}

}  // namespace

Maps ConvolveAndNormalize(const Maps& maps, const at::Tensor& weight, const BatchNormTensors& norm, bool gelu,
                          const ForwardContext& context) {
  if (context.training) return ConvolveInTraining(maps, weight, norm, gelu, context);
  // Folds BatchNorm into the convolution's weights and bias.
  const at::Tensor folded = weight * norm.Scale().view({-1, 1, 1, 1});
  const at::Tensor shift = norm.Shift();
  Maps convolved;
  for (const at::Tensor& map : maps) {
    convolved.push_back(Convolve(map, folded, shift, context.bf16));
    if (gelu) convolved.back() = MapOf(Gelu(PixelsOf(convolved.back()), context), convolved.back());
  }
  return convolved;
}

at::Tensor PixelsOfAll(const Maps& maps) {
  std::vector<at::Tensor> cells;
  for (const at::Tensor& map : maps) cells.push_back(PixelsOf(map));
  return Join(cells);
}

}  // namespace vitrine
