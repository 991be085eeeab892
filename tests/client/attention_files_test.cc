#include "client/attention_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "imaging/decode.h"
#include "report/png.h"
#include "tests/client/temporary_folder.h"

namespace vitrine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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
  // 1, -2, 0.333252, 65504 (largest), 2^-14 (smallest normal), 2^-24 (smallest), -0, infinity
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

TEST(AttentionFileName, NamesKindLayerAndHead) {
  v1::AttentionMap map = Map(v1::CLASS_TOKEN_ROW, 1, 1, v1::UINT8, "1");
  EXPECT_EQ(AttentionFileName("cat", map), "cat.class.layer7.png");
  map.set_head(0);
  EXPECT_EQ(AttentionFileName("cat", map), "cat.class.layer7.head0.png");
  map.set_kind(v1::ROLLOUT);
  map.set_layer(-1);
  map.set_head(-1);
  EXPECT_EQ(AttentionFileName("cat", map), "cat.rollout.png");
}

TEST(WriteAttention, DrawsMapsOverThePictureAndMatricesByThemselves) {
  const TemporaryFolder folder;
  const Image picture{.width = 60, .height = 40, .channels = 1, .pixels = std::vector<uint8_t>(2400, 90)};
  v1::ClassifyResponse answer;
  v1::AttentionMap map = Map(v1::MEAN_OVER_QUERIES, 2, 3, v1::UINT8, "123456");
  map.set_scale(1);
  map.mutable_covers()->set_width(60);
  map.mutable_covers()->set_height(40);
  *answer.add_attention() = map;
  *answer.add_attention() = Map(v1::WEIGHTS, 1, 1, v1::UINT8, "1");
  const auto files = WriteAttention(folder.path(), "cat", *EncodePng(picture), answer);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(*files, ElementsAre(folder.Path("cat.mean.layer7.png"), folder.Path("cat.weights.layer7.png")));
  const auto overlay = Decode(folder.Read("cat.mean.layer7.png"));
  ASSERT_TRUE(overlay.ok()) << overlay.status();
  EXPECT_EQ(overlay->width, 256);
  EXPECT_EQ(overlay->height, 171);
  EXPECT_EQ(Decode(folder.Read("cat.weights.layer7.png"))->height, 256);
}

TEST(WriteAttention, NamesTheFileItCannotWrite) {
  v1::ClassifyResponse answer;
  *answer.add_attention() = Map(v1::WEIGHTS, 1, 1, v1::UINT8, "1");
  EXPECT_THAT(WriteAttention("/nowhere/at/all", "cat", "", answer).status().ToString(),
              HasSubstr("/nowhere/at/all/cat.weights.layer7.png: No such file"));
}

}  // namespace
}  // namespace vitrine
