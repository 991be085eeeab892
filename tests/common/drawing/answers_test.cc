// SPDX-License-Identifier: Apache-2.0
// Tests the calibration and the confusion matrix, which a report computes from the answers of a classifier.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/charts/calibration.h"
#include "common/charts/confusion.h"
#include "common/charts/shaded_matrix.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Calibration, ErrorIsTheWeightedGapOfTheBins) {
  Calibration calibration(10);
  for (int i = 0; i < 6; ++i) calibration.Add(0.95, i < 3);  // gap 0.45
  for (int i = 0; i < 4; ++i) calibration.Add(0.25, i < 2);  // gap 0.25 (the accuracy is above the confidence)
  EXPECT_EQ(calibration.answers(), 10);
  EXPECT_NEAR(calibration.ExpectedError(), 0.6 * 0.45 + 0.4 * 0.25, 1e-12);
  EXPECT_NEAR(calibration.Overconfidence(), 0.6 * 0.45 - 0.4 * 0.25, 1e-12);
}

TEST(Calibration, BinsIncludeTheirUpperEnd) {
  Calibration calibration(4);
  for (const double confidence : {0.0, 0.25, 0.2500001, 0.5, 1.0}) calibration.Add(confidence, true);
  EXPECT_EQ(calibration.bins()[0].answers, 2);
  EXPECT_EQ(calibration.bins()[1].answers, 2);
  EXPECT_EQ(calibration.bins()[3].answers, 1);
}

TEST(Calibration, APerfectCalibrationHasNoError) {
  Calibration calibration;
  EXPECT_EQ(calibration.ExpectedError(), 0);
  for (int i = 0; i < 10; ++i) calibration.Add(0.7, i < 7);
  EXPECT_NEAR(calibration.ExpectedError(), 0, 1e-12);
}

TEST(DrawReliability, DescribesEveryBinWithAnswers) {
  Calibration calibration(10);
  for (int i = 0; i < 1500; ++i) calibration.Add(0.95, i % 2 == 0);
  const std::string svg = DrawReliability(calibration);
  EXPECT_THAT(svg, HasSubstr("confidence 95.0 %: accuracy 50.0 % of 1,500 answers"));
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 620 440\"")) << "the chart must have space for the counts";
}

TEST(Confusion, CountsPairsRecallAndPrecision) {
  Confusion confusion(3);
  for (int i = 0; i < 6; ++i) confusion.Add(0, i < 4 ? 0 : 1);
  for (int i = 0; i < 4; ++i) confusion.Add(1, 1);
  confusion.Add(2, 0);
  EXPECT_EQ(confusion.Count(0, 1), 2);
  EXPECT_EQ(confusion.Count(1, 0), 0);
  EXPECT_DOUBLE_EQ(confusion.Recall(0), 4.0 / 6);
  EXPECT_DOUBLE_EQ(confusion.Precision(0), 4.0 / 5);
  EXPECT_EQ(confusion.Precision(2), 0) << "a class that is never predicted has the precision 0";
  EXPECT_DOUBLE_EQ(confusion.Accuracy(), 8.0 / 11);
  const std::vector<Confusion::Pair> pairs = confusion.MostConfused(5);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].label, 0);
  EXPECT_EQ(pairs[0].answer, 1);
  EXPECT_EQ(pairs[0].count, 2);
  EXPECT_EQ(confusion.MostConfused(1).size(), 1u);
}

TEST(DrawConfusion, HasRowsForLabels) {
  Confusion confusion(2);
  for (int i = 0; i < 4; ++i) confusion.Add(0, i == 0 ? 1 : 0);
  const std::vector<std::string> names = {"cat", "<dog>"};
  const std::string svg = DrawConfusion(confusion, names);
  EXPECT_THAT(svg, HasSubstr("cat taken for &lt;dog&gt;: 1, 25.0 % of the row"));
  EXPECT_THAT(svg, HasSubstr("fill-opacity=\"0.250\""));
  EXPECT_THAT(svg, Not(HasSubstr("nan"))) << "a class without samples must be drawn";
}

TEST(DrawShadedMatrix, TruncatesLongNamesBetweenCharacters) {
  std::string name;
  for (int i = 0; i < 30; ++i) name += "ä";
  ShadedMatrix matrix{.rows = {name}, .columns = {"short"}, .cells = {{.shade = -0.5, .text = "-0.5"}}};
  std::string cut;
  for (int i = 0; i < 17; ++i) cut += "ä";
  const std::string svg = DrawShadedMatrix(matrix);
  EXPECT_THAT(svg, HasSubstr(">" + cut + "…<"));
  EXPECT_THAT(svg, HasSubstr("--series-1")) << "negative values must have another colour";
}

TEST(DrawShadedMatrix, RotatesNamesThatAreWiderThanTheirCells) {
  ShadedMatrix matrix{.rows = {"a", "b"}, .columns = {"cat", "dog"}, .cells = std::vector<ShadedMatrix::Cell>(4)};
  const std::string narrow = DrawShadedMatrix(matrix);
  EXPECT_THAT(narrow, Not(HasSubstr("rotate(-40)")));
  EXPECT_THAT(narrow, HasSubstr("viewBox=\"0 0 182.6 210\""))
      << "expected cells of 62 pixels and space for names on the left and below";
  matrix.columns = {"a rather long name", "dog"};
  EXPECT_THAT(DrawShadedMatrix(matrix), HasSubstr("rotate(-40)\" text-anchor=\"end\""));
}

TEST(DrawShadedMatrix, PutsCellsRowByRowFromTheTop) {
  ShadedMatrix matrix{.rows = {"a", "b"}, .columns = {"c", "d"}};
  for (const char* tip : {"ac", "ad", "bc", "bd"}) matrix.cells.push_back({.tip = tip});
  const std::string svg = DrawShadedMatrix(matrix);
  const auto rect = [&](const std::string& tip) {
    const size_t at = svg.find("<title>" + tip);
    return svg.substr(svg.find("x=", at), 24);
  };
  EXPECT_EQ(rect("ac").substr(0, 8), rect("bc").substr(0, 8)) << "cells of one column must have the same x";
  EXPECT_LT(svg.find("<title>ac"), svg.find("<title>bd"));
  EXPECT_NE(rect("ac"), rect("ad"));
  EXPECT_NE(rect("ac"), rect("bc"));
}

}  // namespace
}  // namespace vitrine
