// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/position_table.h"

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "tests/models/reference/images.h"

namespace vitrine {
namespace {

// Returns a class row of sevens, then a 4x4 grid with the value r^2 + 3c - r c^2 / 2 at (r, c).
at::Tensor Table() {
  at::Tensor table = at::Tensor(testing::Hashed({17, 1}, 1)).fill_(7);
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 4; ++c) table[1 + r * 4 + c][0] = r * r + 3 * c - 0.5 * r * c * c;
  }
  return table;
}

at::Tensor For(const at::Tensor& table, Grid grid) {
  const GridInterpolations interpolations({4, 4});
  return TableFor(table, {4, 4}, grid, 1, interpolations);
}

TEST(PositionTable, IsUnchangedOnItsOwnGrid) {
  EXPECT_EQ(testing::Difference(For(Table(), {4, 4}), Table()), 0);
}

// The expected values were computed from the definition in fp64: Keys' kernel with a = -0.5, widened when reducing,
// weights normalised at the borders, sample centres at (i + 0.5) * scale.
TEST(PositionTable, OtherGridsAreBicubicWithAntialiasing) {
  for (const auto& [grid, expected] : std::vector<std::pair<Grid, std::vector<float>>>{
           {{3, 2}, {1.778552F, 6.737542F, 3.667047F, 5.036881F, 8.848592F, 6.629272F}},
           {{2, 6},
            {0.425239F, 1.752309F, 3.703972F, 5.117195F, 6.366067F, 7.063669F, 5.964659F, 6.963053F, 7.940312F,
             7.527089F, 5.614001F, 4.023597F}},
           {{6, 5}, {-0.19702F, 1.895097F, 4.508224F,  7.174726F,  9.367188F, 0.173218F, 2.134285F, 4.330882F,
                     6.193408F, 7.526442F, 1.256544F,  3.010449F,  4.548611F, 5.140235F, 5.114717F, 3.270967F,
                     4.841924F, 5.798611F, 5.267881F,  4.042601F,  6.749717F, 8.113513F, 8.411765F, 6.610134F,
                     4.026301F, 9.265467F, 10.498211F, 10.379934F, 7.774326F, 4.331067F}},
       }) {
    const at::Tensor table = For(Table(), grid);
    ASSERT_EQ(table.size(0), 1 + grid.cells());
    EXPECT_EQ(table[0].item<float>(), 7) << "the class row moved";
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(table[1 + static_cast<int64_t>(i)].item<float>(), expected[i], 1e-5) << "cell " << i;
    }
  }
}

TEST(PositionTable, TheMatrixOfAGridIsCached) {
  const GridInterpolations interpolations({4, 4});
  const at::Tensor first = interpolations.To({3, 2}, at::kCPU);
  EXPECT_NE(interpolations.To({2, 3}, at::kCPU).data_ptr(), first.data_ptr());
  EXPECT_EQ(interpolations.To({3, 2}, at::kCPU).data_ptr(), first.data_ptr());
}

// Images of many shapes must not fill a device's memory: each grid of 4,096 cells needs a matrix of 3.2 MB.
TEST(PositionTable, TheCacheOfMatricesIsBounded) {
  const GridInterpolations interpolations({14, 14});
  const at::Tensor first = interpolations.To({64, 64}, at::kCPU);
  for (int columns = 1; columns < 20; ++columns) interpolations.To({60, 64 - columns}, at::kCPU);
  EXPECT_GT(interpolations.bytes(), 0);
  EXPECT_LE(interpolations.bytes(), GridInterpolations::kMostBytes);
  EXPECT_NE(interpolations.To({64, 64}, at::kCPU).data_ptr(), first.data_ptr()) << "it was used longest ago";
  const GridInterpolations large({40, 40});
  const at::Tensor largest = large.To({64, 64}, at::kCPU);
  EXPECT_EQ(large.To({64, 64}, at::kCPU).data_ptr(), largest.data_ptr()) << "one is kept whatever its size";
}

// For a grid of one column, LibTorch's interpolation wrongly gives every row the values of the first row. Our
// interpolation must not do this.
TEST(PositionTable, AGridOfOneColumnKeepsItsRows) {
  at::Tensor table = Table();
  for (int r = 0; r < 4; ++r) table.slice(0, 1 + r * 4, 1 + r * 4 + 4).fill_(r * r);  // equal values along each row
  const at::Tensor one = For(table, {5, 1}), two = For(table, {5, 2});
  for (int r = 0; r < 5; ++r) EXPECT_NEAR(one[1 + r].item<float>(), two[1 + 2 * r].item<float>(), 1e-5) << "row " << r;
  EXPECT_GT(one[5].item<float>(), one[1].item<float>() + 5);
}

TEST(PositionTable, GradientsReachTheTable) {
  const at::Tensor table = Table().set_requires_grad(true);
  For(table, {3, 2}).sum().backward();
  const at::Tensor& gradient = table.grad();
  EXPECT_EQ(gradient[0].item<float>(), 1);
  EXPECT_NEAR(gradient.sum().item<float>(), 7, 1e-5) << "each of the 6 cells is a mean, the class row a copy";
}

}  // namespace
}  // namespace vitrine
