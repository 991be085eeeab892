// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/infer_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_replace.h"
#include "common/drawing/attention_words.h"
#include "server/wire/http/address.h"
#include "server/wire/oip/split_input.h"
#include "tests/server/received_messages.h"

namespace vitrine {
namespace {

using inference::ModelInferRequest;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelInferRequest Request(const std::string& datatype, const std::vector<int64_t>& shape, std::string raw) {
  ModelInferRequest request;
  request.set_model_name("m");
  auto& input = *request.add_inputs();
  input.set_name(kInputName);
  input.set_datatype(datatype);
  for (const int64_t side : shape) input.add_shape(side);
  request.add_raw_input_contents(std::move(raw));
  return request;
}

std::string Element(const std::string& bytes) {
  const auto length = static_cast<uint32_t>(bytes.size());
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + bytes;
}

void SetOutput(ModelInferRequest& request, const std::string& name, int64_t classification) {
  auto& output = *request.add_outputs();
  output.set_name(name);
  if (classification != 0) (*output.mutable_parameters())["classification"].set_int64_param(classification);
}

std::string Refusal(const ModelInferRequest& request) {
  const auto plan = PlanInfer(*testing::Received(request), {.classes = 10});
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(plan.status().message());
}

TEST(InferPlan, EachFileIsARequest) {
  const auto plan =
      PlanInfer(*testing::Received(Request("BYTES", {2, 1}, Element("one") + Element("other"))), {.classes = 10});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->parts.size(), 2u);
  EXPECT_EQ(plan->parts[0].input, "one");
  EXPECT_EQ(plan->parts[1].input, "other");
  EXPECT_EQ(plan->parts[1].message.model(), "m");
  EXPECT_EQ(plan->parts[1].message.top_k(), 10);
  EXPECT_EQ(plan->parts[1].message.priority(), v1::NORMAL);
}

TEST(InferPlan, EveryCutOfTheFilesIsRefused) {
  const std::string whole = Element("one") + Element("other");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(Refusal(Request("BYTES", {2}, whole.substr(0, size))), HasSubstr("ends within element")) << size;
  }
  EXPECT_THAT(Refusal(Request("BYTES", {2}, whole + "x")), HasSubstr("1 bytes after"));
  EXPECT_THAT(Refusal(Request("BYTES", {1}, std::string("\xff\xff\xff\xff", 4))), HasSubstr("ends within"));
}

TEST(InferPlan, TensorsAreCutByElementAndKeepTheirLayout) {
  const auto rows =
      PlanInfer(*testing::Received(Request("UINT8", {2, 2, 2, 3}, "abcdefghijklmnopqrstuvwx")), {.classes = 10});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->parts[0].input, "abcdefghijkl");
  EXPECT_EQ(rows->parts[1].input, "mnopqrstuvwx");
  EXPECT_EQ(rows->parts[1].message.tensor().layout(), v1::RawTensor::HWC);
  EXPECT_EQ(rows->parts[1].message.tensor().data_type(), v1::RawTensor::DATA_UINT8);

  const auto planes =
      PlanInfer(*testing::Received(Request("FP32", {1, 3, 2, 4}, std::string(96, '\0'))), {.classes = 10});
  ASSERT_TRUE(planes.ok()) << planes.status();
  const v1::RawTensor& tensor = planes->parts[0].message.tensor();
  EXPECT_EQ(tensor.layout(), v1::RawTensor::CHW);
  EXPECT_THAT((std::vector<int>{tensor.height(), tensor.width(), tensor.channels()}), ElementsAre(2, 4, 3));
  EXPECT_FALSE(tensor.normalized());
}

