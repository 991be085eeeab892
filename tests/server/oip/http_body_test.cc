// SPDX-License-Identifier: Apache-2.0
#include "server/oip/http_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

namespace vitrine {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kBinaryHead[] =
    R"({"inputs":[{"name":"image","datatype":"UINT8","shape":[1,2,2,3],"parameters":{"binary_data_size":12}}]})";

std::string Refusal(const std::string& body, std::optional<size_t> json_bytes = std::nullopt) {
  const auto read = ReadInferBody(body, json_bytes);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << body;
  return std::string(read.status().message());
}

TEST(HttpBody, BinaryDataStandsBehindTheJson) {
  const std::string body = std::string(kBinaryHead) + "abcdefghijkl";
  const auto read = ReadInferBody(body, strlen(kBinaryHead));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->message.raw_input_contents(), ElementsAre("abcdefghijkl"));
  EXPECT_TRUE(read->message.inputs(0).parameters().empty());
  EXPECT_FALSE(read->binary_by_default);
}

TEST(HttpBody, EveryWrongLengthIsRefused) {
  const std::string body = std::string(kBinaryHead) + "abcdefghijkl";
  for (size_t length = 0; length <= body.size() + 1; ++length) {
    if (length == strlen(kBinaryHead)) continue;
    EXPECT_FALSE(ReadInferBody(body, length).ok()) << length;
  }
  for (size_t size = strlen(kBinaryHead); size < body.size(); ++size) {
    EXPECT_FALSE(ReadInferBody(body.substr(0, size), strlen(kBinaryHead)).ok()) << size;
  }
  EXPECT_FALSE(ReadInferBody(body, std::nullopt).ok());
  EXPECT_THAT(Refusal(body + "x", strlen(kBinaryHead)), HasSubstr("belong to no input"));
}

TEST(HttpBody, NestedDataIsFlattened) {
  const auto read = ReadInferBody(
      R"({"id":"7","parameters":{"binary_data_output":true,"priority":1},
          "inputs":[{"name":"image","datatype":"FP32","shape":[1,1,2,3],"data":[[[[0,0.5,1],[1,2e-3,0]]]]}],
          "outputs":[{"name":"logits","parameters":{"binary_data":false,"classification":2}}]})",
      std::nullopt);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->message.inputs(0).contents().fp32_contents(), ElementsAre(0, 0.5f, 1, 1, 2e-3f, 0));
  EXPECT_EQ(read->message.id(), "7");
  EXPECT_EQ(read->message.parameters().at("priority").int64_param(), 1);
  EXPECT_EQ(read->message.outputs(0).parameters().at("classification").int64_param(), 2);
  EXPECT_TRUE(read->binary_by_default);
  EXPECT_FALSE(read->binary.at("logits"));
}

TEST(HttpBody, HostileJson) {
  EXPECT_THAT(Refusal(std::string(kMaxJsonBytes + 1, ' ')), HasSubstr("at most"));
  // Before it is parsed, else it would not be JSON: the parser would take 300 MiB for it.
  EXPECT_THAT(Refusal(std::string(kMaxJsonBytes, '[')), HasSubstr("nested deeper than 16"));
  EXPECT_THAT(Refusal(R"({"id":"\\")" + std::string(17, '{')), HasSubstr("nested deeper than 16"));
  EXPECT_THAT(Refusal(std::string(16, '[')), HasSubstr("not JSON"));
  EXPECT_THAT(Refusal(R"({"id":"\"[[[[[[[[[[[[[[[[[[[[","inputs":1})"), HasSubstr("\"inputs\" must be"));
  std::string deep = R"({"inputs":[{"name":"image","datatype":"UINT8","shape":[1],"data":)";
  deep += std::string(9, '[') + std::string(9, ']') + "}]}";
  EXPECT_THAT(Refusal(deep), HasSubstr("nested deeper"));
  EXPECT_THAT(Refusal(R"({"inputs":[{"name":"image","datatype":"UINT8","shape":[1e400],"data":[]}]})"),
              HasSubstr("JSON"));
  EXPECT_THAT(Refusal(R"({"inputs":[{"name":"image","datatype":"UINT8","shape":[99999999999999999999],"data":[]}]})"),
              HasSubstr("whole numbers"));
}

TEST(HttpBody, AnAnswerIsJsonOrBinaryByOutput) {
  inference::ModelInferResponse response;
  response.set_model_name("m");
  response.set_model_version("3");
  const float numbers[] = {0.25f, -1};
  auto& logits = *response.add_outputs();
  logits.set_name("logits");
  logits.set_datatype("FP32");
  logits.add_shape(1);
  logits.add_shape(2);
  response.add_raw_output_contents(numbers, sizeof(numbers));
  auto& best = *response.add_outputs();
  best.set_name("probabilities");
  best.set_datatype("BYTES");
  best.add_shape(1);
  best.add_shape(1);
  response.add_raw_output_contents(std::string("\x05\0\0\0\xff:0:a", 9));

  HttpInferRequest request;
  const HttpInferBody plain = WriteInferBody(response, request);
  EXPECT_FALSE(plain.json_bytes.has_value());
  const json document = json::parse(plain.bytes);
  EXPECT_EQ(document["outputs"][0]["data"], json({0.25, -1.0}));
  EXPECT_EQ(document["outputs"][1]["data"][0], "\xEF\xBF\xBD:0:a");  // no UTF-8 becomes a replacement character

  request.binary["logits"] = true;
  const HttpInferBody mixed = WriteInferBody(response, request);
  ASSERT_TRUE(mixed.json_bytes.has_value());
  const json head = json::parse(mixed.bytes.substr(0, *mixed.json_bytes));
  EXPECT_EQ(head["outputs"][0]["parameters"]["binary_data_size"], 8);
  EXPECT_TRUE(head["outputs"][1].contains("data"));
  EXPECT_EQ(mixed.bytes.size() - *mixed.json_bytes, sizeof(numbers));
  EXPECT_EQ(mixed.bytes.substr(*mixed.json_bytes),
            std::string(reinterpret_cast<const char*>(numbers), sizeof(numbers)));
}

TEST(HttpBody, InternalErrorsKeepTheirSentence) {
  EXPECT_EQ(HttpCode(absl::StatusCode::kInternal), 500);
  EXPECT_THAT(ErrorBody(absl::InternalError("at 0x7f: secret")), ::testing::Not(HasSubstr("secret")));
  EXPECT_EQ(json::parse(ErrorBody(absl::NotFoundError("no \"a\"")))["error"], "no \"a\"");
  for (int code = 1; code <= 16; ++code) EXPECT_GE(HttpCode(static_cast<absl::StatusCode>(code)), 400);
}

}  // namespace
}  // namespace vitrine
