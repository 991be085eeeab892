// SPDX-License-Identifier: Apache-2.0
#include "client/commands/classify_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/commands/output/text.h"

namespace vitrine {
namespace {

v1::ClassifyResponse AnswerOf(const std::vector<std::pair<std::string, float>>& predictions, int rows, int columns) {
  v1::ClassifyResponse answer;
  for (const auto& [label, probability] : predictions) {
    v1::Prediction& prediction = *answer.add_predictions();
    prediction.set_label(label);
    prediction.set_probability(probability);
  }
  answer.mutable_grid()->set_rows(rows);
  answer.mutable_grid()->set_columns(columns);
  answer.mutable_batch()->set_id(3);
  answer.mutable_batch()->set_images(2);
  answer.mutable_batch()->set_grids(2);
  answer.mutable_batch()->set_tokens(110);
  answer.mutable_timings()->set_total(0.0041f);
  answer.mutable_served_by()->set_model("eit-mini-cifar10");
  answer.mutable_served_by()->set_version(3);
  answer.mutable_served_by()->set_precision("fp32");
  answer.mutable_served_by()->set_device("cpu");
  answer.mutable_served_by()->set_weights_sha256("1f0c9ab2d4e5f60718");
  return answer;
}

std::string PageOf(int width, int overlay_width = 0) {
  ClassifyPage page({.width = width}, {.images = {"samples/cat.jpg", "samples/truck.jpg"},
                                       .labels = {"automobile", "cat", "deer", "dog", "frog", "truck"},
                                       .predictions = 3,
                                       .overlay_width = overlay_width});
  std::string text = page.Header();
  text += page.Text("samples/cat.jpg", AnswerOf({{"cat", 0.9123f}, {"dog", 0.051f}, {"deer", 0.0004f}}, 9, 6),
                    {"out/cat.mean.layer7.png"});
  text += page.Text("samples/truck.jpg", AnswerOf({{"truck", 1}, {"automobile", 0}, {"frog", 0}}, 7, 8),
                    {"out/truck.mean.layer7.png"});
  return text + page.Footer(absl::Milliseconds(25));
}

constexpr char kFooter[] =
    "\n"
    "2 images in 25.0 ms, 80.0 per second\n"
    "eit-mini-cifar10 version 3, fp32 on cpu, weights 1f0c9ab2d4e5\n"
    "batch #3: 2 images, 2 grids, 110 tokens\n";

TEST(ClassifyPage, AWidePage) {
  EXPECT_EQ(PageOf(160, 30), absl::StrCat(&R"(
image              predictions                                                  grid  batch          time  attention
samples/cat.jpg    cat         91.2 %  dog 5.1 %  deer 0.0 %                     9x6  #3 of 2      4.1 ms  out/cat.mean.layer7.png
samples/truck.jpg  truck      100.0 %  automobile 0.0 %  frog 0.0 %              7x8  #3 of 2      4.1 ms  out/truck.mean.layer7.png
)"[1],
                                          kFooter));
}

TEST(ClassifyPage, EightyColumns) {
  EXPECT_EQ(PageOf(80, 30), absl::StrCat(&R"(
image              predictions                         grid  batch          time
samples/cat.jpg    cat         91.2 %  dog 5.1 %        9x6  #3 of 2      4.1 ms
                   deer 0.0 %
                   out/cat.mean.layer7.png
samples/truck.jpg  truck      100.0 %                   7x8  #3 of 2      4.1 ms
                   automobile 0.0 %  frog 0.0 %
                   out/truck.mean.layer7.png
)"[1],
                                         kFooter));
}

TEST(ClassifyPage, FortyColumns) {
  EXPECT_EQ(PageOf(40, 30), absl::StrCat(&R"(
samples/cat.jpg
    cat         91.2 %  dog 5.1 %
    deer 0.0 %
    grid 9x6  batch #3 of 2  time 4.1 ms
    out/cat.mean.layer7.png
samples/truck.jpg
    truck      100.0 %  automobile 0.0 %
    frog 0.0 %
    grid 7x8  batch #3 of 2  time 4.1 ms
    out/truck.mean.layer7.png
)"[1],
                                         kFooter));
}

TEST(ClassifyPage, ManyBatchesBecomeOneLine) {
  ClassifyPage page({}, {.images = {"a.png"}, .labels = {"cat"}});
  for (uint64_t id = 1; id <= 9; ++id) {
    v1::ClassifyResponse answer = AnswerOf({{"cat", 1}}, 1, 1);
    answer.mutable_batch()->set_id(id);
    answer.mutable_batch()->set_images(static_cast<int>(id % 9) + 1);  // 2, 3, ..., 9, 1: neither sorted nor reversed
    page.Text("a.png", answer, {});
  }
  EXPECT_THAT(page.Footer(absl::Seconds(2)), testing::HasSubstr("9 images in 2.00 s, 4.5 per second\n"));
  EXPECT_THAT(page.Footer(absl::Seconds(2)), testing::HasSubstr("9 batches of 1 to 9 images, up to 2 grids in one\n"));
}

TEST(ClassifyPage, WithoutAnswersThereIsNoFooter) {
  EXPECT_EQ(ClassifyPage({}, {.images = {"a.png"}, .labels = {}}).Footer(absl::Seconds(1)), "");
}

TEST(ClassifyPage, LabelsCannotBreakThePage) {
  ClassifyPage page({.width = 60}, {.images = {"a.png"}, .labels = {}});
  const std::string row =
      page.Text("a.png", AnswerOf({{"escape \x1b[2J and a label that goes on and on", 0.5f}, {"", 0.25f}}, 2, 2), {});
  EXPECT_THAT(row, testing::Not(testing::HasSubstr("\x1b")));
  EXPECT_THAT(row, testing::HasSubstr("class 0 25.0 %"));
  for (const auto& line : absl::StrSplit(row, '\n')) EXPECT_LE(DisplayWidth(line), 60);
}

}  // namespace
}  // namespace vitrine
