// SPDX-License-Identifier: Apache-2.0
// Tests the outputs that a request of the Open Inference Protocol names, with their parameters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "common/drawing/attention_words.h"
#include "server/wire/oip/infer_answer.h"
#include "tests/server/wire/oip/infer_request.h"

namespace vitrine {
namespace {

using inference::ModelInferRequest;
using ::testing::AllOf;
using testing::Element;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Refusal;
using testing::Request;
using testing::SetOutput;

TEST(InferOutputs, AttentionIsAnOutput) {
  ModelInferRequest request = Request("BYTES", {1}, Element("one"));
  SetOutput(request, kAttention, 0);
  EXPECT_THAT(Refusal(request), HasSubstr("needs the parameter kind"));
  auto& parameters = *request.mutable_outputs(0)->mutable_parameters();
  for (const char* bad : {"spell", "ATTENTION_KIND_UNSPECIFIED", "attention-kind-unspecified", ""}) {
    parameters["kind"].set_string_param(bad);
    EXPECT_THAT(Refusal(request), AllOf(HasSubstr(std::string("it is \"") + bad + "\""), HasSubstr("class-attention")));
  }
  parameters["kind"].set_string_param("WEIGHTS");
  parameters["layer"].set_int64_param(INT32_MAX);
  parameters["head"].set_int64_param(INT32_MIN);
  const auto plan = PlanInfer(*testing::Received(request), {.classes = 10});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->parts[0].message.attention_size(), 1);
  const v1::AttentionRequest& requested = plan->parts[0].message.attention(0);
  EXPECT_EQ(requested.kind(), v1::WEIGHTS);
  EXPECT_EQ(requested.encoding(), v1::FLOAT32);
  EXPECT_THAT(requested.layers(), ElementsAre(INT32_MAX));
  EXPECT_THAT(requested.heads(), ElementsAre(INT32_MIN));
  EXPECT_EQ(plan->parts[0].message.max_attention_bytes(), 16 << 20);
  EXPECT_TRUE(plan->parts[0].message.omit_predictions()) << "the request names no output with predictions";
  EXPECT_FALSE(plan->parts[0].message.has_top_k());
  EXPECT_EQ(plan->outputs[0].name, kAttention);
  for (const int64_t beyond : {int64_t{INT32_MAX} + 1, int64_t{INT32_MIN} - 1}) {
    parameters["layer"].set_int64_param(beyond);
    EXPECT_THAT(Refusal(request), HasSubstr("no model has that")) << beyond;
  }
}

TEST(InferOutputs, AttentionHasDefaultsAndParametersOfTheRequest) {
  ModelInferRequest request = Request("BYTES", {1}, Element("one"));
  SetOutput(request, kAttention, 0);
  const AttentionAbility ability = {
      .offers = {{.kind = v1::WEIGHTS}, {.kind = v1::QUERY_ROW}, {.kind = v1::ROLLOUT}, {.kind = v1::CLASS_ATTENTION}}};
  const PlannedModel model = {.classes = 10, .attention = &ability};
  const auto planned = [&] {
    const auto plan = PlanInfer(*testing::Received(request), model);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? plan->parts[0].message.attention(0) : v1::AttentionRequest();
  };
  EXPECT_EQ(planned().kind(), v1::ROLLOUT) << "the default is that of `vitrine classify`";
  auto& parameters = *request.mutable_parameters();
  parameters["attention_kind"].set_string_param("weights");
  parameters["attention_layer"].set_int64_param(-1);
  parameters["attention_head"].set_int64_param(2);
  EXPECT_EQ(planned().kind(), v1::WEIGHTS);
  EXPECT_THAT(planned().layers(), ElementsAre(-1));
  EXPECT_THAT(planned().heads(), ElementsAre(2));
  (*request.mutable_outputs(0)->mutable_parameters())["layer"].set_int64_param(0);
  EXPECT_THAT(planned().layers(), ElementsAre(0)) << "the parameter of the output overrides that of the request";
  parameters["attention_head"].set_string_param("all");
  EXPECT_THAT(Refusal(request), HasSubstr("parameter \"attention_head\" must be a whole number"));
  parameters["attention_kind"].set_string_param("spell");
  EXPECT_THAT(Refusal(request), HasSubstr("it is \"spell\""));
  request.mutable_outputs(0)->Clear();
  request.mutable_outputs(0)->set_name(kLogits);
  EXPECT_THAT(Refusal(request), HasSubstr("needs the output \"attention\""));
}

TEST(InferOutputs, KindsOfAttentionHaveTheNamesOfTheDocs) {
  ModelInferRequest request = Request("BYTES", {1}, Element("one"));
  SetOutput(request, kAttention, 0);
  auto& kind = (*request.mutable_outputs(0)->mutable_parameters())["kind"];
  const auto read = [&](const std::string& name) {
    kind.set_string_param(name);
    const auto plan = PlanInfer(*testing::Received(request), {.classes = 10});
    return plan.ok() ? plan->parts[0].message.attention(0).kind() : v1::ATTENTION_KIND_UNSPECIFIED;
  };
  for (const std::string& word : AttentionKindNames()) {
    const v1::AttentionKind meant = *AttentionKindOf(word);
    const std::string constant = v1::AttentionKind_Name(meant);
    for (const std::string& name : {word, absl::AsciiStrToUpper(word), absl::StrReplaceAll(word, {{"-", "_"}}),
                                    constant, absl::AsciiStrToLower(constant)}) {
      EXPECT_EQ(read(name), meant) << name;
    }
  }
}

TEST(InferOutputs, AnEmbeddingMustBeAVectorOfTheModel) {
  ModelInferRequest request = Request("BYTES", {1}, Element("one"));
  SetOutput(request, kEmbedding, 0);
  auto& parameters = *request.mutable_outputs(0)->mutable_parameters();
  const PlannedModel model = {.classes = 10,
                              .features = {.kinds = {v1::PATCH_TOKENS, v1::CLASS_TOKEN, v1::MEAN_TOKEN}}};
  const auto planned = [&] {
    const auto plan = PlanInfer(*testing::Received(request), model);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? plan->parts[0].message : v1::ClassifyRequest();
  };
  EXPECT_EQ(planned().features(0).kind(), v1::CLASS_TOKEN) << "the default is the first vector";
  EXPECT_FALSE(planned().features(0).normalize());
  EXPECT_TRUE(planned().omit_predictions());
  EXPECT_EQ(planned().max_attention_bytes(), 16 << 20);
  parameters["kind"].set_string_param("mean");
  parameters["normalize"].set_bool_param(true);
  EXPECT_EQ(planned().features(0).kind(), v1::MEAN_TOKEN);
  EXPECT_TRUE(planned().features(0).normalize());
  const auto refusal = [&](const PlannedModel& asked) {
    return std::string(PlanInfer(*testing::Received(request), asked).status().message());
  };
  parameters["kind"].set_string_param("patches");
  EXPECT_THAT(refusal(model), HasSubstr("of the kind \"patches\" was requested; this model has class and mean"));
  parameters["kind"].set_string_param("registers");
  EXPECT_THAT(refusal(model), HasSubstr("of the kind \"registers\" was requested; this model has class and mean"));
  parameters.erase("kind");
  EXPECT_THAT(refusal({.classes = 10}), HasSubstr("an embedding was requested; this model has none"));
}

TEST(InferOutputs, RegistersAreOneTensor) {
  ModelInferRequest request = Request("BYTES", {1}, Element("one"));
  SetOutput(request, kEmbedding, 0);
  (*request.mutable_outputs(0)->mutable_parameters())["kind"].set_string_param("registers");
  const auto plan =
      PlanInfer(*testing::Received(request), {.features = {.kinds = {v1::MEAN_TOKEN, v1::REGISTER_TOKENS}}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->parts[0].message.features(0).kind(), v1::REGISTER_TOKENS);
  v1::ClassifyResponse part;
  v1::Feature& feature = *part.add_features();
  feature.set_kind(v1::REGISTER_TOKENS);
  feature.set_rows(1);
  feature.set_columns(4);
  feature.set_width(3);
  feature.set_values(std::string(4 * 3 * sizeof(float), '\1'));
  const auto answer = MakeInferResponse(plan->outputs, {part, part});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->outputs(0).shape(), ElementsAre(2, 4, 3));
  EXPECT_EQ(answer->raw_output_contents(0).size(), 2 * feature.values().size());
}

TEST(InferOutputs, TheOutputUnsureNeedsOnePrediction) {
  ModelInferRequest request = Request("BYTES", {1}, Element("one"));
  SetOutput(request, kUnsure, 0);
  const auto alone = PlanInfer(*testing::Received(request), {.classes = 10});
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->parts[0].message.top_k(), 1);
  EXPECT_FALSE(alone->parts[0].message.omit_predictions());
  EXPECT_EQ(alone->outputs[0].name, kUnsure);
  SetOutput(request, kLogits, 0);
  EXPECT_EQ(PlanInfer(*testing::Received(request), {.classes = 10})->parts[0].message.top_k(), 10);
  (*request.mutable_outputs(0)->mutable_parameters())["classification"].set_int64_param(1);
  EXPECT_THAT(Refusal(request), HasSubstr("\"classification\""));
}

