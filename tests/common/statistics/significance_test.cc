// SPDX-License-Identifier: Apache-2.0
#include "common/statistics/significance.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

TEST(PText, HasFourDigitsOrAPowerOfTen) {
  EXPECT_EQ(PText(0.05), "0.0500");
  EXPECT_EQ(PText(1e-4), "0.0001");
  EXPECT_EQ(PText(0.99e-4), "9.9e-05");
}

}  // namespace
}  // namespace vitrine
