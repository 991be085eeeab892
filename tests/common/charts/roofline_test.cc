// SPDX-License-Identifier: Apache-2.0
#include "common/charts/roofline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <string>
#include <vector>

namespace vitrine {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

struct LabelBox {
  double left, top, right, bottom;
};

// Returns the boxes of the operators' labels, which are the only texts with a textLength.
std::vector<LabelBox> LabelsOf(const std::string& svg) {
  static const std::regex kLabel("<text x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" textLength=\"([-0-9.]+)\"");
  std::vector<LabelBox> labels;
  for (std::sregex_iterator it(svg.begin(), svg.end(), kLabel), end; it != end; ++it) {
    const double x = std::stod((*it)[1]), y = std::stod((*it)[2]), width = std::stod((*it)[3]);
    labels.push_back({x, y - 9, x + width, y + 2});
  }
  return labels;
}

Roofline Crowded(int points) {
  Roofline roofline;
  roofline.title = "a <title> & more";
  roofline.peak_gflops = 500;
  roofline.gigabytes_per_second = 20;
  for (int i = 0; i < points; ++i) {
    // Alternates two colours, because overlapping points of one colour share a label.
    const RooflineGroup kind = i % 2 == 0 ? RooflineGroup::kLinear : RooflineGroup::kConvolution;
    roofline.points.push_back(
        {"operator.number." + std::to_string(i), kind, 8 * std::pow(1.06, i), 100.0 + i % 4, 1.0 / points});
  }
  return roofline;
}

TEST(Roofline, LabelsOfManyPointsDoNotOverlap) {
  const std::vector<LabelBox> labels = LabelsOf(RooflineSvg(Crowded(24)));
  ASSERT_EQ(labels.size(), 24u);
  for (size_t i = 0; i < labels.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const LabelBox &a = labels[i], &b = labels[j];
      EXPECT_FALSE(a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) << i << " " << j;
    }
  }
}

TEST(Roofline, EveryPointIsInTheImageAndTextIsEscaped) {
  Roofline roofline = Crowded(3);
  roofline.points.push_back({"moved", RooflineGroup::kElementwise, 0, 0, 0.1});
  roofline.points.push_back({"slow", RooflineGroup::kElementwise, 0.08, 0.01, 0.1});
  roofline.points.push_back({"dense", RooflineGroup::kConvolution, 2000, 480, 0.1});
  const std::string svg = RooflineSvg(roofline);
  EXPECT_THAT(svg, HasSubstr("a &lt;title&gt; &amp; more"));
  EXPECT_THAT(svg, ::testing::Not(HasSubstr("moved")));
  static const std::regex kDot("<circle class=\"operator\" cx=\"([-0-9.]+)\" cy=\"([-0-9.]+)\"");
  int dots = 0;
  for (std::sregex_iterator it(svg.begin(), svg.end(), kDot), end; it != end; ++it, ++dots) {
    EXPECT_GT(std::stod((*it)[1]), 64);
    EXPECT_LT(std::stod((*it)[1]), 900);
    EXPECT_GT(std::stod((*it)[2]), 56);
    EXPECT_LT(std::stod((*it)[2]), 630);
  }
  EXPECT_EQ(dots, 5);
}

TEST(Roofline, DescribesTheMeasurement) {
  Roofline roofline = Crowded(3);
  roofline.circumstances = "steady after 3 rounds";
  EXPECT_THAT(RooflineSvg(roofline), ContainsRegex("fill:var.--faint,#[0-9a-f]+.\">steady after 3 rounds<"));
  roofline.doubtful = true;
  EXPECT_THAT(RooflineSvg(roofline), ContainsRegex("fill:var.--bad,#[0-9a-f]+.\">steady after 3 rounds<"));
  EXPECT_THAT(RooflineSvg(roofline), HasSubstr("500 GFLOP/s, matrix product<"));
  roofline.peak_of = "block.mlp.fc1";
  EXPECT_THAT(RooflineSvg(roofline), HasSubstr("500 GFLOP/s, block.mlp.fc1<"));
}

TEST(Roofline, ExplainsPointsAboveTheMemoryBound) {
  Roofline roofline = Crowded(3);  // the bound at 8 FLOP per byte and 20 GB/s is 160 GFLOP/s
  EXPECT_THAT(RooflineSvg(roofline), Not(HasSubstr("stayed")));
  roofline.points[0].gflops = 200;
  EXPECT_THAT(RooflineSvg(roofline), HasSubstr("operands that stayed"));
}

TEST(Roofline, TheLegendHasTheGroupsOfTheOperators) {
  const std::string svg = RooflineSvg(Crowded(3));
  EXPECT_THAT(svg, HasSubstr(">linear<"));
  EXPECT_THAT(svg, HasSubstr(">convolution<"));
  EXPECT_THAT(svg, Not(HasSubstr(">norm<"))) << "a group without operators must not be in the legend";
  EXPECT_THAT(svg, HasSubstr("--series-1")) << "colours must be those of the pages";
}

TEST(Roofline, WithoutPointsTheRoofsAreDrawn) {
  const std::string svg = RooflineSvg(Crowded(0));
  EXPECT_THAT(svg, HasSubstr("<polyline"));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace vitrine
