// SPDX-License-Identifier: Apache-2.0
// Tests the function that parses a URL's query into a classify request.
#include "server/wire/http/classify_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "server/wire/http/curl_line.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string WhyNot(std::string_view query) {
  const absl::StatusOr<ClassifyQuery> read = ParseClassifyQuery(query);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << query;
  return std::string(read.status().message());
}

TEST(QueryString, IsDecodedInOrder) {
  EXPECT_THAT(*ParseQueryString("b=1&a=x%20y+z&&c&d=&=e&f=1=2&%67=%C3%A9"),
              ElementsAre(Pair("b", "1"), Pair("a", "x y z"), Pair("c", ""), Pair("d", ""), Pair("", "e"),
                          Pair("f", "1=2"), Pair("g", "\xC3\xA9")));
  EXPECT_TRUE(ParseQueryString("")->empty());
}

TEST(QueryString, InvalidEncodingsAreRefused) {
  for (const char* query : {"a=%", "a=%4", "a=%zz", "%g1=2", "a=1&b=%2"}) {
    EXPECT_THAT(ParseQueryString(query).status().message(), HasSubstr("two hexadecimal digits must follow each %"))
        << query;
  }
  EXPECT_THAT(ParseQueryString("a=%00").status().message(), HasSubstr("zero byte"));
  for (const char* query : {"a=%FF", "a=%C3", "a=%ED%A0%80", "a=%C0%80", "\xFF=1", "a=%5C%22%FF"}) {
    EXPECT_THAT(ParseQueryString(query).status().message(), HasSubstr("not UTF-8")) << query;
  }
  EXPECT_TRUE(ParseQueryString("a=%5C%22%0A").ok()) << "characters that JSON escapes are valid UTF-8";
}

TEST(QueryString, AnyBytesAreParsedOrRefused) {
  std::mt19937 random(1);
  const std::string often = "%&=+:,x0af9attention";
  for (int i = 0; i < 20000; ++i) {
    std::string query = i % 2 == 0 ? "attention=" : "";
    for (size_t size = random() % 24; size > 0; --size) {
      query += random() % 4 == 0 ? static_cast<char>(random()) : often[random() % often.size()];
    }
    const absl::StatusOr<ClassifyQuery> read = ParseClassifyQuery(query);
    EXPECT_TRUE(read.ok() || absl::IsInvalidArgument(read.status())) << query;
  }
}

TEST(ClassifyQuery, EveryParameterIsRead) {
  const absl::StatusOr<ClassifyQuery> read = ParseClassifyQuery(
      "top_k=3&resolution=48x32&priority=high&version_label=canary&request_id=a%20b&deadline=1.5s&"
      "attention=mean:0,-1:all&attention=rollout&attention=scores::1&attention_encoding=float&features=patches,class");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->request.top_k(), 3);
  EXPECT_EQ(read->request.resolution().height(), 48);
  EXPECT_EQ(read->request.resolution().width(), 32);
  EXPECT_EQ(read->request.priority(), v1::HIGH);
  EXPECT_EQ(read->request.version_label(), "canary");
  EXPECT_EQ(read->request.request_id(), "a b");
  EXPECT_EQ(read->deadline, absl::Milliseconds(1500));
  EXPECT_EQ(read->attention_encoding, v1::FLOAT32);
  ASSERT_EQ(read->attention.size(), 3);
  EXPECT_EQ(read->attention[0].kind, v1::MEAN_OVER_QUERIES);
  EXPECT_THAT(read->attention[0].layers.numbers, ElementsAre(0, -1));
  EXPECT_TRUE(read->attention[0].heads.all);
  EXPECT_FALSE(read->attention[1].layers.all || read->attention[1].heads.all);
  EXPECT_TRUE(read->attention[2].layers.numbers.empty());
  EXPECT_THAT(read->attention[2].heads.numbers, ElementsAre(1));
  ASSERT_EQ(read->request.features_size(), 2);
  EXPECT_EQ(read->request.features(0).kind(), v1::PATCH_TOKENS);
  EXPECT_EQ(read->request.features(1).kind(), v1::CLASS_TOKEN);
  EXPECT_EQ(ParseClassifyQuery("priority=low")->request.priority(), v1::LOW);
  EXPECT_EQ(ParseClassifyQuery("priority=normal")->request.priority(), v1::NORMAL);
  EXPECT_EQ(ParseClassifyQuery("attention=rollout&attention_encoding=png")->attention_encoding, v1::OVERLAY_PNG);
  const absl::StatusOr<ClassifyQuery> none = ParseClassifyQuery("");
  EXPECT_FALSE(none->request.has_top_k() || none->request.has_resolution());
  EXPECT_EQ(none->deadline, absl::InfiniteDuration());
}

TEST(ClassifyQuery, NormalizeAppliesToEveryFeatureAtAnyPosition) {
  for (const char* query : {"normalize=true&features=mean,class", "features=mean,class&normalize=true"}) {
    const absl::StatusOr<ClassifyQuery> read = ParseClassifyQuery(query);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(read->request.features(0).normalize() && read->request.features(1).normalize());
  }
  EXPECT_FALSE(ParseClassifyQuery("features=mean")->request.features(0).normalize());
  EXPECT_FALSE(ParseClassifyQuery("features=mean&normalize=false")->request.features(0).normalize());
}

