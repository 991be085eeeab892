// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/steps/steps.h"

namespace vitrine::engine {
namespace {

class Patchify : public Step {
 public:
  Patchify(int patch, Operand y) : patch_(patch), y_(y) { writes = y; }

  StepCost CostOn(const Frame& frame) const override { return {.outside_floats = frame.pixels()}; }

  void Run(const Frame& frame) const override {
    for (int image = 0; image < frame.images(); ++image) {
      const Picture& picture = frame.pictures()[static_cast<size_t>(image)];
      const Grid grid = frame.grid(image);
      const View<float> y = frame.Of(y_, image);
      const int64_t plane = int64_t{picture.height} * picture.width;
      const Segment share = frame.Share(grid.cells());
      for (int64_t cell = share.first; cell < share.first + share.count; ++cell) {
        const int64_t top = cell / grid.columns * patch_, left = cell % grid.columns * patch_;
        float* out = y.Row(cell);
        for (int row = 0; row < patch_; ++row) {
          const float* const line = picture.data + (top + row) * picture.width + left;
          for (int column = 0; column < patch_; ++column) {
            for (int c = 0; c < picture.channels; ++c) *out++ = line[c * plane + column];
          }
        }
      }
    }
  }

 private:
  const int patch_;
  const Operand y_;
};

}  // namespace

StepPtr MakePatchify(int patch, Operand y) {
  return std::make_unique<Patchify>(patch, y);
}

}  // namespace vitrine::engine
