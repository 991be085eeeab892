// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/report/code_geometry.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <vector>

namespace vitrine {
namespace {

void ExpectValues(const at::Tensor& tensor, const std::vector<float>& values) {
  ASSERT_EQ(tensor.numel(), static_cast<int64_t>(values.size()));
  const at::Tensor flat = tensor.flatten();
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(flat[static_cast<int64_t>(i)].item<float>(), values[i], 1e-6) << i;
  }
}

TEST(CodeGeometry, IsCosinesAndNorms) {
  const at::Tensor codes = at::zeros({3, 2});
  const float values[] = {3, 4, 4, -3, -6, -8};
  for (int i = 0; i < 6; ++i) codes[i / 2][i % 2] = values[i];
  const CodeGeometry geometry = GeometryOf(codes);
  ExpectValues(geometry.norms, {5, 5, 10});
  ExpectValues(geometry.cosines, {1, 0, -1, 0, 1, 0, -1, 0, 1});
}

}  // namespace
}  // namespace vitrine