TEST(InferOutputs, TheDefaultOutputsAreProbabilitiesAndLogits) {
  const auto plan = PlanInfer(*testing::Received(Request("BYTES", {1}, Element("one"))), {.classes = 10});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->outputs.size(), 2u);
  EXPECT_EQ(plan->outputs[0].name, kProbabilities);
  EXPECT_EQ(plan->outputs[1].name, kLogits);
  EXPECT_FALSE(plan->parts[0].message.omit_predictions());
}

TEST(InferOutputs, TopKIsTheMaximumOfTheOutputs) {
  ModelInferRequest request = Request("BYTES", {1}, Element("one"));
  SetOutput(request, kProbabilities, 3);
  EXPECT_EQ(PlanInfer(*testing::Received(request), {.classes = 10})->parts[0].message.top_k(), 3);
  SetOutput(request, kLogits, 5);
  EXPECT_EQ(PlanInfer(*testing::Received(request), {.classes = 10})->parts[0].message.top_k(), 5);
  EXPECT_EQ(PlanInfer(*testing::Received(request), {.classes = 4})->parts[0].message.top_k(), 4);
  SetOutput(request, kLogits, 0);
  EXPECT_THAT(Refusal(request), HasSubstr("twice"));
  request.mutable_outputs(1)->clear_parameters();
  request.mutable_outputs()->RemoveLast();
  const auto plan = PlanInfer(*testing::Received(request), {.classes = 10});
  EXPECT_EQ(plan->parts[0].message.top_k(), 10);
  EXPECT_EQ(plan->outputs[0].classification, 3);
  EXPECT_EQ(plan->outputs[1].classification, 0);
}

}  // namespace
}  // namespace vitrine
