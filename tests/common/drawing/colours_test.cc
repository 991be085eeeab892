// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/colours.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <regex>
#include <string>
#include <vector>

#include "tests/paths.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

std::vector<int> StepsOf(const ColourRange& range, const std::vector<float>& values) {
  std::vector<uint8_t> steps(values.size());
  ColourScale(range).FindSteps(values, steps.data());
  return {steps.begin(), steps.end()};
}

TEST(ColourScale, ValuesOutsideTheRangeHaveTheColoursOfItsEnds) {
  EXPECT_THAT(StepsOf({.high = 2}, {-1, 0, 1, 2, 3}), ElementsAre(0, 0, 128, 255, 255));
  EXPECT_THAT(StepsOf({.high = 2, .diverging = true}, {-3, -2, 0, 1, 2, 3}), ElementsAre(0, 0, 127, 191, 254, 254));
}

TEST(ColourScale, AnEmptyOrTinyRangeIsDrawn) {
  constexpr float kHuge = std::numeric_limits<float>::max();
  EXPECT_THAT(StepsOf({.high = 0}, {0, 1}), ElementsAre(128, 128));
  EXPECT_THAT(StepsOf({.high = 0, .diverging = true}, {0, 1}), ElementsAre(127, 127));
  EXPECT_THAT(StepsOf({.high = 1e-40}, {0, 1e-40F}), ElementsAre(128, 128));
  EXPECT_THAT(StepsOf({.high = 1e-30}, {0, 1e-30F, kHuge}), ElementsAre(0, 255, 255));
  EXPECT_THAT(StepsOf({.high = 1e300}, {0, kHuge}), ElementsAre(0, 0));
  EXPECT_THAT(StepsOf({.high = 1}, {std::nanf("")}), ElementsAre(0));
}

// colour.js has a copy of the sequential and of the diverging colour scale, each with 33 colours.
TEST(ColourScale, EqualsThatOfThePage) {
  std::ifstream file(VITRINE_SOURCE "/server/page/colour.js");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  const std::regex colour("\\b[0-9a-f]{6}\\b");
  std::vector<int> knots;
  for (std::sregex_iterator it(page.begin(), page.end(), colour), end; it != end; ++it) {
    knots.push_back(std::stoi(it->str(), nullptr, 16));
  }
  ASSERT_THAT(knots, SizeIs(66));
  for (size_t i = 0; i < knots.size(); ++i) {
    const bool diverging = i >= 33;
    const double place = static_cast<double>(i % 33) / 32;
    const Colour drawn = ColourScale({.high = 1, .diverging = diverging})
                             .colours()[static_cast<size_t>(std::lround(place * (diverging ? 254 : 255)))];
    for (int channel = 0; channel < 3; ++channel) {
      EXPECT_NEAR(drawn[static_cast<size_t>(channel)], knots[i] >> (16 - 8 * channel) & 0xff, 3) << i;
    }
  }
}

}  // namespace
}  // namespace vitrine
