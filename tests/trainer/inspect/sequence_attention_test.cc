// SPDX-License-Identifier: Apache-2.0
#include "trainer/inspect/sequence_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/trainer/inspect/trained_sequences.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<SequenceMap> MapsOf(const SequenceRun& run, const NamedSequence& sequence, const MapChoice& choice) {
  const auto maps = CollectMaps(run.model(), sequence, choice);
  EXPECT_TRUE(maps.ok()) << maps.status();
  return maps.value_or(std::vector<SequenceMap>());
}

TEST(CollectMaps, HasWeightsThatSumTo1OrScores) {
  const SequenceRun run = testing::RunOf(testing::DigitsText("kv"));
  const NamedSequence digits = *run.Read("314159");
  const std::vector<SequenceMap> weights = MapsOf(run, digits, {}), scores = MapsOf(run, digits, {.scores = true});
  ASSERT_EQ(weights.size(), 8) << "two layers of four heads";
  for (const SequenceMap& map : weights) {
    EXPECT_THAT(map.queries, ElementsAre("3", "1", "4", "1", "5", "9"));
    EXPECT_EQ(map.keys, map.queries);
    for (int row = 0; row < 6; ++row) {
      EXPECT_NEAR(std::accumulate(&map.values[row * 6], &map.values[row * 6] + 6, 0.0), 1, 1e-6);
    }
  }
  for (const SequenceMap& map : scores) EXPECT_NEAR(map.values[1], map.values[6], 1e-6) << "symmetric without queries";
}

TEST(CollectMaps, SelectsALayerAHeadOrTheirMean) {
  const SequenceRun run = testing::RunOf(testing::DigitsText("kv"));
  const NamedSequence digits = *run.Read("2 7 1 8");
  const std::vector<SequenceMap> heads = MapsOf(run, digits, {.layer = 1}),
                                 one = MapsOf(run, digits, {.layer = 1, .head = "2"}),
                                 mean = MapsOf(run, digits, {.layer = 1, .head = "mean"});
  ASSERT_EQ(one.size(), 1);
  EXPECT_EQ(one[0].values, heads[2].values);
  EXPECT_EQ(one[0].layer, 1);
  EXPECT_EQ(one[0].head, 2);
  ASSERT_EQ(mean.size(), 1);
  EXPECT_EQ(mean[0].head, -1);
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_NEAR(mean[0].values[i],
                (heads[0].values[i] + heads[1].values[i] + heads[2].values[i] + heads[3].values[i]) / 4, 1e-6);
  }
  const auto refusal = [&](const MapChoice& choice) {
    return std::string(CollectMaps(run.model(), digits, choice).status().message());
  };
  EXPECT_EQ(refusal({.layer = 2}), "--layer 2 does not exist; the model has 0 to 1");
  EXPECT_EQ(refusal({.head = "4"}), "--head 4 does not exist; the model has 0 to 3");
  EXPECT_EQ(refusal({.head = "all"}), "--head all: give the index of a head, or mean");
}

TEST(CollectMaps, LaterWordsGetNoAttention) {
  const SequenceRun run = testing::RunOf(testing::NumbersText("kv"));
  for (const SequenceMap& map : MapsOf(run, *run.Read("one . two"), {})) {
    EXPECT_EQ(map.values[0], 1);
    EXPECT_EQ(map.values[1] + map.values[2] + map.values[5], 0);
  }
}

TEST(CollectMaps, ATranslationHasThreeParts) {
  const SequenceRun run = testing::RunOf(testing::TranslationText(), "generated:numbers");
  const std::vector<SequenceMap> maps = MapsOf(run, *run.Sample(0), {.head = "mean"});
  ASSERT_EQ(maps.size(), 3);
  const std::vector<std::string>&source = maps[0].queries, &target = maps[1].queries;
  EXPECT_EQ(source.front(), "<bos>");
  EXPECT_EQ(source.back(), "<eos>");
  EXPECT_EQ(target.front(), "<bos>");
  EXPECT_NE(target.back(), "<eos>") << "the last one is predicted";
  EXPECT_EQ(maps[0].keys, source);
  EXPECT_EQ(maps[1].keys, target);
  EXPECT_EQ(maps[2].queries, target);
  EXPECT_EQ(maps[2].keys, source);
  EXPECT_EQ(maps[2].part, "target to source");
  EXPECT_EQ(maps[2].values.size(), source.size() * target.size());
}

TEST(SequenceFigureFile, HasEveryMapWithItsTokens) {
  SequenceFigure figure{.title = "numbers, KV", .note = "step 4"};
  for (int i = 0; i < 4; ++i) {
    figure.maps.push_back({.layer = i / 2, .head = i % 2, .queries = {"<bos>", "für"}, .keys = {"a", "b", "' '"}});
    figure.maps.back().values = {0.1F, 0.2F, 0.7F, 1, 0, 0};
  }
  const std::string svg = *SequenceFigureFile(figure, "svg");
  EXPECT_THAT(svg, StartsWith("<svg "));
  for (const char* part : {"layer 0, head 0", "layer 1, head 1", ">&lt;bos&gt;<", ">für<", "black to yellow: 0 to 1"}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
  EXPECT_THAT(*SequenceFigureFile(figure, "png"), StartsWith("\x89PNG"));
  figure.maps[3].head = -1;
  const auto json = nlohmann::json::parse(*SequenceFigureFile(figure, "json"));
  EXPECT_EQ(json["maps"].size(), 4);
  EXPECT_EQ(json["maps"][2]["layer"], 1);
  EXPECT_EQ(json["maps"][2]["queries"][1], "für");
  EXPECT_EQ(json["maps"][2]["columns"], 3);
  EXPECT_EQ(json["maps"][1]["values"][2], 0.7) << "the shortest number";
  EXPECT_TRUE(json["maps"][3]["head"].is_null());
}

}  // namespace
}  // namespace vitrine
