// SPDX-License-Identifier: Apache-2.0
#include "client/lib/numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/client/lib/every_kind.h"

namespace vitrine {
namespace {

using testing::ElementsAre;

v1::AttentionMap Map(v1::AttentionKind kind, int rows, int columns, v1::AttentionEncoding encoding,
                     const std::string& values) {
  v1::AttentionMap map;
  map.set_kind(kind);
  map.set_layer(7);
  map.set_head(-1);
  map.set_rows(rows);
  map.set_columns(columns);
  map.set_encoding(encoding);
  map.set_values(values);
  return map;
}

std::string Bytes(std::initializer_list<int> bytes) {
  std::string result;
  for (const int byte : bytes) result += static_cast<char>(byte);
  return result;
}

TEST(AttentionValues, ReadsHalfPrecision) {
  // The bytes are these numbers in half precision: 1, -2, 0.333252, 65504 (the largest finite number), 2^-14 (the
  // smallest normal number), 2^-24 (the smallest positive number), -0 and infinity.
  const std::string bytes =
      Bytes({0x00, 0x3c, 0x00, 0xc0, 0x55, 0x35, 0xff, 0x7b, 0x00, 0x04, 0x01, 0x00, 0x00, 0x80, 0x00, 0x7c});
  EXPECT_THAT(*AttentionValues(Map(v1::CLASS_TOKEN_ROW, 2, 4, v1::FLOAT16, bytes)),
              ElementsAre(1, -2, 0.333251953125f, 65504, std::ldexp(1.0f, -14), std::ldexp(1.0f, -24), 0, INFINITY));
}

TEST(AttentionValues, ReadsBytesAndFloats) {
  v1::AttentionMap map = Map(v1::CLASS_TOKEN_ROW, 1, 3, v1::UINT8, Bytes({0, 1, 255}));
  map.set_scale(0.5f);
  map.set_offset(-1);
  EXPECT_THAT(*AttentionValues(map), ElementsAre(-1, -0.5f, 126.5f));
  EXPECT_THAT(*AttentionValues(Map(v1::SCORES, 1, 2, v1::FLOAT32, Bytes({0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc1}))),
              ElementsAre(1, -10));
}

TEST(AttentionValues, RefusesBytesThatDoNotFit) {
  for (const v1::AttentionMap& map :
       {Map(v1::SCORES, 2, 2, v1::FLOAT16, "1234567"), Map(v1::SCORES, 0, 2, v1::FLOAT16, ""),
        Map(v1::SCORES, -1, -1, v1::UINT8, "1"), Map(v1::SCORES, 1, 1, v1::OVERLAY_PNG, "png")}) {
    EXPECT_EQ(AttentionValues(map).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(FeatureValues, ReadsBothEncodings) {
  v1::Feature feature;
  feature.set_rows(1);
  feature.set_columns(2);
  feature.set_width(2);
  feature.set_encoding(v1::FEATURE_FLOAT32);
  feature.set_values(FloatBytes({1.5f, -0.1f, 1e30f, 0}));
  EXPECT_THAT(*FeatureValues(feature), ElementsAre(1.5f, -0.1f, 1e30f, 0));
  feature.set_encoding(v1::FEATURE_FLOAT16);
  feature.set_values(HalfBytes({1, -3, 1000, 0}));
  EXPECT_THAT(*FeatureValues(feature), ElementsAre(1, -3, 1000, 0));
}

TEST(FeatureValues, RefusesBytesThatDoNotFit) {
  v1::Feature feature;
  feature.set_rows(1);
  feature.set_columns(1);
  feature.set_width(2);
  feature.set_values("12345678");
  EXPECT_FALSE(FeatureValues(feature).ok()) << "a feature without an encoding must be refused";
  feature.set_encoding(v1::FEATURE_FLOAT32);
  EXPECT_TRUE(FeatureValues(feature).ok());
  feature.set_width(3);
  EXPECT_EQ(FeatureValues(feature).status().message(), "a feature of 1x1 cells and 3 channels cannot have 8 bytes");
  feature.set_width(-2);
  feature.set_rows(-1);
  EXPECT_FALSE(FeatureValues(feature).ok());
  // The shape has 2^62 + 1 values. Computed with 64 bits, their size in bytes overflows to 4.
  feature.set_values("1234");
  feature.set_rows(242'243'305);
  feature.set_columns(49'477);
  feature.set_width(384'773);
  EXPECT_FALSE(FeatureValues(feature).ok());
}

}  // namespace
}  // namespace vitrine
