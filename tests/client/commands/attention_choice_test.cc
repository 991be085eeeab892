// SPDX-License-Identifier: Apache-2.0
#include "client/commands/attention_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/lib/every_kind.h"

namespace vitrine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

AttentionOptions Options(const std::vector<v1::AttentionKind>& kinds = {}) {
  return {.folder = "out", .kinds = kinds};
}

std::vector<v1::AttentionRequest> Chosen(const AttentionOptions& options, const v1::ModelVersion& model) {
  const auto requests = ChooseAttention(options, model);
  EXPECT_TRUE(requests.ok()) << requests.status();
  return requests.ok() ? *requests : std::vector<v1::AttentionRequest>();
}

std::string Refusal(const AttentionOptions& options, const v1::ModelVersion& model = ModelWithEveryKind()) {
  const auto requests = ChooseAttention(options, model);
  EXPECT_EQ(requests.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(requests.status().message());
}

v1::ModelVersion ModelWith(const std::vector<v1::AttentionKind>& kinds) {
  v1::ModelVersion model = ModelWithEveryKind();
  model.clear_attention();
  model.clear_attention_kinds();
  for (const v1::AttentionKind kind : kinds) {
    model.add_attention_kinds(kind);
    v1::AttentionOffer& offer = *model.add_attention();
    offer.set_kind(kind);
    offer.set_layers(2);
    offer.set_heads(1);
  }
  return model;
}

TEST(ChooseAttention, RequestsNoMapsWithoutAFolder) {
  EXPECT_TRUE(Chosen({.kinds = {v1::SCORES}}, ModelWithEveryKind()).empty());
}

TEST(ChooseAttention, ChoosesAMapOnTheImageIfNoKindIsGiven) {
  const auto kind = [](const std::vector<v1::AttentionKind>& kinds) {
    return Chosen(Options(), ModelWith(kinds))[0].kind();
  };
  EXPECT_EQ(kind({v1::SCORES, v1::MEAN_OVER_QUERIES, v1::ROLLOUT}), v1::MEAN_OVER_QUERIES);
  EXPECT_EQ(kind({v1::CROSS_COVARIANCE, v1::CLASS_ATTENTION}), v1::CLASS_ATTENTION);
  EXPECT_EQ(kind({v1::QUERY_ROW, v1::ROLLOUT}), v1::ROLLOUT) << "QUERY_ROW must be requested explicitly";
  EXPECT_EQ(Refusal(Options(), ModelWith({v1::CROSS_COVARIANCE})),
            "model \"sizes\" has no attention map that lies on an image; with --attention it has: channels (2 "
            "layers, 1 head)");
  EXPECT_EQ(Refusal(Options(), ModelWith({})),
            "model \"sizes\" has no attention map that lies on an image; leave out --out");
}

TEST(ChooseAttention, RefusesAServerWithTwoThousandMillionLayers) {
  v1::ModelVersion model = ModelWithEveryKind();
  for (auto& offer : *model.mutable_attention()) offer.set_layers(2'000'000'000);
  EXPECT_EQ(Refusal(Options({v1::SCORES}), model), "the server says that model \"sizes\" has 2000000000 layers");
}

TEST(HasSignedAttention, IsTrueForXVitWithoutASoftmax) {
  v1::ModelConfig config;
  EXPECT_FALSE(HasSignedAttention(config));
  config.mutable_xvit();
  EXPECT_TRUE(HasSignedAttention(config));
  config.mutable_xvit()->set_mixer(v1::XVitConfig::NONE);
  EXPECT_TRUE(HasSignedAttention(config));
  config.mutable_xvit()->set_mixer(v1::XVitConfig::SOFTMAX);
  EXPECT_FALSE(HasSignedAttention(config));
}

TEST(ChooseAttention, AnErrorListsTheKindsLayersAndHeadsOfTheModel) {
  EXPECT_EQ(Refusal(Options({v1::WEIGHTS}), ModelWith({v1::ROLLOUT, v1::CLASS_ATTENTION})),
            "model \"sizes\" has no attention of kind weights; it has: rollout, class-attention (2 layers, 1 head)");
  AttentionOptions options = Options({v1::SCORES});
  options.layers.numbers = {0, 2};
  EXPECT_EQ(Refusal(options), "model \"sizes\" has 2 layers of kind scores, 0 to 1; 2 is none of them");
  options.layers.numbers = {-3};
  EXPECT_THAT(Refusal(options), HasSubstr("-3 is none of them"));
  options.layers.numbers = {};
  options.heads.numbers = {3};
  EXPECT_EQ(Refusal(options), "model \"sizes\" has 3 heads of kind scores, 0 to 2; 3 is none of them");
}

TEST(ChooseAttention, CountsLayersAndHeadsFromZeroAndRemovesDuplicates) {
  AttentionOptions options = Options({v1::SCORES, v1::SCORES});
  options.layers.numbers = {-1, 0, 1};
  options.heads.numbers = {2, -1};
  const auto requests = Chosen(options, ModelWithEveryKind());
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_THAT(requests[0].layers(), ElementsAre(1, 0));
  EXPECT_THAT(requests[0].heads(), ElementsAre(2));
  options.layers = {.numbers = {}, .all = true};
  EXPECT_THAT(Chosen(options, ModelWithEveryKind())[0].layers(), ElementsAre(0, 1));
}

TEST(ChooseAttention, SheetsAndDistancesUseAllLayersAndHeads) {
  AttentionOptions options = Options({v1::MEAN_OVER_QUERIES, v1::ROLLOUT, v1::DISTANCE});
  auto requests = Chosen(options, ModelWithEveryKind());
  EXPECT_TRUE(requests[0].layers().empty()) << "the server uses its last layer by default";
  EXPECT_THAT(requests[2].layers(), ElementsAre(0, 1));
  EXPECT_THAT(requests[2].heads(), ElementsAre(0, 1, 2));
  EXPECT_EQ(requests[2].encoding(), v1::FLOAT32);
  options.sheet = true;
  options.layers.numbers = {1};
  requests = Chosen(options, ModelWithEveryKind());
  EXPECT_THAT(requests[0].layers(), ElementsAre(1)) << "a sheet must use the given layer";
  EXPECT_THAT(requests[0].heads(), ElementsAre(0, 1, 2));
  EXPECT_TRUE(requests[1].layers().empty()) << "a rollout has no layers";
}

TEST(ChooseAttention, AnOptionNeedsItsKindOfAttention) {
  AttentionOptions options = Options();
  options.query = QueryToken{.index = 17, .cell = {}};
  const auto requests = Chosen(options, ModelWithEveryKind());
  EXPECT_EQ(requests[0].kind(), v1::QUERY_ROW) << "a query implies the kind";
  EXPECT_EQ(requests[0].query(), 17);
  options.kinds = {v1::CLASS_TOKEN_ROW};
  EXPECT_THAT(Refusal(options), HasSubstr("--query needs --attention query"));
  options = Options({v1::CLASS_TOKEN_ROW});
  options.keep_class_mass = true;
  EXPECT_THAT(Refusal(options), HasSubstr("--keep-class-mass needs --attention distance"));
  options.kinds = {v1::DISTANCE};
  EXPECT_TRUE(Chosen(options, ModelWithEveryKind())[0].keep_class_mass());
  options = Options({v1::ROLLOUT});
  options.heads.all = true;
  EXPECT_THAT(Refusal(options), HasSubstr("--attention rollout uses all layers and heads"));
}

TEST(ChooseAttention, SendsLayersUncheckedIfTheServerReportsNone) {
  v1::ModelVersion model = ModelWithEveryKind();
  model.clear_attention();
  AttentionOptions options = Options({v1::SCORES});
  options.layers.numbers = {-1, 9};
  EXPECT_THAT(Chosen(options, model)[0].layers(), ElementsAre(-1, 9));
}

TEST(PlaceQuery, AlsoUsesTheGridOfFixedSizes) {
  v1::ModelConfig config = ModelWithEveryKind().config();
  v1::FixedResolution& fixed = *config.mutable_preprocessing()->mutable_fixed();
  fixed.set_height(28);
  fixed.set_width(28);
  fixed.set_fit(v1::FixedResolution::STRETCH);
  config.mutable_kv()->set_patch(7);
  v1::ClassifyRequest request;
  request.add_attention()->set_kind(v1::SCORES);
  request.add_attention()->set_kind(v1::QUERY_ROW);
  ASSERT_TRUE(PlaceQuery(*ParseQuery("3,2"), config, GreyPng(50, 60), request).ok());
  EXPECT_EQ(request.attention(1).query(), 14);
  EXPECT_EQ(request.attention(0).query(), 0);
  EXPECT_THAT(PlaceQuery(*ParseQuery("0,4"), config, GreyPng(50, 60), request).message(), HasSubstr("grid of 4x4"));
  EXPECT_FALSE(PlaceQuery(*ParseQuery("0,0"), config, "no image", request).ok());
}

TEST(ParseQuery, AcceptsANumberOrACell) {
  EXPECT_EQ(ParseQuery("17")->index, 17);
  EXPECT_FALSE(ParseQuery("17")->cell.has_value());
  EXPECT_EQ(*ParseQuery("3,4")->cell, std::pair(3, 4));
  for (const char* wrong : {"", "-1", "3,", "3,4,5", "3x4", "a"}) EXPECT_FALSE(ParseQuery(wrong).ok()) << wrong;
}

TEST(ParseIndices, AcceptsNumbersOrAll) {
  EXPECT_THAT(ParseIndices("0,-1")->numbers, ElementsAre(0, -1));
  EXPECT_TRUE(ParseIndices("all")->all);
  for (const char* wrong : {"", "0,", "all,1", "1;2"}) EXPECT_FALSE(ParseIndices(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace vitrine
