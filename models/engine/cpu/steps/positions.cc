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

class AddPositions : public Step {
 public:
  AddPositions(Operand x, Operand y, PositionRows rows)
      : x_(x), y_(y), make_(std::move(rows)), rows_(std::make_unique<GridCache<Rows>>(kMostBytes)) {}
  void Run(const Frame& frame) const override {
    for (int image = 0; image < frame.images(); ++image) {
      const Grid grid = frame.grid(image);
      const Rows rows = rows_->For(grid, [&] {
        auto made = std::make_shared<const std::vector<float>>(make_(grid));
        const int64_t bytes = std::ssize(*made) * int64_t{sizeof(float)};
        return std::pair(Rows(std::move(made)), bytes);
      });
      const View<float> x = frame.Of(x_, image);
      const View<const float> positions{rows->data(), x.rows, x.columns, x.columns};
      frame.kernels().add(frame.ShareOf(x), frame.ShareOf(positions), frame.ShareOf(frame.Of(y_, image)));
    }
  }

 private:
  using Rows = std::shared_ptr<const std::vector<float>>;

  const Operand x_, y_;
  const PositionRows make_;
  const std::unique_ptr<GridCache<Rows>> rows_;
};

}  // namespace

StepPtr MakeAddPositions(Operand x, Operand y, PositionRows rows) {
  return std::make_unique<AddPositions>(x, y, std::move(rows));
}

}  // namespace vitrine::engine
