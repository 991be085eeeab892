// SPDX-License-Identifier: Apache-2.0
#include "models/layers/convolution_stem.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/stack.h>

#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/layers/cpu_kernels.h"
#include "models/layers/patches.h"

namespace vitrine {
namespace {

// Channels last in memory, in and out, so that pixels are rows.
at::Tensor Convolve(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, bool bf16,
                    at::ScalarType result = at::kFloat) {
  const auto type = bf16 ? at::kBFloat16 : at::kFloat;
  const at::Tensor kernel = weight.to(type).contiguous(at::MemoryFormat::ChannelsLast);
  return at::conv2d(x.to(type), kernel, bias.defined() ? std::optional(bias.to(type)) : std::nullopt, /*stride=*/2,
                    /*padding=*/1)
      .to(result);
}

// [images, channels, rows, columns] -> [pixels, channels].
at::Tensor PixelsOf(const at::Tensor& map) {
  return map.permute({0, 2, 3, 1}).reshape({-1, map.size(1)});
}

at::Tensor MapOf(const at::Tensor& pixels, const at::Tensor& like) {
  return pixels.view({like.size(0), like.size(2), like.size(3), like.size(1)}).permute({0, 3, 1, 2});
}

at::Tensor Gelu(const at::Tensor& map, const ForwardContext& context) {
  const cpu::KernelTable* kernels = KernelsFor(map, context);
  if (kernels == nullptr || !map.is_non_overlapping_and_dense()) return at::gelu(map);
  at::Tensor y = at::empty_like(map);  // values in the order of the map's
  const float* from = map.const_data_ptr<float>();
  float* to = y.data_ptr<float>();
  at::parallel_for(0, map.numel(), 1 << 14,
                   [&](int64_t begin, int64_t end) { kernels->gelu(from + begin, to + begin, end - begin); });
  return y;
}

at::Tensor Join(const std::vector<at::Tensor>& tensors) {
  return tensors.size() == 1 ? tensors[0] : at::cat(tensors);
}

}  // namespace

ConvolutionStem::ConvolutionStem(int channels, int patch, int width, Initializer& initializer) : patch_(patch) {
  const int steps = patch == 16 ? 4 : 3;
  weights_.resize(steps);  // NOTE: the registrations below point at its elements
  int inputs = channels;
  for (int i = 0; i < steps; ++i) {
    const int outputs = width >> (steps - 1 - i);
    // Kaiming uniform with a = sqrt 5, PyTorch's default: within 1 / sqrt(fan in).
    RegisterParameter(absl::StrCat("convolutions.", i, ".weight"), weights_[i],
                      initializer.Uniform({outputs, inputs, 3, 3}, 1 / std::sqrt(9.0 * inputs)));
    norms_.push_back(std::make_unique<BatchNorm>(outputs, initializer));
    RegisterChild(absl::StrCat("norms.", i), *norms_.back());
    inputs = outputs;
  }
}

at::Tensor ConvolutionStem::Forward(const ImageBatch& images, const ForwardContext& context) const {
  Maps maps = RunsOf(images, patch_);
  for (size_t step = 0; step < weights_.size(); ++step) {
    maps = ConvolveAndNormalize(maps, weights_[step], norms_[step]->tensors(), step + 1 < weights_.size(), context);
  }
  return PixelsOfAll(maps);
}

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

// The statistics are those of the whole batch, all sizes together.
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
  // BatchNorm is a factor and a bias of the convolution.
  const at::Tensor folded = weight * norm.Scale().view({-1, 1, 1, 1});
  const at::Tensor shift = norm.Shift();
  Maps convolved;
  for (const at::Tensor& map : maps) {
    convolved.push_back(Convolve(map, folded, shift, context.bf16));
    if (gelu) convolved.back() = Gelu(convolved.back(), context);
  }
  return convolved;
}

at::Tensor PixelsOfAll(const Maps& maps) {
  std::vector<at::Tensor> cells;
  for (const at::Tensor& map : maps) cells.push_back(PixelsOf(map));
  return Join(cells);
}

}  // namespace vitrine
