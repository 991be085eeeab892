// SPDX-License-Identifier: Apache-2.0
#include "client/commands/output/attention_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/commands/output/distance_files.h"
#include "common/drawing/lettering.h"
#include "common/imaging/decode.h"
#include "tests/client/lib/every_kind.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A request for attention maps and its answer.
struct Exchange {
  v1::ClassifyRequest request;
  v1::ClassifyResponse answer;
};

// Returns an exchange for an image of `width` x `height` pixels. The grid of its attention maps has one cell per 4x4
// pixels.
Exchange Ask(const std::vector<v1::AttentionKind>& kinds, const std::vector<int>& layers = {},
             const std::vector<int>& heads = {}, int width = 24, int height = 16) {
  Exchange exchange;
  exchange.request.set_model("sizes");
  exchange.request.set_image(GreyPng(width, height));
  for (const v1::AttentionKind kind : kinds) {
    v1::AttentionRequest& requested = *exchange.request.add_attention();
    requested.set_kind(kind);
    requested.set_encoding(v1::FLOAT16);
    if (kind == v1::QUERY_ROW) requested.set_query(7);
    requested.mutable_layers()->Add(layers.begin(), layers.end());
    requested.mutable_heads()->Add(heads.begin(), heads.end());
  }
  EXPECT_TRUE(AnswerWithEveryKind(exchange.request, &exchange.answer).ok());
  return exchange;
}

class WriteAttentionTest : public testing::Test {
 protected:
  std::vector<std::string> Draw(const Exchange& exchange, bool sheet = false) {
    const AttentionFiles files{folder_.path(), "cat", sheet};
    const auto written = WriteAttention(files, exchange.request, exchange.request.image(), exchange.answer);
    EXPECT_TRUE(written.ok()) << written.status();
    return written.ok() ? *written : std::vector<std::string>();
  }
  Image Drawing(const std::string& name) {
    const auto image = Decode(folder_.Read(name));
    EXPECT_TRUE(image.ok()) << name << ": " << image.status();
    return image.ok() ? *image : Image();
  }

  const ScratchFolder folder_;
};

TEST(AttentionFileName, NamesKindQueryLayerAndHead) {
  v1::AttentionMap map;
  v1::AttentionRequest asked;
  map.set_kind(v1::CLASS_TOKEN_ROW);
  map.set_layer(7);
  map.set_head(-1);
  EXPECT_EQ(AttentionFileName("cat", map, asked), "cat.class.layer7.png");
  map.set_head(0);
  EXPECT_EQ(AttentionFileName("cat", map, asked), "cat.class.layer7.head0.png");
  map.set_kind(v1::QUERY_ROW);
  asked.set_kind(v1::QUERY_ROW);
  asked.set_query(12);
  EXPECT_EQ(AttentionFileName("cat", map, asked), "cat.query12.layer7.head0.png");
  EXPECT_EQ(SheetFileName("cat", asked), "cat.query12.sheet.png");
  map.set_kind(v1::ROLLOUT);
  map.set_layer(-1);
  map.set_head(-1);
  EXPECT_EQ(AttentionFileName("cat", map, asked), "cat.rollout.png");
  map.set_kind(v1::DISTANCE);
  EXPECT_EQ(AttentionFileName("cat", map, asked), "cat.distance.svg");
}