TEST(InferPlan, ShapesThatAreNoImages) {
  EXPECT_THAT(Refusal(Request("UINT8", {}, "")), HasSubstr("first dimension"));
  EXPECT_THAT(Refusal(Request("UINT8", {kMaxBatch + 1, 1, 1, 1}, "")), HasSubstr("1 to 64"));
  EXPECT_THAT(Refusal(Request("UINT8", {1, 4, 4}, "")), HasSubstr("[n, H, W, C]"));
  EXPECT_THAT(Refusal(Request("UINT8", {1, 4, 4, 2}, "")), HasSubstr("neither"));
  EXPECT_THAT(Refusal(Request("UINT8", {1, 3, 4, 3}, "")), HasSubstr("both ways"));
  EXPECT_THAT(Refusal(Request("UINT8", {1, 8193, 4, 3}, "")), HasSubstr("1 to 8192"));
  EXPECT_THAT(Refusal(Request("UINT8", {1, INT64_MAX, INT64_MAX, 3}, "")), HasSubstr("1 to 8192"));
  EXPECT_THAT(Refusal(Request("UINT8", {1, 4, 4, 3}, std::string(47, 'a'))), HasSubstr("needs 48 bytes"));
  EXPECT_THAT(Refusal(Request("FP32", {1, 4, 4, 3}, std::string(48, 'a'))), HasSubstr("needs 192 bytes"));
  EXPECT_THAT(Refusal(Request("BYTES", {1, 2}, Element("a"))), HasSubstr("[n] or [n, 1]"));
  EXPECT_THAT(Refusal(Request("FP16", {1, 4, 4, 3}, "")), HasSubstr("\"FP16\""));
}

