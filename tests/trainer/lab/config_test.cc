// SPDX-License-Identifier: Apache-2.0
// Tests that inconsistent configs are rejected with an error that names the field.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "trainer/lab/sequence_model.h"
#include "trainer/lab/zoo.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using v1::SequenceConfig;

// Returns the config of a row of the zoo, with some fields replaced by `text`.
SequenceConfig With(std::string_view row, const std::string& text) {
  SequenceConfig config = FindSequence(row)->config, change;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &change)) << text;
  config.MergeFrom(change);
  return config;
}

std::string Refusal(const SequenceConfig& config) {
  const absl::Status status = MakeSequenceModel(config, 0, at::kMeta).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(SequenceConfig, EveryRowIsValid) {
  for (const SequenceRow& row : SequenceZoo()) EXPECT_EQ(ValidateSequence(row.config), absl::OkStatus()) << row.name;
}

TEST(SequenceConfig, ErrorsNameTheField) {
  const std::string task = "task-kv-d64-l2", pos = "task-kv-pos-d64-l2", numbers = "numbers-kv-d64-l4",
                    translation = "translation-kv-d64-l1";
  EXPECT_THAT(Refusal(With(task, "heads: 5")),
              HasSubstr("config.width is 64; it must be a multiple of config.heads, which is 5"));
  SequenceConfig config = With(task, "");
  config.set_depth(0);
  EXPECT_THAT(Refusal(config), HasSubstr("config.depth is 0; it must be 1 to 256"));
  EXPECT_THAT(Refusal(With(task, "width: -4")), HasSubstr("config.width is -4"));
  EXPECT_THAT(Refusal(With(task, "heads: 65")), HasSubstr("config.heads is 65; it must be 1 to 64"));
  EXPECT_THAT(Refusal(With(task, "mlp_width: 70000")), HasSubstr("config.mlp_width is 70000"));
  EXPECT_THAT(Refusal(With(task, "max_length: 20000")), HasSubstr("config.max_length is 20000"));
  EXPECT_THAT(Refusal(With(task, "width: 63 heads: 3")),
              HasSubstr("config.width is 63; it must be even for sinusoidal positions"));
  EXPECT_THAT(Refusal(With(task, "features { width: -1 }")), HasSubstr("config.features.width is -1"));
  EXPECT_THAT(Refusal(With(task, "position_channels: 10")),
              HasSubstr("config.position_channels is set; only attention KV_POS has them"));
  EXPECT_THAT(Refusal(With(task, "map_pos_per_head: true")), HasSubstr("config.map_pos_per_head is set"));
  EXPECT_THAT(Refusal(With(pos, "position_channels: 2")), HasSubstr("config.position_channels is 2"));
  EXPECT_THAT(Refusal(With(task, "dropping: HIDDEN_LAYER")), HasSubstr("config.dropping names HIDDEN_LAYER twice"));
  EXPECT_THAT(Refusal(With(task, "head: TIED")), HasSubstr("config.head is TIED; this needs config.tokens"));
  EXPECT_THAT(Refusal(With(numbers, "outputs: 29")), HasSubstr("config.outputs is 29; with a TIED head"));
  EXPECT_THAT(Refusal(With(numbers, "tokens { vocabulary: -2 }")), HasSubstr("config.tokens.vocabulary is -2"));
  EXPECT_THAT(Refusal(With(translation, "causal: true")), HasSubstr("config.causal is set with config.pair"));
  EXPECT_THAT(Refusal(With(translation, "pair { padding: 10000 }")), HasSubstr("config.pair.padding is 10000"));
  EXPECT_THAT(Refusal(With(translation, "outputs: 3")), HasSubstr("config.outputs is 3; with config.pair"));
}

TEST(SequenceConfig, ErrorsNameMissingAndUnknownValues) {
  SequenceConfig config = With("task-kv-d64-l2", "");
  config.clear_outputs();
  EXPECT_THAT(Refusal(config), HasSubstr("config.outputs is 0"));
  config = With("task-kv-d64-l2", "");
  config.clear_input();
  EXPECT_THAT(Refusal(config), HasSubstr("config.input is missing"));
  for (const auto& [field, sentence] : {std::pair<std::string, std::string>{"attention", "QKV, KV or KV_POS"},
                                        {"score_scale", "FULL_WIDTH or HEAD_WIDTH"},
                                        {"norm", "POST, PRE or PRE_NORMALISED"},
                                        {"positions", "NONE, INTERLEAVED, HALVES or LEARNED"},
                                        {"head", "LINEAR, HIDDEN or TIED"},
                                        {"initial", "FAN_IN, XAVIER_ATTENTION, XAVIER_BLOCKS or XAVIER"}}) {
    config = With("task-kv-d64-l2", "");
    const auto* descriptor = SequenceConfig::GetDescriptor()->FindFieldByName(field);
    SequenceConfig::GetReflection()->ClearField(&config, descriptor);
    EXPECT_THAT(Refusal(config), HasSubstr("config." + field + " is missing; it must be " + sentence));
    SequenceConfig::GetReflection()->SetEnumValue(&config, descriptor, 99);
    EXPECT_THAT(Refusal(config), HasSubstr("config." + field + " is unknown; it must be " + sentence));
  }
  config = With("task-kv-d64-l2", "");
  config.mutable_dropping()->Add(99);
  EXPECT_THAT(Refusal(config), HasSubstr("config.dropping is unknown"));
}

}  // namespace
}  // namespace vitrine