TEST_F(WriteAttentionTest, DrawsEachKindInItsOwnForm) {
  const auto files = Draw(Ask({v1::MEAN_OVER_QUERIES, v1::CLASS_ATTENTION, v1::ROLLOUT, v1::SCORES, v1::WEIGHTS,
                               v1::CROSS_COVARIANCE, v1::QUERY_ROW}));
  EXPECT_THAT(files, ElementsAre(folder_.Path("cat.mean.layer1.png"), folder_.Path("cat.class-attention.layer1.png"),
                                 folder_.Path("cat.rollout.png"), folder_.Path("cat.scores.layer1.png"),
                                 folder_.Path("cat.weights.layer1.png"), folder_.Path("cat.channels.layer1.png"),
                                 folder_.Path("cat.query7.layer1.png")));
  for (const std::string name : {"mean.layer1", "class-attention.layer1", "rollout", "query7.layer1"}) {
    const Image overlay = Drawing("cat." + name + ".png");
    EXPECT_EQ(overlay.width, 256) << name << " must be drawn over the image";
    EXPECT_GE(overlay.height, 171 + 8 + 2 * 16 + 40)
        << "there must be at least two lines of text, and the colour bar below";
  }
  // The matrix of scores has 25 tokens (a grid of 4x6 and the class token) of 16 pixels each. The matrix of channels
  // has 4 channels of 96 pixels each. Title and axis add more than 60 pixels.
  EXPECT_GT(Drawing("cat.scores.layer1.png").height, 400 + 60);
  EXPECT_GT(Drawing("cat.channels.layer1.png").height, 384 + 60);
  // The queried cell (row 1 of 4, column 1 of 6) has a black frame.
  const Image query = Drawing("cat.query7.layer1.png");
  EXPECT_EQ(query.pixels[static_cast<size_t>((60 * 256 + 42) * 3)], 0);
}

TEST_F(WriteAttentionTest, EachKindHasItsOwnColourRange) {
  Draw(Ask({v1::WEIGHTS}));
  const Image alone = Drawing("cat.weights.layer1.png");
  Exchange exchange = Ask({v1::CLASS_TOKEN_ROW, v1::WEIGHTS});
  exchange.answer.mutable_attention(0)->set_encoding(v1::FLOAT32);
  exchange.answer.mutable_attention(0)->set_values(FloatBytes(std::vector<float>(24, 1000)));
  Draw(exchange);
  EXPECT_EQ(Drawing("cat.weights.layer1.png").pixels, alone.pixels) << "the values of another kind changed the colours";
}

TEST_F(WriteAttentionTest, SignedMatricesAreBlueAndRed) {
  Draw(Ask({v1::WEIGHTS}));
  const Image image = Drawing("cat.weights.layer1.png");
  const auto at = [&](int x, int y) { return &image.pixels[(y * image.width + x) * 3]; };
  EXPECT_GT(at(70, 64)[2], at(70, 64)[0] + 100) << "the first value is the smallest";
  EXPECT_GT(at(68 + 398, 62 + 398)[0], at(68 + 398, 62 + 398)[2] + 100);
}

TEST_F(WriteAttentionTest, DivergingMapsOnTheGridHaveAColourBar) {
  Exchange exchange = Ask({v1::CLASS_ATTENTION});
  exchange.answer.mutable_attention(0)->set_diverging(true);
  Draw(exchange);
  const Image image = Drawing("cat.class-attention.layer1.png");
  int blue = 0;  // pixels of the colour bar, which is below the image
  for (int i = image.width * 171; i < image.width * image.height; ++i) {
    blue += image.pixels[3 * i + 2] > image.pixels[3 * i] + 100;
  }
  EXPECT_GT(blue, 100);
}

// The drawn sheet has a tile for each of two layers. The first layer has almost uniform weights, and the second layer
// attends to a single cell.
TEST_F(WriteAttentionTest, ALayerWithUniformWeightsIsFlatOnTheSheet) {
  Exchange exchange = Ask({v1::CLASS_TOKEN_ROW}, {0, 1}, {0});
  std::vector<float> equal(24), peaked(24, 0.01f);
  for (size_t i = 0; i < equal.size(); ++i) equal[i] = (1 + 0.01f * static_cast<float>(i % 2)) / 24;
  peaked[14] = 0.77f;
  for (const auto& [map, values] : {std::pair(0, &equal), {1, &peaked}}) {
    exchange.answer.mutable_attention(map)->set_encoding(v1::FLOAT32);
    exchange.answer.mutable_attention(map)->set_values(FloatBytes(*values));
  }
  Draw(exchange, true);
  const Image sheet = Drawing("cat.class.sheet.png");
  // Each tile has 224 x 149 pixels and is to the right of its caption. The margin below the last tile is 16 pixels.
  const int left = 16 + std::max(TextWidth("layer 0", 10), TextWidth("layer 1", 10)) + 8;
  const auto spread = [&](int bottom) {
    int least = 765, most = 0;
    for (int y = bottom - 140; y < bottom - 10; ++y) {
      for (int x = left + 10; x < left + 214; ++x) {
        const int offset = (y * sheet.width + x) * 3;
        const uint8_t* pixel = &sheet.pixels[static_cast<size_t>(offset)];
        const int brightness = pixel[0] + pixel[1] + pixel[2];
        least = std::min(least, brightness);
        most = std::max(most, brightness);
      }
    }
    return most - least;
  };
  EXPECT_LT(spread(sheet.height - 16 - 149 - 8), 20) << "layer 0";
  EXPECT_GT(spread(sheet.height - 16), 100) << "layer 1";
}

