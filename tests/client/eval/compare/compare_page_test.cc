// SPDX-License-Identifier: Apache-2.0
// Tests how many images and classes the page of a comparison shows.
#include "client/eval/compare/compare_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/eval/compare/compare.h"
#include "tests/client/eval/made_evaluation.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t CountOf(const std::string& part, const std::string& text) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

float FirstConfidence(int i) {
  return 0.5f + 0.0004f * static_cast<float>(i);
}
float SecondConfidence(int i) {
  return 0.9f - 0.0004f * static_cast<float>(i);
}

// Returns the page of a comparison with `flips` images. The first model is right about every image, and the second
// model is wrong about every image. The second model is most confident on the first images.
std::string PageOfFlips(int flips) {
  std::vector<MadeImage> right, wrong;
  for (int i = 0; i < flips; ++i) {
    right.push_back({i % 3, {{i % 3, FirstConfidence(i)}}});
    wrong.push_back({i % 3, {{(i + 1) % 3, SecondConfidence(i)}}});
  }
  const Evaluation first = MadeEvaluation(right), second = MadeEvaluation(wrong);
  return DrawComparison(**Compare(first, second), nullptr);
}

constexpr char kAll[] = "All images: image, label, first, second";

TEST(ComparePage, ShowsTwentyFourFlipsAndNamesTheOthers) {
  const std::string all = PageOfFlips(24), more = PageOfFlips(25);
  EXPECT_EQ(CountOf("<p>second: ", all), 24u);
  EXPECT_THAT(all, Not(HasSubstr(kAll)));
  EXPECT_EQ(CountOf("<p>second: ", more), 24u);
  EXPECT_THAT(more, HasSubstr(kAll));
  EXPECT_THAT(more, HasSubstr(">25 images; the most confident answers of the second first.</p>"));
  const char* labels[] = {"cat", "dog", "owl"};
  for (const int i : {0, 1, 23, 24}) {
    const std::string label = labels[i % 3], name = absl::StrCat(label, "/", i, ".png");
    const std::string first = absl::StrFormat("%s, %.1f %%", label, 100 * FirstConfidence(i));
    const std::string second = absl::StrFormat("%s, %.1f %%", labels[(i + 1) % 3], 100 * SecondConfidence(i));
    const std::string card =
        absl::StrCat("<p>label: ", label, "</p><p>first: ", first, "</p><p>second: ", second, "</p><p>", name, "</p>");
    EXPECT_EQ(CountOf(card, more), i < 24 ? 1u : 0u) << card;
    EXPECT_EQ(CountOf(absl::StrCat(name, "\t", label, "\t", first, "\t", second, "\n"), more), 1u) << name;
  }
  EXPECT_EQ(CountOf("\n", more.substr(more.find(kAll), more.find("</pre>") - more.find(kAll))), 25u);
}

TEST(ComparePage, NamesAThousandFlips) {
  EXPECT_THAT(PageOfFlips(1000), Not(HasSubstr("more; --format json has")));
  const std::string page = PageOfFlips(1002);
  EXPECT_THAT(page, HasSubstr("cat/999.png\t"));
  EXPECT_THAT(page, Not(HasSubstr("dog/1000.png\t")));
  EXPECT_THAT(page, HasSubstr("\nand 2 more; --format json has them\n"));
}

TEST(ComparePage, HasAHundredClasses) {
  for (const int classes : {100, 101}) {
    std::vector<MadeImage> images;
    for (int i = 0; i < classes; ++i) images.push_back({i, {{i, 0.9f}}});
    const Evaluation both = MadeEvaluation(images, MadeLabels(classes));
    const std::string page = DrawComparison(**Compare(both, both), nullptr);
    EXPECT_EQ(CountOf("<tr><th scope=\"row\">kind ", page), 100u);
    EXPECT_EQ(CountOf(" 100 of 101 classes.", page), classes == 100 ? 0u : 1u);
    EXPECT_THAT(page, HasSubstr(">None.</p>")) << "there are no flips";
  }
}

TEST(ComparePage, LeavesOutRowsWithoutAValue) {
  const std::vector<MadeImage> one = {{0, {{0, 0.9f}}}};
  Evaluation first = MadeEvaluation(one), second = MadeEvaluation(one);
  const auto page = [&] { return DrawComparison(**Compare(first, second), nullptr); };
  EXPECT_THAT(page(), Not(HasSubstr("<tr><th scope=\"row\">recipe</th>")));
  EXPECT_THAT(
      page(),
      HasSubstr("<tr><th scope=\"row\">resolution</th><td>the model's policy</td><td>the model's policy</td></tr>"));
  first.model.mutable_provenance()->set_recipe("one");
  EXPECT_THAT(page(), HasSubstr("<tr><th scope=\"row\">recipe</th><td>one</td><td></td></tr>"));
  std::swap(first, second);
  EXPECT_THAT(page(), HasSubstr("<tr><th scope=\"row\">recipe</th><td></td><td>one</td></tr>"));
}

}  // namespace
}  // namespace vitrine
