// SPDX-License-Identifier: Apache-2.0
#include "client/eval/compare/study_differences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns a cell with forty images, starting at index `from`. `wrong` is the number of wrong answers.
StudyCell CellWithMistakes(const char* model, int wrong, int64_t from = 0) {
  StudyCell cell;
  cell.model = model;
  cell.version = 1;
  cell.metrics.ledger = {.images = 40, .answered = 40};
  for (int64_t i = 0; i < 40; ++i) cell.right[from + i] = i >= wrong;
  return cell;
}

Study FourCells() {
  Study study{.data = "imagefolder:pets", .split = "test"};
  study.cells = {StudyCell{.model = "gone"}, CellWithMistakes("a", 0), CellWithMistakes("b", 6),
                 CellWithMistakes("c", 7)};
  return study;
}

TEST(DifferencesOf, CompareEachCellWithTheFirstMeasuredCell) {
  const Study study = FourCells();
  EXPECT_EQ(FirstMeasured(study), 1u);
  const auto differences = DifferencesOf(study);
  ASSERT_EQ(differences.size(), 4u);
  EXPECT_FALSE(differences[0].has_value());
  EXPECT_FALSE(differences[1].has_value());
  EXPECT_EQ(differences[2]->test.p, 0.03125);
  EXPECT_EQ(differences[2]->holm, 0.03125) << "the correction does not change the larger of two p-values";
  EXPECT_EQ(differences[3]->test.p, 0.015625);
  EXPECT_EQ(differences[3]->holm, 0.03125);
  EXPECT_EQ(differences[3]->counts.only_first, 7);
}

TEST(DifferencesOf, UseOnlyImagesThatBothCellsAnswered) {
  Study study = FourCells();
  study.cells[2] = CellWithMistakes("b", 6, 38);  // two common images
  study.cells[3] = CellWithMistakes("c", 6, 40);  // no common image
  const auto differences = DifferencesOf(study);
  EXPECT_EQ(differences[2]->counts.all(), 2);
  EXPECT_FALSE(differences[3].has_value());
  EXPECT_TRUE(DifferencesOf(Study()).empty());
  study.cells.resize(1);
  EXPECT_FALSE(DifferencesOf(study)[0].has_value());
}

TEST(DifferencesOf, AreInTheTableAndOnThePage) {
  const Study study = FourCells();
  const std::string page = DrawStudy(study);
  EXPECT_THAT(page, HasSubstr("from a version 1 at the model's policy"));
  EXPECT_THAT(page, HasSubstr("corrected for the number of comparisons, 2, by Holm's method"));
  Study alone = study;
  alone.cells.resize(2);
  EXPECT_THAT(DrawStudy(alone), Not(HasSubstr("Holm"))) << "with one measured cell there is no comparison";
}

}  // namespace
}  // namespace vitrine