TEST_F(WriteAttentionTest, ASheetHasAllMapsOfAKind) {
  const auto files = Draw(Ask({v1::CLASS_TOKEN_ROW, v1::CROSS_COVARIANCE, v1::ROLLOUT}, {0, 1}, {0, 1, 2}), true);
  ASSERT_EQ(files.size(), 13u);
  EXPECT_EQ(files[0], folder_.Path("cat.class.sheet.png"));
  EXPECT_EQ(files[5], files[0]) << "maps of one kind must be on one sheet";
  EXPECT_EQ(files[6], folder_.Path("cat.channels.sheet.png"));
  EXPECT_EQ(files[12], folder_.Path("cat.rollout.png")) << "a single map needs no sheet";
  const Image sheet = Drawing("cat.class.sheet.png");
  EXPECT_GT(sheet.width, 3 * 224) << "three heads must be side by side";
  EXPECT_GT(sheet.height, 2 * 149) << "two layers must be one below the other";
  EXPECT_LT(sheet.height, 3 * 149 + 112);
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("cat.class.layer0.head0.png")));
}

TEST_F(WriteAttentionTest, DistancesAreAPlotWithTheRequestedLayersAndHeads) {
  const auto files = Draw(Ask({v1::DISTANCE}, {1}, {0, 2}));
  EXPECT_THAT(files, ElementsAre(folder_.Path("cat.distance.svg")));
  const std::string plot = folder_.Read("cat.distance.svg");
  EXPECT_THAT(plot, HasSubstr("layer 1, head 0: 0.50 px"));
  EXPECT_THAT(plot, HasSubstr("layer 1, head 2: 1.00 px"));
  EXPECT_THAT(plot, HasSubstr("equal over the grid"));
  EXPECT_THAT(plot, HasSubstr(">4.3 px<")) << "the mean over 3x3 cells of 4 pixels is 1.073 * 4";
  EXPECT_THAT(plot, HasSubstr("cat, sizes version 3"));
}

TEST_F(WriteAttentionTest, APlotSaysIfTheAttentionIsSigned) {
  const Exchange exchange = Ask({v1::DISTANCE}, {1}, {0, 2});
  Draw(exchange);
  EXPECT_THAT(folder_.Read("cat.distance.svg"), testing::Not(HasSubstr("magnitudes")));
  const AttentionFiles files{.folder = folder_.path(), .stem = "cat", .signed_attention = true};
  ASSERT_TRUE(WriteAttention(files, exchange.request, exchange.request.image(), exchange.answer).ok());
  EXPECT_THAT(folder_.Read("cat.distance.svg"), HasSubstr("weighted by magnitudes of signed attention"));
}

TEST_F(WriteAttentionTest, OneMatrixOfBothSignsMakesTheSheetDiverging) {
  Exchange exchange = Ask({v1::SCORES}, {0, 1}, {0});
  const auto bar = [&] {
    Draw(exchange, true);
    const Image sheet = Drawing("cat.scores.sheet.png");
    int blue = 0;  // pixels of the colour bar, which is at the top of the sheet
    for (int i = 0; i < sheet.width * 90; ++i) blue += sheet.pixels[3 * i + 2] > sheet.pixels[3 * i] + 100;
    return blue;
  };
  const int before = bar();
  std::string& values = *exchange.answer.mutable_attention(1)->mutable_values();
  values[1] = static_cast<char>(values[1] ^ 0x80);  // 1 becomes -1
  EXPECT_EQ(before, 0);
  EXPECT_GT(bar(), 100);
}

