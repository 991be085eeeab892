// SPDX-License-Identifier: Apache-2.0
#include "client/commands/output/json_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/data/file_names.h"

namespace vitrine {
namespace {

v1::ClassifyResponse AnswerAboutACat() {
  v1::ClassifyResponse answer;
  v1::Prediction& prediction = *answer.add_predictions();
  prediction.set_index(3);
  prediction.set_label("cat");
  prediction.set_probability(0.1f);
  prediction.set_logit(-2.5f);
  for (const int layer : {5, -1}) {
    v1::AttentionMap& map = *answer.add_attention();
    map.set_kind(layer < 0 ? v1::ROLLOUT : v1::CLASS_TOKEN_ROW);
    map.set_layer(layer);
    map.set_head(layer < 0 ? -1 : 2);
    map.set_rows(9);
    map.set_columns(6);
    map.mutable_covers()->set_width(48);
  }
  answer.mutable_served_by()->set_model("m");
  answer.mutable_served_by()->set_version(4);
  answer.mutable_timings()->set_total(0.25f);
  answer.mutable_grid()->set_rows(9);
  answer.mutable_batch()->set_id(1ull << 60);
  return answer;
}

TEST(ClassificationLine, HasTheDocumentedMembers) {
  const std::string line = ClassificationLine("a/cat.jpg", AnswerAboutACat(), {"out/1.png", "out/2.png"});
  EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line";
  const nlohmann::json json = nlohmann::json::parse(line);
  EXPECT_EQ(json["image"], "a/cat.jpg");
  EXPECT_EQ(json["model"], "m");
  EXPECT_EQ(json["version"], 4);
  EXPECT_EQ(json["predictions"],
            nlohmann::json::parse(R"([{"index": 3, "label": "cat", "probability": 0.1, "logit": -2.5}])"))
      << "0.1f is written as 0.1";
  EXPECT_EQ(json["attention"][0]["kind"], "class");
  EXPECT_EQ(json["attention"][0]["layer"], 5);
  EXPECT_EQ(json["attention"][0]["head"], 2);
  EXPECT_EQ(json["attention"][0]["rows"], 9);
  EXPECT_EQ(json["attention"][0]["columns"], 6);
  EXPECT_EQ(json["attention"][0]["diverging"], false);
  EXPECT_EQ(json["attention"][0]["file"], "out/1.png");
  EXPECT_EQ(json["attention"][0]["covers"]["width"], 48);
  EXPECT_EQ(json["attention"][1]["kind"], "rollout");
  EXPECT_TRUE(json["attention"][1]["layer"].is_null());
  EXPECT_TRUE(json["attention"][1]["head"].is_null());
  EXPECT_EQ(json["batch"]["id"], 1ull << 60);
  for (const char* stage : {"queue", "decode", "compute", "encode", "total"}) {
    EXPECT_TRUE(json["timings"][stage].is_number()) << stage;
  }
  for (const char* member : {"rows", "columns", "input_height", "input_width", "image_height", "image_width"}) {
    EXPECT_TRUE(json["grid"][member].is_number_integer()) << member;
  }
  for (const char* member : {"images", "tokens", "grids"}) EXPECT_TRUE(json["batch"][member].is_number_integer());
}

TEST(ClassificationLine, NamesThatAreNotUtf8CanBeHadBack) {
  const std::string name = "a\xff\"\n\\.jpg";
  const std::string line = ClassificationLine(name, AnswerAboutACat(), {});
  EXPECT_EQ(nlohmann::json::parse(line)["image"], "a\\xff\"\\x0a\\x5c.jpg");
  EXPECT_EQ(UnescapedBytes(nlohmann::json::parse(line)["image"].get<std::string>()), name);
  EXPECT_EQ(nlohmann::json::parse(FailureLine(name, absl::NotFoundError("x")))["image"], EscapedBytes(name));
  EXPECT_FALSE(nlohmann::json::parse(line)["attention"][0].contains("file"));
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
