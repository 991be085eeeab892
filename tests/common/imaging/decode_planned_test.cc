// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/decode_planned.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/imaging/decode.h"
#include "common/imaging/preprocess.h"
#include "tests/common/imaging/images.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

v1::Preprocessing Covering(int side, v1::Preprocessing::Decode decode) {
  v1::Preprocessing preprocessing;
  preprocessing.set_channels(3);
  for (int c = 0; c < 3; ++c) {
    preprocessing.add_mean(0);
    preprocessing.add_std(1);
  }
  preprocessing.set_interpolation(v1::BILINEAR);
  preprocessing.mutable_fixed()->set_height(side);
  preprocessing.mutable_fixed()->set_width(side);
  preprocessing.mutable_fixed()->set_fit(v1::FixedResolution::CENTER_CROP);
  preprocessing.set_decode(decode);
  return preprocessing;
}

int DivisorFor(Size image, int side, v1::Preprocessing::Decode decode = v1::Preprocessing::REDUCED) {
  const v1::Preprocessing preprocessing = Covering(side, decode);
  return DecodeDivisor(preprocessing, *PlanGeometry(preprocessing, image));
}

TEST(DecodeDivisor, LeavesAtLeastTwiceTheNeededSize) {
  EXPECT_EQ(DivisorFor({100, 100}, 50), 1);
  EXPECT_EQ(DivisorFor({199, 199}, 50), 1);
  EXPECT_EQ(DivisorFor({200, 200}, 50), 2);
  EXPECT_EQ(DivisorFor({399, 399}, 50), 2);
  EXPECT_EQ(DivisorFor({400, 400}, 50), 4);
  EXPECT_EQ(DivisorFor({799, 799}, 50), 4);
  EXPECT_EQ(DivisorFor({800, 800}, 50), 8);
  EXPECT_EQ(DivisorFor({8000, 8000}, 50), 8) << "libjpeg cannot reduce further";
}

TEST(DecodeDivisor, IsLimitedByBothSides) {
  v1::Preprocessing stretched = Covering(50, v1::Preprocessing::REDUCED);
  stretched.mutable_fixed()->set_fit(v1::FixedResolution::STRETCH);
  EXPECT_EQ(DecodeDivisor(stretched, *PlanGeometry(stretched, {800, 200})), 2);
  EXPECT_EQ(DecodeDivisor(stretched, *PlanGeometry(stretched, {200, 800})), 2);
}

TEST(DecodeDivisor, IsOneUnlessTheModelAllowsReducedDecoding) {
  EXPECT_EQ(DivisorFor({800, 800}, 50, v1::Preprocessing::FULL), 1);
  EXPECT_EQ(DivisorFor({800, 800}, 50, v1::Preprocessing::DECODE_UNSPECIFIED), 1);
}

TEST(DecodePlanned, DecodesFullOrReducedAsTheModelRequires) {
  const std::string file = JpegFile(SmoothImage(500, 333, 3));
  const auto full = PlanAndDecode(file, Covering(40, v1::Preprocessing::FULL));
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_EQ(full->image.pixels, Decode(file)->pixels);
  const auto reduced = PlanAndDecode(file, Covering(40, v1::Preprocessing::REDUCED));
  ASSERT_TRUE(reduced.ok()) << reduced.status();
  EXPECT_EQ(reduced->image.pixels, DecodeReduced(file, 4)->pixels);
  EXPECT_EQ(reduced->geometry.original, (Size{333, 500})) << "the geometry must be planned for the whole image";
  EXPECT_EQ(reduced->geometry.scaled, full->geometry.scaled);
}

// Reduced sizes are rounded up, and orientation 6 rotates the image. The model's input must still change only slightly.
TEST(DecodePlanned, TheInputIsNearlyTheSameForAReducedImage) {
  for (const int orientation : {1, 6}) {
    const std::string file = JpegFile(SmoothImage(501, 333, 3), {.exif = ExifBlock(orientation)});
    std::vector<float> inputs[2];
    for (const bool reduce : {false, true}) {
      const v1::Preprocessing preprocessing =
          Covering(40, reduce ? v1::Preprocessing::REDUCED : v1::Preprocessing::FULL);
      const auto planned = PlanAndDecode(file, preprocessing);
      ASSERT_TRUE(planned.ok()) << planned.status();
      inputs[reduce] = Preprocess(planned->image, preprocessing, planned->geometry);
    }
    ASSERT_EQ(inputs[0].size(), inputs[1].size());
    for (size_t i = 0; i < inputs[0].size(); ++i) EXPECT_NEAR(inputs[0][i], inputs[1][i], 0.02) << i;
  }
}

TEST(DecodePlanned, RefusesAnImageThatIsNotOfThePlannedSize) {
  const v1::Preprocessing preprocessing = Covering(40, v1::Preprocessing::REDUCED);
  const Geometry geometry = *PlanGeometry(preprocessing, {400, 400});
  const auto image = DecodePlanned(JpegFile(SmoothImage(400, 300, 3)), preprocessing, geometry);
  EXPECT_EQ(image.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(image.status().ToString(), HasSubstr("the image's header says 400x400, its data is 100x75"));
}

}  // namespace
}  // namespace vitrine
