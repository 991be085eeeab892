// SPDX-License-Identifier: Apache-2.0
#include "common/charts/curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns the d attribute of the first path.
std::string FirstPath(const std::string& svg) {
  const size_t begin = svg.find("<path d=\"") + 9;
  return svg.substr(begin, svg.find('"', begin) - begin);
}

TEST(DrawCurves, HasAllNamesAndFillsThePlot) {
  const std::string svg =
      DrawCurves({.title = "Loss <1>",
                  .x_axis = "step",
                  .y_axis = "loss",
                  .curves = {{.name = "training", .points = {{0, 0}, {5, 1}, {10, 2}}, .dots = true},
                             {.name = "test", .points = {{10, 1}}, .colour = 3}}});
  for (const char* part : {"Loss &lt;1&gt;", ">step<", ">loss<", ">training<", ">test<", "var(--series-3,#a9418a)",
                           "<title>training: 1 at 5</title>", "role=\"img\""}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
  // x goes from the left to the right end of the plot, and y from its bottom to its top.
  EXPECT_EQ(FirstPath(svg).substr(0, 10), "M64.0 280.");
  EXPECT_THAT(FirstPath(svg), HasSubstr("L602.0 "));
}

TEST(DrawCurves, ASingleNamedCurveHasALegend) {
  EXPECT_THAT(DrawCurves({.curves = {{.name = "training, augmented", .points = {{0, 1}, {1, 2}}}}}),
              HasSubstr(">training, augmented<"));
}

TEST(DrawCurves, InterruptsTheLineAtValuesThatAreNotNumbers) {
  const double none = std::nan("");
  const std::string path = FirstPath(DrawCurves({.curves = {{.points = {{0, 1}, {1, 2}, {2, none}, {3, 1}, {4, 2}}}}}));
  EXPECT_EQ(std::ranges::count(path, 'M'), 2);
  EXPECT_EQ(std::ranges::count(path, 'L'), 2);
  EXPECT_THAT(path, Not(HasSubstr("nan")));
  const CurveFigure logarithmic{.curves = {{.points = {{0, 1}, {1, 0}, {2, 10}}}}, .logarithmic = true};
  EXPECT_EQ(std::ranges::count(FirstPath(DrawCurves(logarithmic)), 'M'), 2);
}

TEST(DrawCurves, KeepsTheExtremesOfALongCurve) {
  Curve curve;
  for (int i = 0; i < 100000; ++i) curve.points.emplace_back(i, i == 54321 ? 100 : std::sin(i));
  const std::string svg = DrawCurves({.curves = {curve}});
  EXPECT_LT(svg.size(), 40000u);
  double highest = 1000;
  const std::string path = FirstPath(svg);
  for (size_t at = 0; (at = path.find(' ', at)) != std::string::npos; ++at) {
    highest = std::min(highest, std::stod(path.substr(at + 1)));
  }
  EXPECT_LT(highest, 70) << "the only peak must be drawn";
}

TEST(DrawCurves, ReportsMissingData) {
  EXPECT_THAT(DrawCurves({.title = "empty"}), HasSubstr("nothing was recorded"));
}

TEST(Smoothed, IsTheCorrectedMovingAverage) {
  const auto smoothed = Smoothed({{1, 4}, {2, 8}, {3, std::nan("")}, {4, 8}}, 2);
  ASSERT_EQ(smoothed.size(), 3u);
  EXPECT_DOUBLE_EQ(smoothed[0].second, 4) << "the first value must not be drawn to 0";
  EXPECT_DOUBLE_EQ(smoothed[1].second, (0.25 * 4 + 0.5 * 8) / 0.75);
  EXPECT_EQ(smoothed[2].first, 4);
  EXPECT_EQ(Smoothed({{1, 4}, {2, 8}}, 1)[1].second, 8) << "a window of 1 must not change the values";
}

}  // namespace
}  // namespace vitrine
