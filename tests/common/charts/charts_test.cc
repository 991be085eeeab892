// SPDX-License-Identifier: Apache-2.0
// Tests histograms, scatter plots and legends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "common/charts/chart.h"
#include "common/charts/histogram.h"
#include "common/charts/scatter.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t Times(const std::string& text, const std::string& part) {
  size_t times = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++times;
  return times;
}

TEST(DrawHistogram, CountsEveryValueInOneBin) {
  const std::string svg = DrawHistogram({.title = "Waits <ms>",
                                         .x_axis = "ms",
                                         .bins = 4,
                                         .low = 0,
                                         .high = 4,
                                         .stacked = true,
                                         .series = {{.name = "a&b", .values = {-1, 0, 0.5, 3.9, 4, 9, std::nan("")}}}});
  EXPECT_THAT(svg, HasSubstr("Waits &lt;ms&gt;"));
  EXPECT_THAT(svg, HasSubstr("a&amp;b, 0 to 1: 3<")) << "values below the axis must count in the first bin";
  EXPECT_THAT(svg, HasSubstr("a&amp;b, 3 to 4: 3<")) << "values above the axis must count in the last bin";
  EXPECT_EQ(Times(svg, "<rect"), 2u) << "empty bins must have no bar";
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(DrawHistogram, HasBinsOfConstantRatioOnALogarithmicAxis) {
  const std::string svg = DrawHistogram({.logarithmic = true,
                                         .bins = 3,
                                         .low = 1,
                                         .high = 1000,
                                         .series = {{.name = "x", .values = {0, 2, 20, 200, 300}, .colour = 2}}});
  EXPECT_THAT(svg, HasSubstr("x, 1 to 10: 2<"));
  EXPECT_THAT(svg, HasSubstr("x, 10 to 100: 1<"));
  EXPECT_THAT(svg, HasSubstr("x, 100 to 1e+03: 2<"));
  EXPECT_THAT(svg, HasSubstr("--series-2"));
}

TEST(DrawHistogram, StacksTheBars) {
  const std::string svg = DrawHistogram(
      {.bins = 1,
       .low = 0,
       .high = 1,
       .stacked = true,
       .series = {{.name = "wrong", .values = {0.5}}, {.name = "right", .values = {0.5, 0.5, 0.5}, .colour = 1}}});
  // The plot is 226 pixels high. Its scale ends 5 % above the largest value, 4, so a value of 1 is 53.8 pixels high.
  EXPECT_THAT(svg, HasSubstr("y=\"226.2\" width=\"537.0\" height=\"53.8\""));
  EXPECT_THAT(svg, HasSubstr("y=\"64.8\" width=\"537.0\" height=\"161.4\""));
}

TEST(DrawHistogram, IsEmptyWithoutValues) {
  const std::string svg = DrawHistogram({.title = "none", .logarithmic = true, .series = {{.name = "x"}}});
  EXPECT_THAT(svg, HasSubstr("none"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(DrawScatter, JoinsASeriesAndDescribesItsPoints) {
  const std::string svg = DrawScatter(
      {.title = "t",
       .logarithmic = true,
       .series = {
           {.name = "<m>", .points = {{1, 50}, {10, 60, 55, 65, "224<"}, {0, 1}, {std::nan(""), 1}}, .colour = 3}}});
  EXPECT_EQ(Times(svg, "<circle"), 2u) << "points at 0 of a logarithmic axis and NaN must not be drawn";
  EXPECT_THAT(svg, HasSubstr("<title>&lt;m&gt;, 224&lt;: 60 at 10</title>"));
  EXPECT_EQ(Times(svg, "stroke-opacity=\"0.6\""), 1u) << "only one point has an error bar";
  EXPECT_THAT(DrawScatter({.title = "t"}), HasSubstr("nothing was measured"));
}

TEST(DrawLegend, UsesAsManyLinesAsItNeeds) {
  Chart chart;
  DrawLegend({{"one", 0}, {"two", 1}}, chart);
  EXPECT_EQ(chart.Top(), 54);
  EXPECT_EQ(chart.height, 330);
  Chart crowded;
  const std::string svg = DrawLegend({{std::string(60, 'a'), 0}, {std::string(60, 'b'), 1}}, crowded);
  EXPECT_EQ(crowded.Top(), 72);
  EXPECT_EQ(crowded.height, 348) << "the plot must keep its height";
  EXPECT_THAT(svg, HasSubstr("y=\"60.0\""));
}

TEST(DrawLegend, IsBelowTheNoteAndAfterItsHeading) {
  Chart chart{.note = "over 3 seeds"};
  const std::string svg = DrawLegend({{"0.1", 0}, {"0.2", 1, true}}, chart, "rate");
  EXPECT_EQ(chart.Top(), 72);
  EXPECT_LT(svg.find(">rate<"), svg.find(">0.1<"));
  EXPECT_THAT(svg, HasSubstr("class=\"dash-1\"")) << "series must have different dashes for prints in grey";
  EXPECT_EQ(Times(svg, "stroke-opacity"), 1u) << "only one entry is faint";
}

TEST(Chart, NamesAreAtTheirPositions) {
  Chart chart{.width = 264, .height = 280, .note = "a & b"};
  chart.top = 30, chart.foot = 50, chart.margin = 0;
  chart.x_names = {"left", "right"};
  chart.y_names = {"above", "below"};
  const std::string svg = chart.Begin();
  EXPECT_THAT(svg, HasSubstr(">a &amp; b<"));
  EXPECT_THAT(svg, HasSubstr("<text x=\"114.0\" y=\"249.0\""));
  EXPECT_THAT(svg, HasSubstr("<text x=\"214.0\" y=\"249.0\""));
  EXPECT_LT(svg.find("y=\"84.0\""), svg.find("y=\"184.0\"")) << "the first name of y must be at the top";
  EXPECT_EQ(chart.y.Place(0), 80);
  EXPECT_EQ(chart.x.Place(1), 214);
  EXPECT_EQ(Times(svg, "--line"), 0u) << "an axis with names must have no grid";
  EXPECT_THAT(svg, Not(HasSubstr("rotate(-40)")));
  chart.slanted = true;
  EXPECT_EQ(Times(chart.Begin(), "rotate(-40)"), 2u);
}

TEST(Chart, HasAGridOfTheXAxisOnRequest) {
  Chart chart{.x = {.low = 1, .high = 100, .logarithmic = true}, .y = {.low = 0, .high = 2}};
  const size_t across = Times(chart.Begin(), "--line");
  chart.x_grid = true;
  EXPECT_EQ(Times(chart.Begin(), "--line"), across + 7) << "expected lines at 1, 2, 5, 10, 20, 50 and 100";
}

}  // namespace
}  // namespace vitrine