TEST(InferPlan, EveryLimitIsTheLastThatIsTaken) {
  const auto status = [](const ModelInferRequest& request) {
    return PlanInfer(*testing::Received(request), {.classes = 10}).status().ToString();
  };
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{1, 8192, 2, 3}, {1, 2, 8192, 3}, {1, 3, 2, 8192}}) {
    EXPECT_EQ(status(Request("UINT8", shape, std::string(49152, 'a'))), "OK");
  }
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{1, 1, 8193, 3}, {1, 0, 4, 3}, {1, 4, 0, 3}}) {
    EXPECT_THAT(Refusal(Request("UINT8", shape, "")), HasSubstr("each side must be 1 to 8192"));
  }
  EXPECT_EQ(status(Request("UINT8", {kMaxBatch, 2, 2, 3}, std::string(kMaxBatch * 12, 'a'))), "OK");
  EXPECT_THAT(Refusal(Request("UINT8", {0, 1, 2, 3}, "")), HasSubstr("1 to 64 in a request"));
  EXPECT_THAT(Refusal(Request("UINT8", {1, 1, 1, 1, 1, 1, 1, 1}, "")), HasSubstr("[1, 1, 1, 1, 1, 1, 1, 1];"));
  EXPECT_THAT(Refusal(Request("UINT8", {1, 2, 3, 4, 5, 6, 7, 8, 9}, "")), HasSubstr("[1, 2, 3, 4, 5, 6, 7, 8, ...];"));

  ModelInferRequest outputs = Request("BYTES", {1}, Element("one"));
  SetOutput(outputs, kProbabilities, 1);
  EXPECT_EQ(status(outputs), "OK");
  outputs.mutable_outputs(0)->mutable_parameters()->at("classification").set_int64_param(0);
  EXPECT_THAT(Refusal(outputs), HasSubstr("\"classification\" is 0; it must be 1 or more"));
  outputs.clear_outputs();
  for (int i = 0; i < 9; ++i) SetOutput(outputs, kLogits, 0);
  EXPECT_THAT(Refusal(outputs), HasSubstr("has 9 outputs; at most 8"));
  outputs.mutable_outputs()->RemoveLast();
  EXPECT_THAT(Refusal(outputs), HasSubstr("twice")) << "eight are not too many";
  outputs.clear_outputs();
  SetOutput(outputs, "labels", 0);
  EXPECT_THAT(Refusal(outputs), HasSubstr("output \"labels\" is unknown"));

  ModelInferRequest timed;
  auto& timeout = (*timed.mutable_parameters())["timeout"];
  timeout.set_int64_param(3'600'000'000);
  EXPECT_EQ(*TimeoutOf(timed), absl::Hours(1));
  timeout.set_int64_param(3'600'000'001);
  EXPECT_EQ(TimeoutOf(timed).status().code(), absl::StatusCode::kInvalidArgument);
  timeout.set_int64_param(0);
  EXPECT_EQ(*TimeoutOf(timed), absl::InfiniteDuration());
  timeout.set_int64_param(1);
  EXPECT_EQ(*TimeoutOf(timed), absl::Microseconds(1));
}

TEST(InferPlan, PrioritiesAreCountedFromHigh) {
  ModelInferRequest request = Request("BYTES", {1}, Element("one"));
  auto& priority = (*request.mutable_parameters())["priority"];
  const v1::Priority kMeant[] = {v1::NORMAL, v1::HIGH, v1::NORMAL, v1::LOW};
  for (int level = 0; level <= 3; ++level) {
    priority.set_int64_param(level);
    EXPECT_EQ(PlanInfer(*testing::Received(request), {.classes = 10})->parts[0].message.priority(), kMeant[level])
        << level;
  }
  for (const int level : {-1, 4}) {
    priority.set_int64_param(level);
    EXPECT_THAT(Refusal(request), HasSubstr("it must be 1 (high), 2 (normal), 3 (low) or 0")) << level;
  }
}

TEST(InferPlan, ASequenceHasANumberOrAName) {
  ModelInferRequest request = Request("BYTES", {1}, Element("one"));
  auto& sequence = (*request.mutable_parameters())["sequence_id"];
  sequence.set_string_param("");
  EXPECT_TRUE(PlanInfer(*testing::Received(request), {.classes = 10}).ok());
  sequence.set_uint64_param(0);
  EXPECT_TRUE(PlanInfer(*testing::Received(request), {.classes = 10}).ok());
  sequence.set_string_param("a");
  EXPECT_THAT(Refusal(request), HasSubstr("sequence"));
  sequence.set_uint64_param(1);
  EXPECT_THAT(Refusal(request), HasSubstr("sequence"));
}

TEST(InferPlan, AttentionIsAnOutput) {
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
  const v1::AttentionRequest& wish = plan->parts[0].message.attention(0);
  EXPECT_EQ(wish.kind(), v1::WEIGHTS);
  EXPECT_EQ(wish.encoding(), v1::FLOAT32);
  EXPECT_THAT(wish.layers(), ElementsAre(INT32_MAX));
  EXPECT_THAT(wish.heads(), ElementsAre(INT32_MIN));
  EXPECT_EQ(plan->parts[0].message.max_attention_bytes(), 16 << 20);
  EXPECT_TRUE(plan->parts[0].message.omit_predictions()) << "nobody asked for them";
  EXPECT_FALSE(plan->parts[0].message.has_top_k());
  EXPECT_EQ(plan->outputs[0].name, kAttention);
  for (const int64_t beyond : {int64_t{INT32_MAX} + 1, int64_t{INT32_MIN} - 1}) {
    parameters["layer"].set_int64_param(beyond);
    EXPECT_THAT(Refusal(request), HasSubstr("no model has that")) << beyond;
  }
}

TEST(InferPlan, AttentionNeedsNoParameterOfTheOutput) {
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
  EXPECT_EQ(planned().kind(), v1::ROLLOUT) << "as vitrine classify chooses";
  auto& parameters = *request.mutable_parameters();
  parameters["attention_kind"].set_string_param("weights");
  parameters["attention_layer"].set_int64_param(-1);
  parameters["attention_head"].set_int64_param(2);
  EXPECT_EQ(planned().kind(), v1::WEIGHTS);
  EXPECT_THAT(planned().layers(), ElementsAre(-1));
  EXPECT_THAT(planned().heads(), ElementsAre(2));
  (*request.mutable_outputs(0)->mutable_parameters())["layer"].set_int64_param(0);
  EXPECT_THAT(planned().layers(), ElementsAre(0)) << "the output's own counts";
  parameters["attention_kind"].set_string_param("spell");
  EXPECT_THAT(Refusal(request), HasSubstr("it is \"spell\""));
  request.mutable_outputs(0)->Clear();
  request.mutable_outputs(0)->set_name(kLogits);
  EXPECT_THAT(Refusal(request), HasSubstr("needs the output \"attention\""));
}

TEST(InferPlan, KindsOfAttentionAreCalledAsTheDocsCallThem) {
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

TEST(InferPlan, AnEmbeddingIsAVectorThatTheModelHas) {
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
  EXPECT_EQ(planned().features(0).kind(), v1::CLASS_TOKEN) << "the first vector";
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
  parameters.erase("kind");
  EXPECT_THAT(refusal({.classes = 10}), HasSubstr("an embedding was requested; this model has none"));
}

TEST(InferPlan, WhetherAnAnswerIsUnsureNeedsOneClass) {
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

TEST(InferPlan, WithoutOutputsBothAreMeant) {
  const auto plan = PlanInfer(*testing::Received(Request("BYTES", {1}, Element("one"))), {.classes = 10});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->outputs.size(), 2u);
  EXPECT_EQ(plan->outputs[0].name, kProbabilities);
  EXPECT_EQ(plan->outputs[1].name, kLogits);
  EXPECT_FALSE(plan->parts[0].message.omit_predictions());
}

TEST(InferPlan, FilesMayComeAsText) {
  ModelInferRequest request = Request("BYTES", {2}, "");
  request.clear_raw_input_contents();
  auto& input = *request.mutable_inputs(0);
  input.mutable_contents()->add_bytes_contents("b25l");
  EXPECT_THAT(Refusal(request), HasSubstr("has 1 bytes_contents, but its shape says 2"));
  input.mutable_contents()->add_bytes_contents("b3RoZXI=");
  EXPECT_EQ(PlanInfer(*testing::Received(request), {.classes = 10})->parts[0].input, "b25l");
  auto& type = (*input.mutable_parameters())["content_type"];
  type.set_string_param("base64");
  EXPECT_EQ(PlanInfer(*testing::Received(request), {.classes = 10})->parts[0].input, "one");
  EXPECT_EQ(PlanInfer(*testing::Received(request), {.classes = 10})->parts[1].input, "other");
  input.mutable_contents()->set_bytes_contents(1, "!");
  EXPECT_THAT(Refusal(request), HasSubstr("in element 1 is not base64: byte 0 is 0x21"));
  type.set_string_param("base32");
  EXPECT_THAT(Refusal(request), HasSubstr("only \"base64\" is supported"));
}

TEST(InferPlan, TextOfAImageIsKnownWithoutBeingSaid) {
  const std::string jpeg = "\xFF\xD8\xFF\xE0 and so on";
  for (const std::string& text :
       {absl::Base64Escape(jpeg), "data:image/jpeg;base64," + absl::WebSafeBase64Escape(jpeg)}) {
    const auto plan = PlanInfer(*testing::Received(Request("BYTES", {1}, Element(text))), {.classes = 10});
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->parts[0].input, jpeg) << text;
  }
  const std::string gif = "GIF89a and so on";  // decoded too, so that the refusal names it
  EXPECT_EQ(PlanInfer(*testing::Received(Request("BYTES", {1}, Element(absl::Base64Escape(gif)))), {.classes = 10})
                ->parts[0]
                .input,
            gif);
}

TEST(InferPlan, AParameterWithoutAValueIsAsAbsent) {
  ModelInferRequest request = Request("BYTES", {1}, Element("one"));
  for (const char* name : {"priority", "timeout", "sequence_id", "no such parameter"})
    (*request.mutable_parameters())[name];
  (*request.mutable_inputs(0)->mutable_parameters())["content_type"];
  SetOutput(request, kLogits, 0);
  (*request.mutable_outputs(0)->mutable_parameters())["classification"];
  const auto plan = PlanInfer(*testing::Received(request), {.classes = 10});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->parts[0].input, "one");
  EXPECT_EQ(*TimeoutOf(request), absl::InfiniteDuration());
}

