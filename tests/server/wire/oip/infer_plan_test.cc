// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/infer_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "server/wire/http/address.h"
#include "server/wire/oip/split_input.h"
#include "tests/server/wire/oip/infer_request.h"

namespace vitrine {
namespace {

using inference::ModelInferRequest;
using testing::Element;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Refusal;
using testing::Request;
using testing::SetOutput;

TEST(InferPlan, EachFileBecomesARequest) {
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

TEST(InferPlan, TruncatedFilesAreRefused) {
  const std::string whole = Element("one") + Element("other");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(Refusal(Request("BYTES", {2}, whole.substr(0, size))), HasSubstr("ends within element")) << size;
  }
  EXPECT_THAT(Refusal(Request("BYTES", {2}, whole + "x")), HasSubstr("1 bytes after"));
  EXPECT_THAT(Refusal(Request("BYTES", {1}, std::string("\xff\xff\xff\xff", 4))), HasSubstr("ends within"));
}

TEST(InferPlan, TensorsAreSplitByElementAndKeepTheirLayout) {
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

TEST(InferPlan, ShapesThatAreNotImagesAreRefused) {
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

TEST(InferPlan, LimitsIncludeTheirLastValue) {
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
  EXPECT_THAT(Refusal(outputs), HasSubstr("twice")) << "eight outputs are allowed, but not twice the same";
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
  timeout.set_int64_param(-1);
  EXPECT_EQ(TimeoutOf(timed).status().code(), absl::StatusCode::kInvalidArgument);
  timeout.set_int64_param(1);
  EXPECT_EQ(*TimeoutOf(timed), absl::Microseconds(1));
}

TEST(InferPlan, PriorityNumbersStartWithHigh) {
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
  priority.set_uint64_param(UINT64_MAX);
  EXPECT_THAT(Refusal(request), HasSubstr("priority"));
}

TEST(InferPlan, SequencesAreRefused) {
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

TEST(InferPlan, FilesCanBeBase64) {
  ModelInferRequest request = Request("BYTES", {2}, "");
  request.clear_raw_input_contents();
  auto& input = *request.mutable_inputs(0);
  input.mutable_contents()->add_bytes_contents("b25l");
  EXPECT_THAT(Refusal(request), HasSubstr("has 1 elements, but its shape says 2"));
  input.mutable_contents()->add_bytes_contents("b3RoZXI=");
  EXPECT_EQ(PlanInfer(*testing::Received(request), {.classes = 10})->parts[0].input, "b25l");
  auto& type = (*input.mutable_parameters())["content_type"];
  type.set_string_param("base64");
  EXPECT_EQ(PlanInfer(*testing::Received(request), {.classes = 10})->parts[0].input, "one");
  EXPECT_EQ(PlanInfer(*testing::Received(request), {.classes = 10})->parts[1].input, "other");
  input.mutable_contents()->set_bytes_contents(1, "!");
  EXPECT_THAT(Refusal(request), HasSubstr("in element 1 is not base64: byte 0 is 0x21"));
  input.mutable_contents()->set_bytes_contents(1, "b'b25l'");
  EXPECT_THAT(Refusal(request), HasSubstr("in element 1 has Python's text of bytes"));
  type.set_string_param("base32");
  EXPECT_THAT(Refusal(request), HasSubstr("only \"base64\" is supported"));
}

TEST(InferPlan, AUrlIsRefusedWithoutAParameter) {
  EXPECT_THAT(Refusal(Request("BYTES", {1}, Element("https://example.org/a.jpg"))),
              HasSubstr("in element 0 has a URL, but the server fetches nothing"));
}

TEST(InferPlan, Base64OfAnImageIsRecognizedWithoutAParameter) {
  const std::string jpeg = "\xFF\xD8\xFF\xE0 and so on";
  for (const std::string& text :
       {absl::Base64Escape(jpeg), "data:image/jpeg;base64," + absl::WebSafeBase64Escape(jpeg)}) {
    const auto plan = PlanInfer(*testing::Received(Request("BYTES", {1}, Element(text))), {.classes = 10});
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->parts[0].input, jpeg) << text;
  }
  const std::string gif = "GIF89a and so on";  // decoded too, so that a later error names the format
  EXPECT_EQ(PlanInfer(*testing::Received(Request("BYTES", {1}, Element(absl::Base64Escape(gif)))), {.classes = 10})
                ->parts[0]
                .input,
            gif);
}

TEST(InferPlan, AParameterWithoutAValueCountsAsAbsent) {
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

TEST(InferPlan, VersionsAreNumbersOrLabels) {
  EXPECT_EQ(AddressOf("m", "12")->version(), 12);
  EXPECT_FALSE(AddressOf("m", "")->has_version());
  EXPECT_EQ(AddressOf("m", "canary")->version_label(), "canary");
  EXPECT_EQ(AddressOf("m", "0").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AddressOf("m", "99999999999999999999").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(InferPlan, ValuesMustBeGivenOnce) {
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
