// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/launches/stem.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "models/engine/cuda/kernels/fast/shapes.h"
#include "models/engine/cuda/launches/packed_convolution.h"

namespace vitrine::cuda {
namespace {

bool SuitsFast(const engine::StemStep& step, const Matrix& cells) {
  const bool is_aligned = cells.stride % 2 == 0 && step.y.first % 2 == 0;  // two outputs are written at once
  if (!is_aligned || step.layers[0].matrix.precision != Precision::kBf16) return false;
  return std::all_of(step.layers.begin(), step.layers.end(), [](const engine::StemConvolution& layer) {
    return layer.convolve.pool == 0 && layer.convolve.kernel < kNoTapRow && layer.matrix.outputs % kNeighbours == 0;
  });
}

class StemMaker {
 public:
  StemMaker(const engine::StemStep& step, const std::string& name, StepMemory& memory)
      : step_(step),
        name_(name),
        memory_(memory),
        cells_(memory.At(step.y)),
        narrow_(step.layers[0].matrix.precision == Precision::kBf16),
        fast_(SuitsFast(step, cells_)) {}

  StemLaunches Make() {
    PlanMaps();
    for (size_t i = 0; i < step_.layers.size(); ++i) {
      made_.layers.push_back({.convolve = step_.layers[i].convolve,
                              .places = memory_.Hold<MapRows>(memory_.limits().images + 1),
                              .most_places = most_[i]});
      made_.launches.push_back(fast_ ? Fast(i) : Plain(i));
    }
    return std::move(made_);
  }

 private:
  bool IsLast(size_t i) const { return i + 1 == step_.layers.size(); }
  static int ChannelsOf(const engine::StemConvolution& layer) {
    return static_cast<int>(layer.matrix.inputs) / (layer.convolve.kernel * layer.convolve.kernel);
  }

  // Allocates two maps, used in turns: a layer reads the map that the previous layer has written.
  void PlanMaps() {
    std::vector<program::Convolve> convolutions;
    for (const engine::StemConvolution& layer : step_.layers) convolutions.push_back(layer.convolve);
    most_ = MostPlaces(convolutions, ChannelsOf(step_.layers[0]), memory_.lowered().cell, memory_.limits());
    most_.back() = memory_.limits().cells;
    std::array<int64_t, 2> bytes = {};
    for (size_t i = 0; !IsLast(i); ++i) {
      const int64_t size = fast_ ? sizeof(uint16_t) : sizeof(float);
      bytes[i % 2] = std::max(bytes[i % 2], most_[i] * step_.layers[i].matrix.outputs * size);
    }
    for (size_t i = 0; i < 2; ++i) maps_[i] = memory_.Scratch<std::byte>(bytes[i]);
  }

  ConvolveArguments Arguments(size_t i) const {
    const engine::StemConvolution& layer = step_.layers[i];
    const auto outputs = static_cast<int>(layer.matrix.outputs);
    return {.batch = memory_.batch(),
            .x = i == 0 ? memory_.pixels() : reinterpret_cast<const float*>(maps_[(i + 1) % 2]),
            .from = i == 0 ? nullptr : made_.layers[i - 1].places,
            .to = made_.layers[i].places,
            .y = IsLast(i) ? cells_.data : reinterpret_cast<float*>(maps_[i % 2]),
            .y_stride = IsLast(i) ? cells_.stride : outputs,
            .weights = nullptr,
            .bias = nullptr,
            .channels = ChannelsOf(layer),
            .outputs = outputs,
            .kernel = layer.convolve.kernel,
            .stride = layer.convolve.stride,
            .padding = layer.convolve.padding,
            .pool = layer.convolve.pool,
            .cut = std::max(1, layer.convolve.cut),
            .activation = layer.activation,
            .narrow = narrow_,
            .rounds = narrow_ && !IsLast(i)};
  }

  Launch Plain(size_t i) {
    const DeviceMatrix matrix = memory_.Find(step_.layers[i].matrix, MatrixLayout::kFloatsByInputs);
    ConvolveArguments arguments = Arguments(i);
    arguments.weights = matrix.fp32;
    arguments.bias = matrix.bias;
    return MakeLaunch(name_, "vitrine_convolve", arguments);
  }

  Launch Fast(size_t i) {
    FastConvolveArguments arguments = {.layer = Arguments(i),
                                       .x = i == 0 ? nullptr : reinterpret_cast<const uint16_t*>(maps_[(i + 1) % 2]),
                                       .y = IsLast(i) ? nullptr : reinterpret_cast<uint16_t*>(maps_[i % 2]),
                                       .weights = nullptr,
                                       .taps = nullptr,
                                       .steps = 0};
    if (!memory_.measures()) {
      const engine::LinearWeights weights = step_.layers[i].matrix.weights();
      const PackedConvolution packed(weights, arguments.layer.kernel, arguments.layer.channels, i == 0);
      arguments.layer.bias = memory_.Copy(weights.bias);
      arguments.weights = memory_.Copy(packed.weights);
      arguments.taps = memory_.Copy(packed.taps);
      arguments.steps = packed.steps;
    }
    Launch launch = MakeLaunch(name_, KernelOf(arguments), arguments);
    launch.shared_bytes = kGeluTableBytes;
    return launch;
  }

  const engine::StemStep& step_;
  const std::string& name_;
  StepMemory& memory_;
  const Matrix cells_;
  const bool narrow_, fast_;
  std::vector<int64_t> most_;  // maximum number of positions in the result of each layer
  std::array<std::byte*, 2> maps_ = {};
  StemLaunches made_;
};

}  // namespace

// Along an image side of n pixels, the result of a layer has at most n / `side` + `over` positions. The loop computes
// `side` and `over` for each layer.
std::vector<int64_t> MostPlaces(std::span<const program::Convolve> layers, int channels, int cell,
                                const BatchLimits& limits) {
  const double pixels = static_cast<double>(limits.pixels) / channels, shortest = std::max(1, cell);
  std::vector<int64_t> most;
  double side = 1, over = 0;
  for (const program::Convolve& layer : layers) {
    const int pool = std::max(1, layer.pool), step = layer.stride * pool;
    over = (over + std::max(0, 2 * layer.padding - layer.kernel + layer.stride)) / step;
    side *= step;
    // Upper bound of the sum of (a / side + over) * (b / side + over) over all images, where an image has a x b pixels.
    // Uses a + b <= a * b / shortest + shortest.
    const double sums = pixels / shortest + shortest * limits.images;
    const double places = pixels / (side * side) + over / side * sums + over * over * limits.images;
    most.push_back(static_cast<int64_t>(std::ceil(places)));
  }
  return most;
}

StemLaunches MakeStem(const engine::StemStep& step, const std::string& name, StepMemory& memory) {
  return StemMaker(step, name, memory).Make();
}

}  // namespace vitrine::cuda
