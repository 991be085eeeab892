// SPDX-License-Identifier: Apache-2.0
// Tests the targets of the digit tasks and the sets of the anomaly task.
#include "trainer/lab/data/sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int> Target(std::string_view task, const std::vector<int>& digits) {
  return TargetOf(*ParseDigitTask(task), digits);
}

TEST(DigitTask, TargetsEqualThoseOfThePaper) {
  const std::vector<int> digits{3, 1, 4, 1, 5};
  EXPECT_THAT(Target("reverse", digits), ElementsAre(5, 1, 4, 1, 3));
  EXPECT_THAT(Target("sort", digits), ElementsAre(1, 1, 3, 4, 5));
  EXPECT_THAT(Target("swap", digits), ElementsAre(4, 1, 5, 3, 1)) << "split at floor(5 / 2)";
  EXPECT_THAT(Target("swap", {1, 2, 3, 4}), ElementsAre(3, 4, 1, 2));
  EXPECT_THAT(Target("sub", digits), ElementsAre(6, 8, 5, 8, 4));
  EXPECT_THAT(Target("copy", digits), ElementsAre(3, 1, 4, 1, 5));
  EXPECT_THAT(Target("swap", {7}), ElementsAre(7));
}

TEST(DigitTask, AnUnknownNameListsTheTasks) {
  const absl::Status status = ParseDigitTask("rotate").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.ToString(), HasSubstr("reverse, sort, swap, sub, copy"));
}

// Returns the labels of 60 images, 15 of each of four classes, in mixed order.
std::vector<int> Labels() {
  std::vector<int> labels;
  for (int i = 0; i < 60; ++i) labels.push_back(i * 7 % 4);
  return labels;
}

Below Random(uint64_t seed) {
  return [generator = std::mt19937_64(seed)](int64_t bound) mutable {
    return static_cast<int64_t>(generator() % static_cast<uint64_t>(bound));
  };
}

TEST(AnomalySets, HaveOneAnomalyAmongImagesOfOneClass) {
  const std::vector<int> labels = Labels();
  const AnomalySets sets = *AnomalySets::Make(labels);
  const Below below = Random(1);
  for (int64_t anomaly = 0; anomaly < sets.images(); ++anomaly) {
    const AnomalySet set = sets.Draw(anomaly, below);
    ASSERT_EQ(set.images.size(), 10u);
    EXPECT_EQ(set.images[set.anomaly], anomaly);
    EXPECT_EQ(std::set<int64_t>(set.images.begin(), set.images.end()).size(), 10u) << "an image twice";
    std::set<int> others;
    for (int i = 0; i < 10; ++i) {
      if (i != set.anomaly) others.insert(labels[set.images[i]]);
    }
    ASSERT_EQ(others.size(), 1u);
    EXPECT_NE(*others.begin(), labels[anomaly]);
  }
}

TEST(AnomalySets, ClassesPositionsAndImagesAreUniform) {
  const std::vector<int> labels = Labels();
  const AnomalySets sets = *AnomalySets::Make(labels);
  const Below below = Random(2);
  constexpr int kDraws = 6000;
  std::map<int, int> classes, places;
  std::map<int64_t, int> images;
  for (int i = 0; i < kDraws; ++i) {
    const AnomalySet set = sets.Draw(0, below);
    ++places[set.anomaly];
    ++classes[labels[set.images[set.anomaly == 0 ? 1 : 0]]];
    for (const int64_t image : set.images) ++images[image];
  }
  ASSERT_EQ(classes.size(), 3u);
  for (const auto& [label, count] : classes) EXPECT_NEAR(count, kDraws / 3.0, 200) << label;
  ASSERT_EQ(places.size(), 10u);
  for (const auto& [place, count] : places) EXPECT_NEAR(count, kDraws / 10.0, 120) << place;
  images.erase(0);
  ASSERT_EQ(images.size(), 45u);
  for (const auto& [image, count] : images) EXPECT_NEAR(count, kDraws * 9 / 45.0, 170) << image;
}

TEST(AnomalySets, TheAnomalyCanAlwaysBeLast) {
  const AnomalySets sets = *AnomalySets::Make(Labels(), 10, AnomalyPlace::kLast);
  const Below below = Random(3);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(sets.Draw(i, below).anomaly, 9);
}

TEST(AnomalySets, RefuseDataWithoutPossibleSets) {
  EXPECT_THAT(AnomalySets::Make(Labels(), 2).status().ToString(), HasSubstr("at least 3"));
  EXPECT_THAT(AnomalySets::Make(std::vector<int>(20, 0), 10).status().ToString(), HasSubstr("two classes"));
  EXPECT_THAT(AnomalySets::Make(Labels(), 17).status().ToString(), HasSubstr("class 0 has 15 images"));
  EXPECT_TRUE(AnomalySets::Make(Labels(), 16).ok());
  EXPECT_THAT(AnomalySets::Make(std::vector<int>{0, 0, 0, 2, 2, 2}, 3).status().ToString(),
              HasSubstr("class 1 has 0 images"));
}

}  // namespace
}  // namespace vitrine