TEST(ClassifyQuery, ErrorsNameTheFaultAndTheValidValues) {
  EXPECT_THAT(WhyNot("topk=3"), AllOf(HasSubstr("\"topk\""), HasSubstr("top_k, resolution, priority, version_label, "
                                                                       "request_id, deadline, attention, "
                                                                       "attention_encoding")));
  for (const char* value : {"", "0", "-1", "1.5", "x", "99999999999"}) {
    EXPECT_THAT(WhyNot(std::string("top_k=") + value), HasSubstr("a whole number from 1")) << value;
  }
  for (const char* value : {"", "0", "48x", "0x4", "8193x1", "4x4x4", "axb"}) {
    EXPECT_THAT(WhyNot(std::string("resolution=") + value), HasSubstr("HEIGHTxWIDTH")) << value;
  }
  for (const char* value : {"", "HIGH", "1"}) {
    EXPECT_THAT(WhyNot(std::string("priority=") + value), HasSubstr("high, normal or low")) << value;
  }
  for (const char* value : {"", "2", "0s", "-1s", "61s", "inf", "x"}) {
    EXPECT_THAT(WhyNot(std::string("deadline=") + value), HasSubstr("2s or 500ms")) << value;
  }
  EXPECT_EQ(WhyNot("timeout=2s"), "parameter timeout is now deadline");
  EXPECT_THAT(WhyNot("version_label="), HasSubstr("stable or canary"));
  EXPECT_THAT(WhyNot("attention=rollout&attention_encoding=float16"), HasSubstr("png or float"));
  EXPECT_THAT(WhyNot("attention_encoding=png"), HasSubstr("add attention=KIND"));
  EXPECT_THAT(WhyNot("attention=ROLLOUT"), AllOf(HasSubstr("\"ROLLOUT\""), HasSubstr("class, mean, rollout, scores")));
  EXPECT_THAT(WhyNot("attention=mean:x"), AllOf(HasSubstr("layers"), HasSubstr("or all")));
  EXPECT_THAT(WhyNot("attention=mean:0:1,"), AllOf(HasSubstr("heads"), HasSubstr("or all")));
  EXPECT_THAT(WhyNot("attention=query:0:1:2:3"), HasSubstr("KIND:LAYERS:HEADS"));
  EXPECT_THAT(WhyNot("attention=mean:0:1:2"), AllOf(HasSubstr("kind mean"), HasSubstr("only query has one")));
  for (const char* patch : {"", "x", "-1", "1.5", "1,2"}) {
    EXPECT_THAT(WhyNot(std::string("attention=query:::") + patch), HasSubstr("row * columns + column")) << patch;
  }
  for (const char* words : {"", "all", "mean,", "class;mean"}) {
    EXPECT_THAT(WhyNot(std::string("features=") + words), HasSubstr("class, mean, patches, registers or projection"))
        << words;
  }
  EXPECT_THAT(WhyNot("features=mean,class,mean"), HasSubstr("mean twice"));
  EXPECT_THAT(WhyNot("normalize=true"), HasSubstr("add features=KIND"));
  EXPECT_THAT(WhyNot("features=mean&normalize=1"), HasSubstr("true or false"));
  EXPECT_THAT(WhyNot("top_k=1&top_k=1"), HasSubstr("top_k is given twice"));
  EXPECT_LT(WhyNot(std::string(10000, 'x')).size(), 400) << "the caller's text must be cut";
}

TEST(AttentionParameter, NeedsAPatchForAQuery) {
  AttentionAbility ability;
  ability.offers = {{.kind = v1::QUERY_ROW, .layers = 2, .heads = 3}};
  const v1::AttentionRequest row = *AttentionOf(*ParseAttentionParameter("query:-1:all:27"), ability, v1::FLOAT32);
  EXPECT_EQ(row.query(), 27);
  EXPECT_THAT(row.layers(), ElementsAre(-1));
  EXPECT_THAT(row.heads(), ElementsAre(0, 1, 2));
  EXPECT_EQ(AttentionOf(*ParseAttentionParameter("query"), ability, v1::FLOAT32)->query(), 0);
}

TEST(AttentionParameter, BecomesAnAttentionRequest) {
  AttentionAbility ability;
  ability.offers = {{.kind = v1::MEAN_OVER_QUERIES, .layers = 2, .heads = 3},
                    {.kind = v1::DISTANCE, .layers = 2, .heads = 3}};
  const auto ask = [&](const char* text, std::optional<v1::AttentionEncoding> encoding) {
    return AttentionOf(*ParseAttentionParameter(text), ability, encoding);
  };
  const v1::AttentionRequest all = *ask("mean:all:all", v1::FLOAT32);
  EXPECT_THAT(all.layers(), ElementsAre(0, 1));
  EXPECT_THAT(all.heads(), ElementsAre(0, 1, 2));
  EXPECT_EQ(all.encoding(), v1::FLOAT32);
  EXPECT_EQ(ask("mean", std::nullopt)->encoding(), v1::OVERLAY_PNG);
  EXPECT_THAT(ask("mean:-1", std::nullopt)->layers(), ElementsAre(-1));
  EXPECT_EQ(ask("distance", std::nullopt)->encoding(), v1::FLOAT32) << "this map cannot be drawn on the image";
  EXPECT_THAT(ask("distance", v1::OVERLAY_PNG).status().message(), HasSubstr("leave attention_encoding out"));
  EXPECT_THAT(ask("class", std::nullopt).status().message(), HasSubstr("it has mean, distance"));
  ability.offers.clear();
  EXPECT_THAT(ask("class", std::nullopt).status().message(), HasSubstr("it has no attention"));
}

}  // namespace
}  // namespace vitrine
