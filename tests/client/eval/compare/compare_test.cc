// SPDX-License-Identifier: Apache-2.0
#include "client/eval/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/eval/compare/compare_page.h"
#include "client/eval/compare/compare_print.h"
#include "tests/client/eval/made_data.h"
#include "tests/client/eval/made_evaluation.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The comment after each image says whether the first model and the second model are right about it.
Evaluation First() {
  return MadeEvaluation({{0, {{0, 0.9f}}},             // right, right
                         {0, {{0, 0.8f}}},             // right, wrong
                         {1, {{2, 0.7f}, {1, 0.2f}}},  // wrong, right
                         {1, {{0, 0.6f}}},             // wrong, right
                         {2, {{0, 0.6f}}},             // wrong, wrong
                         {2, {{2, 0.95f}}}});          // right, right
}
Evaluation Second() {
  return MadeEvaluation(
      {{0, {{0, 0.5f}}}, {0, {{1, 0.4f}}}, {1, {{1, 0.6f}}}, {1, {{1, 0.99f}}}, {2, {{1, 0.6f}}}, {2, {{2, 0.9f}}}});
}

TEST(Compare, CountsPairsAndFlips) {
  const Evaluation first = First(), second = Second();
  const auto comparison = Compare(first, second);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  const PairedCounts& counts = (*comparison)->counts;
  EXPECT_EQ(counts.both, 2);
  EXPECT_EQ(counts.only_first, 1);
  EXPECT_EQ(counts.only_second, 2);
  EXPECT_EQ(counts.neither, 1);
  EXPECT_DOUBLE_EQ((*comparison)->first_metrics.top1, 0.5);
  EXPECT_DOUBLE_EQ((*comparison)->second_metrics.top1, 4.0 / 6);
  ASSERT_EQ((*comparison)->right_to_wrong.size(), 1u);
  EXPECT_EQ((*comparison)->right_to_wrong[0].first->name, "cat/1.png");
  ASSERT_EQ((*comparison)->wrong_to_right.size(), 2u);
  EXPECT_EQ((*comparison)->wrong_to_right[0].second->name, "dog/3.png") << "the most confident flip must come first";
  ASSERT_EQ((*comparison)->classes.size(), 3u);
  EXPECT_EQ((*comparison)->classes[0].label, "dog") << "the class with the largest difference must come first";
  EXPECT_EQ((*comparison)->classes[0].second - (*comparison)->classes[0].first, 1);
}

TEST(Compare, UsesTheImagesThatBothAnsweredAndReportsTheOthers) {
  Evaluation first = First(), second = Second();
  first.predictions.erase(first.predictions.begin());        // image 0 is only in the second evaluation
  second.predictions.erase(second.predictions.begin() + 5);  // image 5 is only in the first evaluation
  second.predictions[1].outcome = Outcome::kRefused;         // the second model has no answer for cat/1.png
  second.predictions[1].guesses.clear();
  const auto comparison = Compare(first, second);
  ASSERT_TRUE(comparison.ok());
  EXPECT_EQ((*comparison)->pairs.size(), 3u);
  EXPECT_EQ((*comparison)->only_in_first, 1);
  EXPECT_EQ((*comparison)->only_in_second, 1);
  EXPECT_EQ((*comparison)->unanswered, 1);
  EXPECT_EQ((*comparison)->first_metrics.ledger.images, 3) << "the scores must cover only the pairs";
  EXPECT_EQ((*comparison)->first_metrics.busy_seconds, 6) << "the throughput must be that of the whole run";
  EXPECT_DOUBLE_EQ((*comparison)->first_metrics.images_per_second, 5.0 / 6);
  EXPECT_DOUBLE_EQ((*comparison)->second_metrics.images_per_second, 4.0 / 6);
  const std::string text = PrintComparison(**comparison, OutputFormat::kTable);
  EXPECT_THAT(text, HasSubstr("3 images were answered by both; 1 are in both but were not answered by both; 1 are only "
                              "in the first; 1 are only in the second"));
}

TEST(Compare, ImagesOfAnotherDataSetAreMatchedByNameWithANote) {
  constexpr char kSentence[] = "images are matched by name and label only, not by content.";
  const Evaluation first = First();
  std::vector<Evaluation> others = {Second(), Second()};
  const auto same = CompareAll(first, others);
  ASSERT_TRUE(same.ok());
  EXPECT_THAT(PrintComparisons(*same, OutputFormat::kTable), Not(HasSubstr(kSentence)));
  EXPECT_THAT(PrintComparison(*same->front(), OutputFormat::kTable), Not(HasSubstr(kSentence)));
  others[1].data = "imagefolder:blurred";
  const auto all = CompareAll(first, others);
  ASSERT_TRUE(all.ok());
  const Comparison& other = *all->back();
  EXPECT_THAT(PrintComparison(other, OutputFormat::kTable), HasSubstr(kSentence));
  EXPECT_THAT(DrawComparison(other, nullptr), HasSubstr(kSentence));
  EXPECT_THAT(PrintComparisons(*all, OutputFormat::kTable),
              HasSubstr(std::string("imagefolder:blurred: ") + kSentence));
  EXPECT_THAT(DrawComparisons(*all), HasSubstr(kSentence));
}

TEST(Compare, HandlesModelsWithADifferentOrderOfClasses) {
  const Evaluation first = First();
  Evaluation second = First();
  std::reverse(second.model.mutable_labels()->begin(), second.model.mutable_labels()->end());
  for (Prediction& prediction : second.predictions) {
    prediction.label = 2 - prediction.label;
    for (Guess& guess : prediction.guesses) guess.index = 2 - guess.index;
  }
  const auto comparison = Compare(first, second);
  ASSERT_TRUE(comparison.ok());
  EXPECT_EQ((*comparison)->counts.only_first + (*comparison)->counts.only_second, 0);
  EXPECT_EQ((*comparison)->test.p, 1);
  EXPECT_THAT(PrintComparison(**comparison, OutputFormat::kTable), Not(HasSubstr("-0.00")));
}

