// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/raw_pixels.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace vitrine {
namespace {

using testing::ElementsAre;
using testing::Optional;

// Floats at an odd address, which can occur in a serialized message.
class FloatBytes {
 public:
  explicit FloatBytes(const std::vector<float>& values)
      : bytes_("?" + std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float))) {}
  operator std::string_view() const { return std::string_view(bytes_).substr(1); }  // NOLINT

 private:
  std::string bytes_;
};

TEST(PlanarFloats, KeepPlanesAndSeparateInterleavedPixels) {
  const FloatBytes bytes({1, 2, 3, 4, 5, 6});
  EXPECT_THAT(PlanarFloats(bytes, 3, PixelOrder::kPlanar, {0, 9}, 2), Optional(ElementsAre(2, 4, 6, 8, 10, 12)));
  EXPECT_THAT(PlanarFloats(bytes, 3, PixelOrder::kInterleaved, {0, 9}, 2), Optional(ElementsAre(2, 8, 4, 10, 6, 12)));
  EXPECT_THAT(PlanarFloats(bytes, 2, PixelOrder::kInterleaved, {0, 9}, 1), Optional(ElementsAre(1, 3, 5, 2, 4, 6)));
  EXPECT_THAT(PlanarFloats(bytes, 1, PixelOrder::kInterleaved, {0, 9}, 1), Optional(ElementsAre(1, 2, 3, 4, 5, 6)));
}

TEST(PlanarFloats, AcceptTheEndsOfTheRangeAndNothingBeyond) {
  for (const PixelOrder order : {PixelOrder::kPlanar, PixelOrder::kInterleaved}) {
    for (const int channels : {1, 2, 3}) {
      // The values fill several SIMD vectors and a part of another vector. In each iteration, one element is at or
      // beyond an end of the range.
      const size_t count = size_t{6} * 11;
      for (size_t i = 0; i < count; ++i) {
        std::vector<float> values(count, 0.5F);
        values[i] = i % 2 == 0 ? -1.0F : 2.0F;
        EXPECT_TRUE(PlanarFloats(FloatBytes(values), channels, order, {-1, 2}, 1).has_value());
        for (const float bad : {std::nextafter(-1.0F, -2.0F), std::nextafter(2.0F, 3.0F), std::nanf(""),
                                std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
          values[i] = bad;
          EXPECT_FALSE(PlanarFloats(FloatBytes(values), channels, order, {-1, 2}, 1).has_value()) << i << " " << bad;
        }
      }
    }
  }
}

TEST(FloatsInPlace, PointIntoTheMessageIfAllValuesAreInRange) {
  for (size_t count = 1; count < 40; ++count) {
    std::vector<float> values(count, 0.5F);
    const std::string_view bytes(reinterpret_cast<const char*>(values.data()), count * sizeof(float));
    EXPECT_EQ(FloatsInPlace(bytes, {0, 1}), values.data());
    for (float& value : values) {
      for (const float bad : {-0.1F, 1.1F, std::nanf("")}) {
        value = bad;
        EXPECT_EQ(FloatsInPlace(bytes, {0, 1}), nullptr) << count << " " << bad;
      }
      value = 1;
    }
    EXPECT_EQ(FloatsInPlace(FloatBytes(values), {0, 1}), nullptr) << "floats at an odd address cannot be used in place";
  }
}

TEST(InterleavedBytes, InterleavePlanes) {
  EXPECT_THAT(InterleavedBytes("abcdef", 3, PixelOrder::kPlanar), ElementsAre('a', 'c', 'e', 'b', 'd', 'f'));
  EXPECT_THAT(InterleavedBytes("abcdef", 3, PixelOrder::kInterleaved), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  EXPECT_THAT(InterleavedBytes("abc", 1, PixelOrder::kPlanar), ElementsAre('a', 'b', 'c'));
}

}  // namespace
}  // namespace vitrine
