// SPDX-License-Identifier: Apache-2.0
#include "trainer/inspect/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/trainer/inspect/trained_sequences.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::Lt;

TEST(DrawToken, DrawsByProbability) {
  const std::vector<float> logits = {0, 1, 1, -1};
  // The ids 1, 2, 0 and 3 have the probabilities 0.3995, 0.3995, 0.147 and 0.054.
  const auto drawn = [&](const GenerateOptions& options, const std::vector<double>& uniform) {
    std::vector<int64_t> ids;
    for (const double u : uniform) ids.push_back(DrawToken(logits, options, u));
    return ids;
  };
  EXPECT_THAT(drawn({}, {0, 0.39, 0.41, 0.79, 0.81, 0.94, 0.95, 0.999999}), ElementsAre(1, 1, 2, 2, 0, 0, 3, 3));
  EXPECT_THAT(drawn({.temperature = 0}, {0, 0.999999}), ElementsAre(1, 1));
  EXPECT_THAT(drawn({.top_k = 2}, {0.49, 0.51, 0.999999}), ElementsAre(1, 2, 2));
  EXPECT_THAT(drawn({.temperature = 1e6}, {0.24, 0.26, 0.51, 0.76}), ElementsAre(1, 2, 0, 3)) << "nearly equal shares";
  EXPECT_THAT(drawn({.temperature = 1e-6}, {0.999999}), ElementsAre(2)) << "the most likely two";
}

TEST(Generate, TheSeedDeterminesTheText) {
  const SequenceRun run = testing::RunOf(testing::NumbersText("kv-pos"));
  const NamedSequence start = *run.Read("one thousand two");
  const auto follows = [&](GenerateOptions options) {
    std::vector<int64_t> ids;
    options.context = 8;
    options.vocabulary = 30;
    options.tokens = 20;
    EXPECT_TRUE(Generate(run.model(), start.batch, options, [&](int64_t id) { ids.push_back(id); }).ok());
    EXPECT_EQ(ids.size(), 20);
    EXPECT_THAT(ids, ::testing::Each(Lt(30)));
    return ids;
  };
  EXPECT_EQ(follows({.temperature = 0, .seed = 1}), follows({.temperature = 0, .seed = 2}));
  EXPECT_EQ(follows({.temperature = 0}), follows({.top_k = 1}));
  EXPECT_EQ(follows({.seed = 1}), follows({.seed = 1}));
  EXPECT_NE(follows({.seed = 1}), follows({.seed = 2}));
}

}  // namespace
}  // namespace vitrine
