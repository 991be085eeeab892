// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "models/engine/cpu/steps/steps.h"
#include "models/kept_for_grids.h"

namespace vitrine::engine {
namespace {

constexpr int64_t kMostBytes = int64_t{4} << 20;  // byte limit of the cache of position rows

class AddPositions : public StepOf<AddPositionsStep> {
 public:
  using StepOf::StepOf;
  void Run(const Frame& frame) const override {
    for (int image = 0; image < frame.images(); ++image) {
      const Grid grid = frame.grid(image);
      const Rows rows = rows_->For(grid, [&] {
        auto made = std::make_shared<const std::vector<float>>(step_.rows(grid));
        const int64_t bytes = std::ssize(*made) * int64_t{sizeof(float)};
        return std::pair(Rows(std::move(made)), bytes);
      });
      const View<float> x = frame.Of(step_.x, image);
      const View<const float> positions{rows->data(), x.rows, x.columns, x.columns};
      frame.kernels().add(frame.ShareOf(x), frame.ShareOf(positions), frame.ShareOf(frame.Of(step_.y, image)));
    }
  }

 private:
  using Rows = std::shared_ptr<const std::vector<float>>;

  const std::unique_ptr<GridCache<Rows>> rows_ = std::make_unique<GridCache<Rows>>(kMostBytes);
};

}  // namespace

StepPtr MakeAddPositions(const AddPositionsStep& step) {
  return std::make_unique<AddPositions>(step);
}

}  // namespace vitrine::engine