TEST(InferPlan, LayoutAndNormalizedAreParameters) {
  ModelInferRequest request = Request("FP32", {1, 3, 4, 3}, std::string(144, '\0'));
  auto& parameters = *request.mutable_inputs(0)->mutable_parameters();
  parameters["layout"].set_string_param("NCHW");
  parameters["normalized"].set_bool_param(true);
  const auto plan = PlanInfer(*testing::Received(request), {.classes = 10});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->parts[0].message.tensor().height(), 4);
  EXPECT_TRUE(plan->parts[0].message.tensor().normalized());
  parameters["layout"].set_string_param("NHWC");
  EXPECT_EQ(PlanInfer(*testing::Received(request), {.classes = 10})->parts[0].message.tensor().height(), 3);
  parameters["layout"].set_string_param("HWC");
  EXPECT_THAT(Refusal(request), HasSubstr("\"HWC\""));
  parameters["layout"].set_int64_param(1);
  EXPECT_THAT(Refusal(request), HasSubstr("must be a string"));
}

TEST(InferPlan, TheSizeOfBinaryDataIsIgnored) {
  ModelInferRequest request = Request("UINT8", {1, 2, 2, 3}, "abcdefghijkl");
  auto& parameters = *request.mutable_inputs(0)->mutable_parameters();
  parameters["binary_data_size"].set_int64_param(12);
  const auto plan = PlanInfer(*testing::Received(request), {.classes = 10});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->parts[0].input, "abcdefghijkl");
  parameters["binary_data_sizes"].set_int64_param(12);
  EXPECT_THAT(Refusal(request), HasSubstr("\"binary_data_sizes\", which is unknown"));
}

