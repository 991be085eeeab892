// SPDX-License-Identifier: Apache-2.0
#include "models/reference/float_arrays.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vitrine {
namespace {

using ::testing::ElementsAre;

TEST(FloatArrays, HaveATensorsValuesRowByRow) {
  at::Tensor x = at::arange(6, at::kFloat).view({2, 3}).set_requires_grad(true);
  const FloatArray array = FloatsOf(x.t().to(at::kBFloat16));
  EXPECT_THAT(array.shape, ElementsAre(3, 2));
  EXPECT_THAT(array.values, ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(array[1], ElementsAre(1, 4));
}

TEST(FloatArrays, AreCopies) {
  at::Tensor x = at::arange(4, at::kFloat);
  const FloatArray array = FloatsOf(x);
  at::Tensor back = TensorOf(array);
  x.zero_();
  EXPECT_THAT(array.values, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ((back - at::arange(4, at::kFloat)).abs().max().item<float>(), 0);
  back.zero_();
  EXPECT_THAT(array.values, ElementsAre(0, 1, 2, 3));
}

TEST(FloatArrays, GiveNoTensorIfTheyAreEmpty) {
  EXPECT_FALSE(TensorOf({}).defined());
}

}  // namespace
}  // namespace vitrine