TEST(Compare, UnknownLabelsAreNamedByTheirNumber) {
  Evaluation first = First();
  first.predictions[0].data_label = 3;
  first.predictions[1].data_label = -1;
  const auto comparison = Compare(first, first);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  std::vector<std::string> labels;
  for (const ClassComparison& of : (*comparison)->classes) labels.push_back(of.label);
  EXPECT_THAT(labels, ::testing::UnorderedElementsAre("class 3", "class -1", "dog", "owl"));
}

TEST(Compare, RefusesDataWithoutCommonImagesOrWithOtherLabels) {
  const Evaluation first = First();
  Evaluation other = Second();
  for (Prediction& prediction : other.predictions) prediction.name = "x" + prediction.name;
  const auto nothing = Compare(first, other);
  EXPECT_EQ(nothing.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(nothing.status().message()), HasSubstr("no image in common"));
  Evaluation relabelled = Second();
  relabelled.predictions[4].data_label = 0;
  const auto contradiction = Compare(first, relabelled);
  EXPECT_EQ(contradiction.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(contradiction.status().message()), HasSubstr("owl/4.png"));
  Evaluation empty = Second();
  for (Prediction& prediction : empty.predictions) prediction.outcome = Outcome::kUnreadable;
  EXPECT_EQ(Compare(first, empty).status(),
            absl::InvalidArgumentError("no image was answered in both evaluations; there is nothing to compare"));
}

TEST(Compare, HasTop5OnlyIfBothModelsHaveMoreThanFiveClasses) {
  const std::vector<MadeImage> images = {{0, {{0, 0.9f}}}, {1, {{1, 0.8f}}}};
  const Evaluation few = First();
  const Evaluation many = MadeEvaluation(images, {"cat", "dog", "owl", "a", "b", "c", "d"});
  const auto csv = [](const Evaluation& first, const Evaluation& second) {
    const auto comparison = Compare(first, second);
    return comparison.ok() ? PrintComparison(**comparison, OutputFormat::kCsv) : comparison.status().ToString();
  };
  EXPECT_THAT(csv(many, many), HasSubstr("\ntop5,"));
  EXPECT_THAT(csv(many, few), AllOf(HasSubstr("\nmacro_f1,"), Not(HasSubstr("\ntop5,"))));
}

TEST(Compare, DistinguishesTwoPrecisionsOfAVersion) {
  const Evaluation first = First();
  Evaluation second = Second();
  for (Prediction& prediction : second.predictions) prediction.served_by = "int8 cpu";
  const auto comparison = Compare(first, second);
  ASSERT_TRUE(comparison.ok());
  const auto json = nlohmann::json::parse(PrintComparison(**comparison, OutputFormat::kJson));
  EXPECT_EQ(json["first"]["precision"], "fp32");
  EXPECT_EQ(json["second"]["precision"], "int8");
  EXPECT_THAT(PrintComparison(**comparison, OutputFormat::kTable), HasSubstr("version 3 in int8 on "));
  EXPECT_THAT(DrawComparison(**comparison, nullptr), HasSubstr("version 3 in fp32 and m version 3 in int8"));
}

TEST(Compare, SaysWhichIsBetter) {
  std::vector<MadeImage> worse, better;
  for (int i = 0; i < 40; ++i) {
    worse.push_back({0, {{i < 30 ? 1 : 0, 0.9f}}});
    better.push_back({0, {{0, 0.9f}}});
  }
  const Evaluation a = MadeEvaluation(worse), b = MadeEvaluation(better);
  const auto comparison = Compare(a, b), reverse = Compare(b, a);
  EXPECT_THAT(VerdictInWords(**comparison), HasSubstr("The second is right more often"));
  EXPECT_THAT(VerdictInWords(**comparison), HasSubstr("chi-squared 28.03"));
  EXPECT_THAT(VerdictInWords(**reverse), HasSubstr("The first is right more often"));
}

TEST(DrawComparison, ShowsTheFlipsAndEscapesTheirNames) {
  Evaluation first = First(), second = Second();
  const std::string hostile = "<script>alert(1)</script>\"'.png";
  for (Evaluation* evaluation : {&first, &second}) {
    evaluation->predictions[1].name = hostile;
    evaluation->data = "imagefolder:<i>x</i>";
    evaluation->data_labels[0] = "<b>cat</b>";
    evaluation->model.set_labels(0, "<b>cat</b>");
    evaluation->model.set_model("m<u>");
  }
  const auto comparison = Compare(first, second);
  ASSERT_TRUE(comparison.ok());
  const MadeData data(first);
  const std::string page = DrawComparison(**comparison, &data);
  for (const char* part : {"<script", "<b>cat", "<i>x", "m<u>"}) EXPECT_THAT(page, Not(HasSubstr(part)));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;&quot;"));
  size_t images = 0;
  for (size_t at = 0; (at = page.find("src=\"data:image/png", at)) != std::string::npos; ++at) ++images;
  EXPECT_EQ(images, 3u) << "the page must have an image for each flip";
  const std::string blind = DrawComparison(**comparison, nullptr);
  EXPECT_THAT(blind, HasSubstr("The data set was not found"));
  EXPECT_THAT(blind, HasSubstr("dog/3.png"));
}

}  // namespace
}  // namespace vitrine
