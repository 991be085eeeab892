// SPDX-License-Identifier: Apache-2.0
#include "server/serve/execution/attention_encoding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace vitrine {
namespace {

// Returns the value of the bits of a binary16 number, as the format defines it.
double FromHalf(uint16_t bits) {
  const int sign = bits >> 15, exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  double value = exponent == 0    ? std::ldexp(mantissa, -24)
                 : exponent == 31 ? (mantissa == 0 ? INFINITY : NAN)
                                  : std::ldexp(1024 + mantissa, exponent - 25);
  return sign != 0 ? -value : value;
}

TEST(ToHalf, KeepsEveryHalf) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double value = FromHalf(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(ToHalf(static_cast<float>(value)), bits) << value;
  }
}

TEST(ToHalf, RoundsToTheNearestAndTiesToEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const double low = FromHalf(static_cast<uint16_t>(bits)), high = FromHalf(static_cast<uint16_t>(bits + 1));
    const float middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(ToHalf(middle), bits % 2 == 0 ? bits : bits + 1) << middle;
    ASSERT_EQ(ToHalf(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(ToHalf(std::nextafter(middle, 1e9f)), bits + 1);
  }
}

TEST(ToHalf, OverflowsToInfinityAndKeepsNan) {
  EXPECT_EQ(ToHalf(65519), 0x7bff);
  EXPECT_EQ(ToHalf(65520), 0x7c00);
  EXPECT_EQ(ToHalf(-1e30f), 0xfc00);
  EXPECT_EQ(ToHalf(INFINITY), 0x7c00);
  EXPECT_TRUE(std::isnan(FromHalf(ToHalf(NAN))));
}

AttentionMap Map() {
  AttentionMap map;
  map.kind = v1::WEIGHTS;
  map.layer = 1;
  map.head = -1;
  map.rows = 2;
  map.columns = 3;
  map.values = {0.0f, 0.125f, 0.25f, 0.5f, 0.3333333f, -1.5f};
  return map;
}

TEST(EncodeAttention, BytesAreWithinHalfAStep) {
  AttentionMap map = Map();
  for (const bool turned : {false, true}) {  // the smallest value, encoded as 0, is last in round 1, first in round 2
    if (turned) std::reverse(map.values.begin(), map.values.end());
    v1::AttentionMap message;
    EncodeAttention(map, v1::UINT8, message);
    ASSERT_EQ(message.values().size(), 6u);
    EXPECT_FLOAT_EQ(message.scale(), 2.0f / 255);
    EXPECT_FLOAT_EQ(message.offset(), -1.5f);
    for (int i = 0; i < 6; ++i) {
      const float decoded = message.offset() + message.scale() * static_cast<uint8_t>(message.values()[i]);
      EXPECT_NEAR(decoded, map.values[i], message.scale() * 0.5001f);
    }
  }
}

TEST(EncodeAttention, ANumberThatIsMissingIsTheByteOfZero) {
  AttentionMap map = Map();
  map.values = {NAN, 1.0f, NAN, 0.5f, 255.0f, 2.0f};
  v1::AttentionMap message;
  EncodeAttention(map, v1::UINT8, message);
  EXPECT_EQ(message.values(), std::string("\0\1\0\1\377\2", 6));
  EXPECT_EQ(message.scale(), 1);
  EXPECT_EQ(message.offset(), 0);
}

TEST(EncodeAttention, AConstantMapKeepsItsValue) {
  AttentionMap map = Map();
  map.values.assign(6, 0.7f);
  v1::AttentionMap message;
  EncodeAttention(map, v1::UINT8, message);
  EXPECT_EQ(message.scale(), 0);
  EXPECT_FLOAT_EQ(message.offset() + message.scale() * message.values()[0], 0.7f);
}

TEST(EncodeAttention, FloatsAreExactAndHaveAShape) {
  v1::AttentionMap message;
  EncodeAttention(Map(), v1::FLOAT32, message);
  EXPECT_EQ(message.rows(), 2);
  EXPECT_EQ(message.columns(), 3);
  EXPECT_EQ(message.layer(), 1);
  EXPECT_EQ(message.head(), -1);
  EXPECT_EQ(message.encoding(), v1::FLOAT32);
  ASSERT_EQ(message.values().size(), 24u);
  const std::vector<float> values = Map().values;
  EXPECT_EQ(message.values(), std::string(reinterpret_cast<const char*>(values.data()), 24));
}

}  // namespace
}  // namespace vitrine
