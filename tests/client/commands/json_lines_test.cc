// SPDX-License-Identifier: Apache-2.0
#include "client/commands/output/json_lines.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/data/file_names.h"

namespace vitrine {
namespace {

TEST(AnswerLine, NamesThatAreNotUtf8CanBeRecovered) {
  v1::ClassifyResponse answer;
  answer.add_attention();
  answer.add_features();
  const std::string name = "a\xff\"\n\\.jpg";
  const nlohmann::json line =
      nlohmann::json::parse(AnswerLine(answer, {.image = name, .attention = {name}, .features = name}));
  EXPECT_EQ(line["image"], "a\\xff\"\\x0a\\x5c.jpg");
  EXPECT_EQ(UnescapedBytes(line["image"].get<std::string>()), name);
  EXPECT_EQ(line["attention"][0]["file"], line["image"]);
  EXPECT_EQ(line["features"][0]["file"], line["image"]);
  EXPECT_EQ(nlohmann::json::parse(FailureLine(name, absl::NotFoundError("x"))),
            nlohmann::json({{"image", line["image"]}, {"error", "x"}, {"code", "NOT_FOUND"}}));
}

TEST(ModelLine, HasTheDocumentedMembers) {
  v1::ModelVersion version;
  version.set_model("m");
  version.set_version(2);
  version.set_state(v1::FAILED);
  version.set_reason("weights.safetensors is short");
  version.set_parameters(2867392);
  version.add_attention_kinds(v1::MEAN_OVER_QUERIES);
  version.add_attention()->set_kind(v1::MEAN_OVER_QUERIES);
  version.mutable_attention(0)->set_layers(8);
  version.mutable_attention(0)->set_heads(10);
  version.add_feature_kinds(v1::PATCH_TOKENS);
  version.set_feature_width(250);
  v1::Metric& metric = *version.mutable_provenance()->add_metrics();
  metric.set_name("top1");
  metric.set_value(0.9865);
  const nlohmann::json json = nlohmann::json::parse(ModelLine(version));
  EXPECT_EQ(json["licence"], "");
  version.mutable_provenance()->mutable_origin()->set_licence("mit");
  EXPECT_EQ(nlohmann::json::parse(ModelLine(version))["licence"], "mit")
      << "for an older version the licence of its download must be used";
  version.mutable_provenance()->set_licence("Apache-2.0");
  EXPECT_EQ(nlohmann::json::parse(ModelLine(version))["licence"], "Apache-2.0");
  EXPECT_EQ(json["model"], "m");
  EXPECT_EQ(json["version"], 2);
  EXPECT_EQ(json["state"], "failed");
  EXPECT_EQ(json["reason"], "weights.safetensors is short");
  EXPECT_EQ(json["parameters"], 2867392);
  EXPECT_EQ(json["attention_kinds"], nlohmann::json({"mean"}));
  EXPECT_EQ(json["attention"], nlohmann::json::parse(R"([{"kind": "mean", "layers": 8, "heads": 10}])"));
  EXPECT_EQ(json["features"], nlohmann::json({"patches"}));
  EXPECT_EQ(json["feature_width"], 250);
  EXPECT_EQ(json["metrics"][0]["value"], 0.9865);
  version.mutable_batching()->set_max_batch_images(3);
  EXPECT_EQ(nlohmann::json::parse(ModelDetailLine(version))["batching"]["max_batch_images"], 3);
}

}  // namespace
}  // namespace vitrine
