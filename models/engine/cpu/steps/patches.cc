// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu/steps/steps.h"

namespace vitrine::engine {
namespace {

class Patchify : public StepOf<PatchifyStep> {
 public:
  using StepOf::StepOf;

  StepCost CostOn(const Frame& frame) const override { return {.outside_floats = frame.pixels()}; }

  void Run(const Frame& frame) const override {
    for (int image = 0; image < frame.images(); ++image) {
      const ImagePlanes& planes = frame.inputs()[static_cast<size_t>(image)];
      const Grid grid = frame.grid(image);
      const View<float> y = frame.Of(step_.y, image);
      const Segment share = frame.Share(grid.cells());
      for (int64_t cell = share.first; cell < share.first + share.count; ++cell) {
        const int64_t top = cell / grid.columns * step_.patch, left = cell % grid.columns * step_.patch;
        const float* const corner = planes.data + top * planes.width + left;
        const bool is_last = top + 2 * step_.patch > planes.height;
        const int64_t below = is_last ? 0 : int64_t{step_.patch} * planes.width;
        planes.channels == 3 ? Take<3>(planes, corner, below, y.Row(cell))
                             : Take<0>(planes, corner, below, y.Row(cell));
      }
    }
  }

 private:
  // Copies a patch pixel by pixel. `kChannels` is the number of channels if it is known at compile time, else 0. Also
  // prefetches the patch that is `below` floats ahead, one cache line per channel and row: the rows of a patch are too
  // far apart for the hardware prefetcher.
  template <int kChannels>
  void Take(const ImagePlanes& planes, const float* corner, int64_t below, float* __restrict out) const {
    const int64_t plane = int64_t{planes.height} * planes.width;
    const int channels = kChannels > 0 ? kChannels : planes.channels;
    for (int row = 0; row < step_.patch; ++row, out += step_.patch * channels) {
      const float* const line = corner + int64_t{row} * planes.width;
      for (int c = 0; c < channels; ++c) __builtin_prefetch(line + c * plane + below);
      for (int column = 0; column < step_.patch; ++column) {
        for (int c = 0; c < channels; ++c) out[column * channels + c] = line[c * plane + column];
      }
    }
  }
};

}  // namespace

StepPtr MakePatchify(const PatchifyStep& step) {
  return std::make_unique<Patchify>(step);
}

}  // namespace vitrine::engine
