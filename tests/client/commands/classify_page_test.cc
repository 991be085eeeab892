// SPDX-License-Identifier: Apache-2.0
#include "client/commands/classify_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "client/commands/output/text.h"

namespace vitrine {
namespace {

TEST(ClassifyPage, WithoutAnswersThereIsNoFooter) {
  EXPECT_EQ(ClassifyPage({}, {.images = {"a.png"}, .labels = {}}).Footer(absl::Seconds(1)), "");
}

TEST(ClassifyPage, LabelsCannotBreakThePage) {
  ClassifyPage page({.width = 60}, {.images = {"a.png"}, .labels = {}});
  v1::ClassifyResponse answer;
  answer.add_predictions()->set_label("escape \x1b[2J and a label that goes on and on");
  answer.add_predictions()->set_probability(0.25f);
  const std::string row = page.Text("a.png", answer, {});
  EXPECT_THAT(row, testing::Not(testing::HasSubstr("\x1b")));
  EXPECT_THAT(row, testing::HasSubstr("class 0 25.0 %"));
  for (const auto& line : absl::StrSplit(row, '\n')) EXPECT_LE(DisplayWidth(line), 60);
}

}  // namespace
}  // namespace vitrine
