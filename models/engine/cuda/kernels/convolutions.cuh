// SPDX-License-Identifier: Apache-2.0
// Plain kernels that read pixels, or neighbours in the grid.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_CONVOLUTIONS_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_CONVOLUTIONS_CUH_

#include "models/engine/cuda/kernels/batch.cuh"
#include "models/engine/cuda/kernels/numbers.cuh"

namespace vitrine::cuda {

VITRINE_KERNEL(vitrine_patchify, PatchifyArguments) {
  const Images images(arguments.batch);
  const Global<const float> pixels(arguments.pixels);
  const int channels = arguments.channels, patch = arguments.patch;
  ForElements(images.Rows(RowsOf::kCells), arguments.y.columns, [&](int row, int column) {
    const int image = images.ImageOf(RowsOf::kCells, row), cell = row - images.FirstCell(image);
    const ImageRows of = images.Of(image);
    const int channel = column % channels, place = column / channels;
    const int64_t y = int64_t{cell / of.grid_columns} * patch + place / patch;
    const int64_t x = int64_t{cell % of.grid_columns} * patch + place % patch;
    RowOf(arguments.y, row)[column] = pixels[of.first_pixel + (channel * int64_t{of.height} + y) * of.width + x];
  });
}

// The input of an image. The index of the value at (row, column, channel) is first + row * of_row + column * of_column
// + channel * of_channel.
struct MapView {
  int64_t first, of_row, of_column, of_channel;
  int height, width;
};
VITRINE_DEVICE MapView ViewOf(const ConvolveArguments& arguments, const ImageRows& image, int index) {
  const int cut = arguments.cut;
  if (arguments.from == nullptr) {
    return {image.first_pixel,      image.width, 1, int64_t{image.height} * image.width, image.height / cut * cut,
            image.width / cut * cut};
  }
  const MapRows rows = Global<const MapRows>(arguments.from)[index];
  return {rows.first * arguments.channels,
          int64_t{rows.width} * arguments.channels,
          arguments.channels,
          1,
          rows.height / cut * cut,
          rows.width / cut * cut};
}

VITRINE_DEVICE float Convolved(const ConvolveArguments& arguments, const MapView& from, int y, int x, int output) {
  const Global<const float> numbers(arguments.x), weights(arguments.weights), bias(arguments.bias);
  float sum = arguments.narrow ? 0.0F : bias[output];
  int64_t weight = output;
  for (int ky = 0; ky < arguments.kernel; ++ky) {
    for (int kx = 0; kx < arguments.kernel; ++kx) {
      const int row = y * arguments.stride + ky - arguments.padding;
      const int column = x * arguments.stride + kx - arguments.padding;
      const bool inside = row >= 0 && row < from.height && column >= 0 && column < from.width;
      for (int c = 0; c < arguments.channels; ++c, weight += arguments.outputs) {
        float value = 0;
        if (inside) value = numbers[from.first + row * from.of_row + column * from.of_column + c * from.of_channel];
        sum = Fma(arguments.narrow ? RoundToBf16(value) : value, weights[weight], sum);
      }
    }
  }
  if (arguments.narrow) sum += bias[output];
  return Activated(sum, arguments.activation, arguments.narrow);
}

VITRINE_KERNEL(vitrine_convolve, ConvolveArguments) {
  const Images images(arguments.batch);
  const Global<const MapRows> to(arguments.to);
  const Global<float> y(arguments.y);
  const MapRows end = to[images.count()];
  const int outputs = arguments.outputs, pool = arguments.pool > 0 ? arguments.pool : 1;
  ForOutputs(end.first * outputs, [&](int64_t i) {
    const int64_t place = i / outputs;
    const int output = static_cast<int>(i % outputs);
    int image = 0;
    for (MapRows next = to[1]; next.first <= place; next = to[image + 1]) ++image;
    const MapRows rows = to[image];
    const int row = static_cast<int>((place - rows.first) / rows.width);
    const int column = static_cast<int>((place - rows.first) % rows.width);
    const MapView from = ViewOf(arguments, images.Of(image), image);
    float largest = Convolved(arguments, from, row * pool, column * pool, output);
    for (int j = 1; j < pool * pool; ++j) {
      const float value = Convolved(arguments, from, row * pool + j / pool, column * pool + j % pool, output);
      if (value > largest || value != value) largest = value;
    }
    y[place * arguments.y_stride + output] = arguments.rounds ? RoundToBf16(largest) : largest;
  });
}

VITRINE_KERNEL(vitrine_depthwise, DepthwiseArguments) {
  const Images images(arguments.batch);
  const Global<const float> weights(arguments.weights), bias(arguments.bias), scale(arguments.scale),
      shift(arguments.shift);
  const int channels = arguments.x.columns;
  ForElements(images.Rows(RowsOf::kCells), channels, [&](int place, int channel) {
    const int image = images.ImageOf(RowsOf::kCells, place), cell = place - images.FirstCell(image);
    const ImageRows of = images.Of(image);
    const int first = images.RowOfCell(arguments.x.rows, image, 0);
    float sum = bias[channel];
    for (int k = 0; k < 9; ++k) {
      const int row = cell / of.grid_columns + k / 3 - 1, column = cell % of.grid_columns + k % 3 - 1;
      const bool inside = row >= 0 && row < of.grid_rows && column >= 0 && column < of.grid_columns;
      float value = 0;
      if (inside) value = RowOf(arguments.x, first + row * of.grid_columns + column)[channel];
      sum = Fma(value, weights[k * channels + channel], sum);
    }
    if (arguments.scale != nullptr) {
      sum = Fma(Activated(sum, Activation::kGelu, arguments.narrow), scale[channel], shift[channel]);
    }
    if (arguments.residual.data != nullptr) {
      sum = RowOf(arguments.residual, images.RowOfCell(arguments.residual.rows, image, cell))[channel] + sum;
    }
    RowOf(arguments.y, images.RowOfCell(arguments.y.rows, image, cell))[channel] = sum;
  });
}

VITRINE_KERNEL(vitrine_gather_neighbours, GatherArguments) {
  const Images images(arguments.batch);
  const int channels = arguments.x.columns;
  ForElements(images.Rows(RowsOf::kCells), 9 * channels, [&](int place, int to) {
    const int image = images.ImageOf(RowsOf::kCells, place), cell = place - images.FirstCell(image);
    const ImageRows of = images.Of(image);
    const int k = to / channels;
    const int row = cell / of.grid_columns + k / 3 - 1, column = cell % of.grid_columns + k % 3 - 1;
    float value = 0;
    if (row >= 0 && row < of.grid_rows && column >= 0 && column < of.grid_columns) {
      value =
          RowOf(arguments.x, images.RowOfCell(arguments.x.rows, image, row * of.grid_columns + column))[to % channels];
    }
    RowOf(arguments.y, place)[to] = value;
  });
}

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_CONVOLUTIONS_CUH_
