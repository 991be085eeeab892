// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/launches/packed_convolution.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "common/simd/bf16.h"
#include "models/engine/cuda/kernels/fast/shapes.h"

namespace vitrine::cuda {
namespace {

// Returns the number of outputs that a warp computes.
int GroupOf(int outputs) {
  for (const int group : {32, 24}) {
    if (outputs % group == 0) return group;
  }
  return 16;
}

// Returns the output whose weights are in row `row` of the packed weights. Lane q of four adjacent lanes holds columns
// 2 q and 2 q + 1 of every tile. With this order, the outputs of a lane are neighbours.
int OutputOf(int row, int group) {
  const int tile = row % group / kNeighbours, column = row % kNeighbours, of_lane = group / 4;
  return row / group * group + column / 2 * of_lane + 2 * tile + column % 2;
}

}  // namespace

PackedConvolution::PackedConvolution(const engine::LinearWeights& from, int kernel, int channels, bool of_pixels) {
  const auto inputs = static_cast<int>(from.inputs()), outputs = static_cast<int>(from.outputs());
  steps = (inputs + kStepInputs - 1) / kStepInputs;
  for (int i = 0; i < steps * kStepInputs; i += of_pixels ? 1 : kNeighbours) {
    const int place = i / channels;
    taps.push_back(i < inputs ? TapOf(place / kernel, place % kernel, i % channels) : TapOf(kNoTapRow, 0, 0));
  }
  const int group = GroupOf(outputs), rows = (outputs + group - 1) / group * group;
  for (int step = 0; step < steps; ++step) {
    for (int row = 0; row < rows; ++row) {
      const int output = OutputOf(row, group);
      for (int i = step * kStepInputs; i < (step + 1) * kStepInputs; ++i) {
        const bool exists = output < outputs && i < inputs;
        const float weight =
            exists ? from.weight[static_cast<size_t>(output) * static_cast<size_t>(inputs) + static_cast<size_t>(i)]
                   : 0;
        weights.push_back(static_cast<uint16_t>(cpu::ToBf16(weight)));
      }
    }
  }
}

std::string KernelOf(const FastConvolveArguments& arguments) {
  return absl::StrCat("vitrine_convolve_", arguments.x == nullptr ? "pixels_" : "maps_",
                      GroupOf(arguments.layer.outputs));
}

}  // namespace vitrine::cuda
