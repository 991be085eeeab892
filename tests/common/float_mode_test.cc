// SPDX-License-Identifier: Apache-2.0
#include "common/simd/float_mode.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <limits>

namespace vitrine::cpu {
namespace {

#if defined(__x86_64__)

constexpr float kSmallest = std::numeric_limits<float>::min();

// Returns x * y. The product is volatile, so that the compiler does not compute it.
float Product(float x, float y) {
  const volatile float a = x, b = y;
  const volatile float product = a * b;
  return product;
}

TEST(FloatMode, DenormalResultsAreZero) {
  ASSERT_GT(Product(kSmallest, 0.5F), 0.0F);
  {
    const FloatMode mode;
    EXPECT_EQ(Product(kSmallest, 0.5F), 0.0F);
    EXPECT_EQ(Product(kSmallest, 1.0F), kSmallest);
  }
  EXPECT_GT(Product(kSmallest, 0.5F), 0.0F);
}

TEST(FloatMode, DenormalOperandsAreZero) {
  const float denormal = kSmallest / 2;
  ASSERT_EQ(Product(denormal, 4.0F), 2 * kSmallest);
  const FloatMode mode;
  EXPECT_EQ(Product(denormal, 4.0F), 0.0F);
}

TEST(FloatMode, RoundsToNearestForAnyEarlierMode) {
  const float nearest = Product(1.1F, 1.1F);
  std::fesetround(FE_UPWARD);
  const float upward = Product(1.1F, 1.1F);
  float inside = 0;
  {
    const FloatMode mode;
    inside = Product(1.1F, 1.1F);
  }
  const float after = Product(1.1F, 1.1F);
  std::fesetround(FE_TONEAREST);
  ASSERT_NE(upward, nearest);
  EXPECT_EQ(inside, nearest);
  EXPECT_EQ(after, upward);
}

TEST(FloatMode, RestoresTheEarlierMode) {
  const unsigned before = _mm_getcsr();
  for (const unsigned flush : {0U, unsigned{_MM_FLUSH_ZERO_ON}}) {
    for (const unsigned rounding : {_MM_ROUND_NEAREST, _MM_ROUND_DOWN}) {
      const unsigned set = _MM_MASK_MASK | flush | rounding;
      _mm_setcsr(set);
      {
        const FloatMode mode;
        static_cast<void>(Product(kSmallest, 0.5F));
      }
      const unsigned after = _mm_getcsr();
      _mm_setcsr(before);
      EXPECT_EQ(after, set);
    }
  }
}

#endif

}  // namespace
}  // namespace vitrine::cpu
