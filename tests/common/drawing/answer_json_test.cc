// SPDX-License-Identifier: Apache-2.0
// Tests the JSON of an answer.
#include "common/drawing/answer_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace vitrine {
namespace {

using nlohmann::json;

std::string BytesOf(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

TEST(AnswerJson, HasEveryFieldOfTheAnswer) {
  v1::ClassifyResponse answer;
  answer.set_request_id("a \"b\"\n");
  answer.mutable_served_by()->set_model("m");
  answer.mutable_served_by()->set_version(3);
  answer.mutable_served_by()->set_precision("fp32");
  answer.mutable_served_by()->set_device("cpu");
  answer.mutable_served_by()->set_weights_sha256("0123");
  answer.mutable_timings()->set_queue(0.25F);
  answer.mutable_timings()->set_total(1.5F);
  v1::Prediction& prediction = *answer.add_predictions();
  prediction.set_index(7);
  prediction.set_label("label \xFF");
  prediction.set_probability(0.1F);
  prediction.set_logit(-std::numeric_limits<float>::min());
  v1::AttentionMap& map = *answer.add_attention();
  map.set_kind(v1::ROLLOUT);
  map.set_layer(-1);
  map.set_head(-1);
  map.set_rows(2);
  map.set_columns(3);
  map.set_encoding(v1::FLOAT32);
  const std::vector<float> values = {1.0F / 3, 1e-30F, -0.0F, 3e38F, std::nanf(""), 5};
  map.set_values(BytesOf(values));
  v1::AttentionMap& drawn = *answer.add_attention();
  drawn.set_kind(v1::MEAN_OVER_QUERIES);
  drawn.set_layer(1);
  drawn.set_head(2);
  drawn.set_encoding(v1::OVERLAY_PNG);
  drawn.set_values("any");
  drawn.set_diverging(true);
  drawn.mutable_covers()->set_left(0.5F);
  drawn.mutable_covers()->set_height(9);

  v1::Grid& grid = *answer.mutable_grid();
  grid.set_rows(10);
  grid.set_columns(14);
  grid.set_input_height(40);
  grid.set_input_width(56);
  grid.set_image_height(250);
  grid.set_image_width(360);
  grid.mutable_covers()->set_width(359.5F);
  answer.mutable_batch()->set_images(3);
  answer.mutable_batch()->set_tokens(99);
  answer.mutable_batch()->set_grids(2);
  answer.mutable_batch()->set_id(uint64_t{1} << 40);
  v1::Feature& feature = *answer.add_features();
  feature.set_kind(v1::MEAN_TOKEN);
  feature.set_rows(1);
  feature.set_columns(1);
  feature.set_width(3);
  feature.set_normalized(true);
  feature.set_values(BytesOf({0.1F, -2, 3}));

  const std::string text = AnswerJson(answer);
  EXPECT_EQ(text.back(), '\n');
  const json read = json::parse(text);
  EXPECT_EQ(read["model"], "m");
  EXPECT_EQ(read["version"], 3);
  EXPECT_EQ(read["request_id"], "a \"b\"\n");
  EXPECT_EQ(read["served_by"], json::parse(R"({"precision": "fp32", "device": "cpu", "weights_sha256": "0123"})"));
  EXPECT_EQ(read["timings_ms"]["queue"], 250);
  EXPECT_EQ(read["timings_ms"]["total"], 1500);
  EXPECT_EQ(read["timings_ms"].size(), 5);
  EXPECT_EQ(read["grid"],
            json::parse(R"({"rows": 10, "columns": 14, "input_height": 40, "input_width": 56, "image_height": 250,
                            "image_width": 360, "covers": {"left": 0, "top": 0, "width": 359.5, "height": 0}})"));
  EXPECT_EQ(read["batch"], json::parse(R"({"images": 3, "tokens": 99, "grids": 2, "id": 1099511627776})"));
  ASSERT_EQ(read["features"].size(), 1);
  EXPECT_EQ(read["features"][0]["kind"], "mean");
  EXPECT_EQ(read["features"][0]["width"], 3);
  EXPECT_EQ(read["features"][0]["normalized"], true);
  EXPECT_EQ(read["features"][0]["values"].get<std::vector<float>>(), (std::vector<float>{0.1F, -2, 3}));
  const json& first = read["predictions"].at(0);
  EXPECT_EQ(first["index"], 7);
  EXPECT_EQ(first["label"], "label \xEF\xBF\xBD");
  EXPECT_EQ(first["probability"].get<float>(), 0.1F);
  EXPECT_NE(text.find("\"probability\":0.1,"), std::string::npos)
      << "a probability must have no more digits than a float needs: " << text;
  EXPECT_EQ(first["logit"].get<float>(), -std::numeric_limits<float>::min());
  const json& rollout = read["attention"].at(0);
  EXPECT_EQ(rollout["kind"], "rollout");
  EXPECT_TRUE(rollout["layer"].is_null() && rollout["head"].is_null());
  EXPECT_FALSE(rollout.contains("covers") || rollout.contains("png"));
  EXPECT_EQ(rollout["diverging"], false);
  for (int i = 0; i < 6; ++i) {
    const json& value = rollout["values"].at(i / 3).at(i % 3);
    if (i == 4) {
      EXPECT_TRUE(value.is_null());
    } else {
      EXPECT_EQ(value.get<float>(), values[i]) << i;
    }
  }
  const json& overlay = read["attention"].at(1);
  EXPECT_EQ(overlay["png"], "YW55");
  EXPECT_EQ(overlay["layer"], 1);
  EXPECT_EQ(overlay["head"], 2);
  EXPECT_EQ(overlay["diverging"], true);
  EXPECT_EQ(overlay["covers"], json::parse(R"({"left": 0.5, "top": 0, "width": 0, "height": 9})"));
  EXPECT_FALSE(overlay.contains("values"));
}

TEST(AnswerJson, AnEmptyAnswerIsValidJson) {
  const json read = json::parse(AnswerJson({}));
  EXPECT_TRUE(read["predictions"].is_array() && read["predictions"].empty());
  EXPECT_TRUE(read["attention"].is_array() && read["attention"].empty());
}

}  // namespace
}  // namespace vitrine