TEST_F(WriteAttentionTest, AnErrorNamesTheFile) {
  const Exchange exchange = Ask({v1::WEIGHTS});
  EXPECT_THAT(WriteAttention({"/nowhere/at/all", "cat"}, exchange.request, exchange.request.image(), exchange.answer)
                  .status()
                  .ToString(),
              HasSubstr("/nowhere/at/all/cat.weights.layer1.png: No such file"));
}

TEST_F(WriteAttentionTest, RefusesMapsWithTheWrongSize) {
  for (const v1::AttentionKind kind : {v1::DISTANCE, v1::SCORES, v1::CLASS_TOKEN_ROW}) {
    Exchange exchange = Ask({kind}, {0}, {0});
    exchange.answer.mutable_attention(0)->set_rows(5);
    EXPECT_FALSE(
        WriteAttention({folder_.path(), "cat"}, exchange.request, exchange.request.image(), exchange.answer).ok());
  }
}

TEST(MeanDistance, IsTheMeanOverImages) {
  const ScratchFolder folder;
  MeanDistance mean;
  Exchange exchange = Ask({v1::DISTANCE}, {0, 1}, {0});
  ASSERT_TRUE(mean.Add(exchange.request, exchange.answer).ok());
  EXPECT_EQ(mean.Write(folder.path()).value_or("?"), "") << "a single image has no plot of the mean";
  exchange.answer.mutable_attention(0)->set_values(FloatBytes({3.5f, 4}));
  ASSERT_TRUE(mean.Add(exchange.request, exchange.answer).ok());
  EXPECT_EQ(mean.Write(folder.path()).value_or("?"), folder.Path("distance.svg"));
  const std::string plot = folder.Read("distance.svg");
  EXPECT_THAT(plot, HasSubstr("layer 0, head 0: 2.00 px")) << "the mean of 0.5 and 3.5 is missing";
  EXPECT_THAT(plot, HasSubstr("layer 1, head 0: 2.50 px")) << "the mean of 1 and 4 is missing";
  EXPECT_THAT(plot, HasSubstr("mean over 2 images, sizes version 3"));
  EXPECT_THAT(plot, HasSubstr("equal over the grid"));

  const Exchange other = Ask({v1::DISTANCE}, {0, 1}, {0}, 16, 16);
  ASSERT_TRUE(mean.Add(other.request, other.answer).ok());
  ASSERT_TRUE(mean.Write(folder.path()).ok());
  EXPECT_THAT(folder.Read("distance.svg"), testing::Not(HasSubstr("equal over the grid")))
      << "images with different grids have no common reference line";
  EXPECT_FALSE(mean.Add(Ask({v1::DISTANCE}, {0}, {0}).request, Ask({v1::DISTANCE}, {0}, {0}).answer).ok());
}

TEST(MeanDistance, LeavesOutImagesInWhichAHeadHasNone) {
  const ScratchFolder folder;
  MeanDistance mean;
  Exchange exchange = Ask({v1::DISTANCE}, {0, 1}, {0});
  for (const float second : {NAN, 4.0f, 8.0f}) {
    exchange.answer.mutable_attention(0)->set_values(FloatBytes({NAN, second}));
    ASSERT_TRUE(mean.Add(exchange.request, exchange.answer).ok());
  }
  ASSERT_TRUE(mean.Write(folder.path()).ok());
  EXPECT_THAT(folder.Read("distance.svg"), HasSubstr("layer 1, head 0: 6.00 px"));
  EXPECT_THAT(folder.Read("distance.svg"), HasSubstr("1 of 2 heads without a dot"));
}

}  // namespace
}  // namespace vitrine
