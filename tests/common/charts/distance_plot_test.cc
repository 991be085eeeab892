// SPDX-License-Identifier: Apache-2.0
#include "common/charts/distance_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

namespace vitrine {
namespace {

using testing::HasSubstr;

struct Dot {
  double x, y;
  std::string tip;
};

std::vector<Dot> DotsOf(const std::string& svg) {
  std::vector<Dot> dots;
  const std::regex form("<circle cx=\"([0-9.]+)\" cy=\"([0-9.]+)\"[^>]*><title>([^<]*)</title>");
  for (std::sregex_iterator it(svg.begin(), svg.end(), form), end; it != end; ++it) {
    dots.push_back({std::stod((*it)[1]), std::stod((*it)[2]), (*it)[3]});
  }
  return dots;
}

// Returns the y coordinate of the axis label `number`.
double TickAt(const std::string& svg, const std::string& number) {
  std::smatch match;
  const std::regex form("x=\"[0-9.]+\" y=\"([0-9.]+)\" [^>]*text-anchor=\"end\">" + number + "<");
  EXPECT_TRUE(std::regex_search(svg, match, form)) << number << " in " << svg;
  return match.empty() ? 0 : std::stod(match[1]) - 4;
}

DistanceFigure Figure(const std::vector<float>& distances) {
  return {.layers = {0, 3}, .heads = {1, 2, 5}, .distances = distances, .title = "Attention distance"};
}

TEST(DrawDistancePlot, HasADotForEachHeadAndLayerAtItsDistance) {
  const std::vector<float> distances = {0, 5, 10, 12.5f, 15, 20};
  const auto svg = DrawDistancePlot(Figure(distances));
  ASSERT_TRUE(svg.ok()) << svg.status();
  const std::vector<Dot> dots = DotsOf(*svg);
  ASSERT_EQ(dots.size(), 6u);
  const double zero = TickAt(*svg, "0"), ten = TickAt(*svg, "10");
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(dots[i].y, zero + (ten - zero) * distances[i] / 10, 0.2) << i;
    EXPECT_EQ(dots[i].x, dots[i / 3 * 3].x) << "dots of one layer must be in one column";
  }
  EXPECT_LT(dots[0].x, dots[3].x);
  EXPECT_EQ(dots[1].tip, "layer 0, head 2: 5.00 px");
  EXPECT_EQ(dots[5].tip, "layer 3, head 5: 20.00 px");
}

TEST(DrawDistancePlot, NamesAxesLayersAndReferences) {
  const std::vector<float> distances = {1, 1, 1, 1, 1, 1};
  DistanceFigure figure = Figure(distances);
  figure.note = "R&D <cat>";
  figure.references = {{16.546, "equal over the grid"}, {4.29, "equal over 3x3 cells"}};
  const auto svg = DrawDistancePlot(figure);
  EXPECT_THAT(*svg, HasSubstr(">Attention distance</text>"));
  EXPECT_THAT(*svg, HasSubstr(">R&amp;D &lt;cat&gt;</text>")) << "text must be escaped";
  EXPECT_THAT(*svg, HasSubstr(">layer</text>"));
  EXPECT_THAT(*svg, HasSubstr(">attention distance in pixels</text>"));
  EXPECT_THAT(*svg, HasSubstr("text-anchor=\"middle\">3</text>")) << "the label must be the number of the layer";
  EXPECT_THAT(*svg, HasSubstr(">equal over the grid<"));
  EXPECT_THAT(*svg, HasSubstr(">16.5 px<"));
  EXPECT_THAT(*svg, HasSubstr("class=\"reference\""));
  EXPECT_LT(TickAt(*svg, "15"), TickAt(*svg, "10")) << "the axis must include the reference lines";
}

TEST(DrawDistancePlot, AHeadWithoutADistanceHasNoDot) {
  const std::vector<float> distances = {10, NAN, 20, NAN, NAN, NAN};
  DistanceFigure figure = Figure(distances);
  figure.note = "cat";
  const auto svg = DrawDistancePlot(figure);
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_EQ(DotsOf(*svg).size(), 2u);
  EXPECT_THAT(*svg, HasSubstr(">cat; 4 of 6 heads without a dot attend to no cell of the grid</text>"));
  EXPECT_THAT(*svg, testing::Not(HasSubstr("nan")));
  std::smatch bar;
  ASSERT_TRUE(std::regex_search(*svg, bar, std::regex("class=\"mean\" x1=\"[0-9.]+\" y1=\"([0-9.]+)\"")));
  EXPECT_NEAR(std::stod(bar[1]), TickAt(*svg, "15"), 0.2) << "the bar must be at the mean of the two heads";
}

TEST(DrawDistancePlot, RefusesInvalidDistances) {
  const std::vector<float> zeros = {0};
  EXPECT_TRUE(DrawDistancePlot({.layers = {0}, .heads = {0}, .distances = zeros}).ok());
  for (const float wrong : {-1.0f, INFINITY}) {
    const std::vector<float> distances = {1, 1, 1, 1, 1, wrong};
    EXPECT_EQ(DrawDistancePlot(Figure(distances)).status().code(), absl::StatusCode::kInvalidArgument);
  }
  const std::vector<float> few = {1, 2};
  EXPECT_EQ(DrawDistancePlot(Figure(few)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DrawDistancePlot({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(UniformDistance, IsTheMeanOverAllPairs) {
  EXPECT_NEAR(UniformDistance(8, 8, 4, 4), 16.545931, 1e-6);
  EXPECT_NEAR(UniformDistance(10, 10, 3, 3), 15.560617, 1e-6);
  EXPECT_NEAR(UniformDistance(16, 16, 2, 2), 16.652150, 1e-6);
  EXPECT_NEAR(UniformDistance(14, 14, 16, 16), 116.492227, 1e-6);
  EXPECT_EQ(UniformDistance(1, 1, 4, 4), 0);
  EXPECT_NEAR(UniformDistance(1 << 30, 1 << 29, 1.0 / (1 << 30), 2.0 / (1 << 30)), 0.521405, 1e-5)
      << "the result must approach the mean distance in the unit square";
  EXPECT_DOUBLE_EQ(UniformDistance(1, 2, 5, 3), 1.5) << "half of the pairs are in different columns";
}

}  // namespace
}  // namespace vitrine
