// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/convolution/convolution_patches.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "models/reference/operators/cpu_kernels.h"
#include "models/reference/operators/gemm.h"
#include "models/reference/operators/patches.h"

namespace vitrine {
namespace {

// Gathers the 3x3 neighbourhood of the pixel at (row, column) of an image [C, H, W] in the order of the weights: [3, 3,
// C].
void GatherPixel(const float* pixels, int64_t channels, int64_t height, int64_t width, int64_t row, int64_t column,
                 float* out) {
  for (int64_t r = row - 1; r <= row + 1; ++r) {
    for (int64_t c = column - 1; c <= column + 1; ++c) {
      const bool inside = r >= 0 && r < height && c >= 0 && c < width;
      for (int64_t channel = 0; channel < channels; ++channel) {
        *out++ = inside ? pixels[(channel * height + r) * width + c] : 0;
      }
    }
  }
}

// Gathers the neighbourhoods of all pixels inside cells: [cells * pool * pool, 9 * C], cell by cell.
void GatherCells(const at::Tensor& image, Grid grid, int pool, float* out) {
  const int64_t size = 9 * image.size(0);
  const float* pixels = image.const_data_ptr<float>();
  for (int64_t row = 0; row < grid.rows; ++row) {
    for (int64_t column = 0; column < grid.columns; ++column) {
      for (int64_t p = 0; p < int64_t{pool} * pool; ++p, out += size) {
        GatherPixel(pixels, image.size(0), image.size(1), image.size(2), row * pool + p / pool,
                    column * pool + p % pool, out);
      }
    }
  }
}

struct Pooled {
  at::Tensor values;   // [cells, width]
  at::Tensor winners;  // [cells, width] uint8: index of the pixel with the cell's maximum
};

// Runs image by image, so that the convolution's output stays in the cache until it is pooled.
Pooled ConvolveAndPool(const ImageBatch& images, const at::Tensor& weight, const at::Tensor& bias, int pool) {
  const std::vector<Grid> grids = GridsOf(images, pool);
  int64_t cells = 0;
  for (const Grid& grid : grids) cells += grid.cells();
  const int64_t width = weight.size(0);
  const at::Tensor matrix = weight.view({width, -1});
  const cpu::KernelTable& kernels = CpuKernels();
  Pooled pooled{at::empty({cells, width}, at::kFloat), at::empty({cells, width}, at::kByte)};
  int64_t first = 0;
  for (size_t i = 0; i < images.size(); ++i) {
    const int64_t positions = int64_t{pool} * pool;
    at::Tensor neighbours = at::empty({grids[i].cells() * positions, matrix.size(1)}, at::kFloat);
    GatherCells(images[i].contiguous(), grids[i], pool, neighbours.data_ptr<float>());
    const at::Tensor convolved = GemmNt(neighbours, matrix, bias);
    const float* rows = convolved.const_data_ptr<float>();
    float* values = pooled.values.data_ptr<float>() + first * width;
    uint8_t* winners = pooled.winners.data_ptr<uint8_t>() + first * width;
    at::parallel_for(0, grids[i].cells(), 16, [&](int64_t begin, int64_t end) {
      for (int64_t cell = begin; cell < end; ++cell) {
        kernels.max_over_rows(rows + cell * positions * width, positions, width, values + cell * width,
                              winners + cell * width);
      }
    });
    first += grids[i].cells();
  }
  return pooled;
}

// Adds the gradient of the convolution's weights for one image to `sum`. In each cell and channel, only the pixel with
// the maximum (`winners`) contributes, because the pooling drops the others.
void AccumulateWeights(const float* neighbours, const float* gradient, const uint8_t* winners, int64_t cells,
                       int64_t positions, int64_t width, int64_t size, float* sum) {
  for (int64_t cell = 0; cell < cells; ++cell) {
    const float* pixels = neighbours + cell * positions * size;
    for (int64_t channel = 0; channel < width; ++channel) {
      const float g = gradient[cell * width + channel];
      const float* taps = pixels + winners[cell * width + channel] * size;
      float* row = sum + channel * size;
      for (int64_t k = 0; k < size; ++k) row[k] += g * taps[k];
    }
  }
}

struct ImagesHolder : torch::CustomClassHolder {
  explicit ImagesHolder(const ImageBatch& held) : images(held) {}
  const ImageBatch images;
};

class PoolFunction : public torch::autograd::Function<PoolFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& weight, const at::Tensor& bias,
                            const ImageBatch& images, int64_t pool) {
    const Pooled pooled = ConvolveAndPool(images, weight, bias, static_cast<int>(pool));
    context->save_for_backward({pooled.winners, weight});
    context->saved_data["images"] = at::IValue::make_capsule(c10::make_intrusive<ImagesHolder>(images));
    context->saved_data["pool"] = pool;
    return pooled.values;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const auto holder = c10::static_intrusive_pointer_cast<ImagesHolder>(context->saved_data["images"].toCapsule());
    const ImageBatch& images = holder->images;
    const int pool = static_cast<int>(context->saved_data["pool"].toInt());
    const std::vector<Grid> grids = GridsOf(images, pool);
    std::vector<int64_t> first{0};
    for (const Grid& grid : grids) first.push_back(first.back() + grid.cells());

    const at::Tensor gradient = gradients[0].contiguous();
    const int64_t width = saved[1].size(0);
    const int64_t size = saved[1].numel() / width;
    const int64_t positions = int64_t{pool} * pool;
    // The number of partial sums depends only on the number of images, not on the number of threads.
    const int64_t parts = std::min<int64_t>(8, static_cast<int64_t>(images.size()));
    at::Tensor sums = at::zeros({parts, width, size}, at::kFloat);
    at::parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
      std::vector<float> neighbours;
      for (int64_t part = begin; part < end; ++part) {
        for (size_t i = part; i < images.size(); i += parts) {
          neighbours.resize(grids[i].cells() * positions * size);
          GatherCells(images[i].contiguous(), grids[i], pool, neighbours.data());
          AccumulateWeights(neighbours.data(), gradient.const_data_ptr<float>() + first[i] * width,
                            saved[0].const_data_ptr<uint8_t>() + first[i] * width, grids[i].cells(), positions, width,
                            size, sums.data_ptr<float>() + part * width * size);
        }
      }
    });
    return {sums.sum(0).view(saved[1].sizes()), gradient.sum(0), at::Tensor(), at::Tensor()};
  }
};

// Computes ConvolveAndPool on devices without our own kernel.
at::Tensor ConvolveAndPoolWithLibrary(const ImageBatch& images, const at::Tensor& weight, const at::Tensor& bias,
                                      int pool) {
  std::vector<at::Tensor> outputs;
  for (const at::Tensor& image : images) {
    const at::Tensor convolved = at::conv2d(image.unsqueeze(0), weight.permute({0, 3, 1, 2}), bias, 1, 1);
    outputs.push_back(at::max_pool2d(convolved, {pool, pool})[0].flatten(1).t());  // [cells, width]
  }
  return at::cat(outputs);
}

}  // namespace

at::Tensor ConvolveAndPool(const ImageBatch& images, const at::Tensor& weight, const at::Tensor& bias, int pool,
                           const ForwardContext& context) {
  if (context.library_only || !images[0].is_cpu()) return ConvolveAndPoolWithLibrary(images, weight, bias, pool);
  if (at::GradMode::is_enabled() && (weight.requires_grad() || bias.requires_grad())) {
    return PoolFunction::apply(weight, bias, images, pool);
  }
  return ConvolveAndPool(images, weight, bias, pool).values;
}

}  // namespace vitrine