TEST(InferPlan, TopKIsWhatTheLargestOutputNeeds) {
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

TEST(InferPlan, VersionsAreNumbersOrLabels) {
  EXPECT_EQ(AddressOf("m", "12")->version(), 12);
  EXPECT_FALSE(AddressOf("m", "")->has_version());
  EXPECT_EQ(AddressOf("m", "canary")->version_label(), "canary");
  EXPECT_EQ(AddressOf("m", "0").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AddressOf("m", "99999999999999999999").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(InferPlan, PriorityTimeoutAndSequence) {
  ModelInferRequest request = Request("BYTES", {1}, Element("one"));
  auto& parameters = *request.mutable_parameters();
  parameters["priority"].set_uint64_param(1);
  EXPECT_EQ(PlanInfer(*testing::Received(request), {.classes = 10})->parts[0].message.priority(), v1::HIGH);
  parameters["priority"].set_int64_param(3);
  EXPECT_EQ(PlanInfer(*testing::Received(request), {.classes = 10})->parts[0].message.priority(), v1::LOW);
  parameters["priority"].set_uint64_param(UINT64_MAX);
  EXPECT_THAT(Refusal(request), HasSubstr("priority"));
  parameters.erase("priority");

  EXPECT_EQ(*TimeoutOf(request), absl::InfiniteDuration());
  parameters["timeout"].set_int64_param(1500);
  EXPECT_EQ(*TimeoutOf(request), absl::Microseconds(1500));
  parameters["timeout"].set_int64_param(-1);
  EXPECT_EQ(TimeoutOf(request).status().code(), absl::StatusCode::kInvalidArgument);
  parameters.erase("timeout");

  parameters["sequence_id"].set_int64_param(0);
  EXPECT_TRUE(PlanInfer(*testing::Received(request), {.classes = 10}).ok());
  parameters["sequence_id"].set_int64_param(4);
  EXPECT_THAT(Refusal(request), HasSubstr("sequence"));
}

TEST(InferPlan, ValuesThatAreThereTwice) {
  ModelInferRequest request = Request("UINT8", {1, 2, 2, 3}, std::string(12, 'a'));
  request.mutable_inputs(0)->mutable_contents()->add_uint_contents(1);
  EXPECT_THAT(Refusal(request), HasSubstr("twice"));
  request.clear_raw_input_contents();
  EXPECT_THAT(Refusal(request), HasSubstr("1 values"));
  for (int i = 1; i < 12; ++i) request.mutable_inputs(0)->mutable_contents()->add_uint_contents(i);
  request.mutable_inputs(0)->mutable_contents()->set_uint_contents(0, 255);
  const auto plan = PlanInfer(*testing::Received(request), {.classes = 10});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->parts[0].input, "\xff\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b");
  request.mutable_inputs(0)->mutable_contents()->set_uint_contents(0, 256);
  EXPECT_THAT(Refusal(request), HasSubstr("256"));
}

}  // namespace
}  // namespace vitrine
