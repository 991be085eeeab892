// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/infer_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfloat>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "server/wire/http/refusal.h"

namespace vitrine {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kBinaryHead[] =
    R"({"inputs":[{"name":"image","datatype":"UINT8","shape":[1,2,2,3],"parameters":{"binary_data_size":12}}]})";

std::string Refusal(const std::string& body, std::optional<size_t> json_bytes = std::nullopt) {
  const auto read = ReadInferBody(body, json_bytes);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << body;
  return std::string(read.status().message());
}

TEST(HttpBody, BinaryDataFollowsTheJson) {
  const std::string body = std::string(kBinaryHead) + "abcdefghijkl";
  const auto read = ReadInferBody(body, strlen(kBinaryHead));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->infer.raw, ElementsAre("abcdefghijkl"));
  EXPECT_TRUE(read->infer.message.inputs(0).parameters().empty());
  EXPECT_FALSE(read->binary_by_default);
}

// Tests that long JSON is freed. A request may wait long for its answer, and only its image is counted in the limits.
TEST(HttpBody, LongJsonIsNotKept) {
  std::string head = kBinaryHead;
  head.insert(1, R"("comment":")" + std::string(1'000'000, 'x') + R"(",)");
  const auto read = ReadInferBody(head + "abcdefghijkl", head.size());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->infer.raw, ElementsAre("abcdefghijkl"));
  EXPECT_EQ(read->infer.owner->bytes, "abcdefghijkl");
}

TEST(HttpBody, EveryWrongLengthIsRefused) {
  const std::string body = std::string(kBinaryHead) + "abcdefghijkl";
  for (size_t length = 1; length <= body.size() + 1; ++length) {  // a length of 0 selects another form
    if (length == strlen(kBinaryHead)) continue;
    EXPECT_FALSE(ReadInferBody(body, length).ok()) << length;
  }
  for (size_t size = strlen(kBinaryHead); size < body.size(); ++size) {
    EXPECT_FALSE(ReadInferBody(body.substr(0, size), strlen(kBinaryHead)).ok()) << size;
  }
  EXPECT_FALSE(ReadInferBody(body, std::nullopt).ok());
  EXPECT_THAT(Refusal(body + "x", strlen(kBinaryHead)), HasSubstr("belong to no input"));
}

TEST(HttpBody, ErrorsExplainWhyABodyIsNotJson) {
  const auto message = [](const std::string& body) {
    return std::string(ReadInferBody(body, std::nullopt).status().message());
  };
  EXPECT_THAT(message("--boundary\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\n[[[[[[[[[[[[[[[[[[[["),
              HasSubstr("is a form"));
  EXPECT_EQ(message(R"({"inputs":[0.5,NaN]})"),
            "the body is not JSON: byte 16 begins NaN, which JSON does not have; send such values as binary data");
  EXPECT_THAT(message(R"({"inputs":[-Infinity]})"), HasSubstr("byte 13 begins Infinity"));
  EXPECT_EQ(message(R"({"id":'7'})"), "the body is not JSON, from byte 7 on");
  EXPECT_EQ(message(R"({"id":"NaN")"), "the body is not JSON, from byte 12 on") << "the text ends at byte 12";
  EXPECT_THAT(message("\xFF\xD8\xFF\xE0 [[[[[[[[[[[[[[[[[[[[["), HasSubstr("is an image"));
  EXPECT_THAT(message(R"({"inputs":[{"name":"image","datatype":"UINT8","shape":[1,2,2,3],)"
                      R"("parameters":{"shared_memory_region":"r","shared_memory_byte_size":12}}]})"),
              HasSubstr("requests shared memory, which is not supported"));
}

TEST(HttpBody, NestedDataIsFlattened) {
  const auto read = ReadInferBody(
      R"({"id":"7","parameters":{"binary_data_output":true,"priority":1},
          "inputs":[{"name":"image","datatype":"FP32","shape":[1,1,2,3],"data":[[[[0,0.5,1],[1,2e-3,0]]]]}],
          "outputs":[{"name":"logits","parameters":{"binary_data":false,"classification":2}}]})",
      std::nullopt);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->infer.message.inputs(0).contents().fp32_contents(), ElementsAre(0, 0.5f, 1, 1, 2e-3f, 0));
  EXPECT_EQ(read->infer.message.id(), "7");
  EXPECT_EQ(read->infer.message.parameters().at("priority").int64_param(), 1);
  EXPECT_EQ(read->infer.message.outputs(0).parameters().at("classification").int64_param(), 2);
  EXPECT_TRUE(read->binary_by_default);
  EXPECT_FALSE(read->binary.at("logits"));
}

TEST(HttpBody, NestedDataMustMatchTheShape) {
  const auto body = [](const std::string& shape, const std::string& data) {
    return R"({"inputs":[{"name":"image","datatype":"UINT8","shape":)" + shape + ",\"data\":" + data + "}]}";
  };
  for (const char* data : {"[1,2,3,4,5,6]", "[[1,2,3],[4,5,6]]"}) {
    const auto read = ReadInferBody(body("[2,3]", data), std::nullopt);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_THAT(read->infer.message.inputs(0).contents().uint_contents(), ElementsAre(1, 2, 3, 4, 5, 6));
  }
  const std::string remedy = "; nest it like the shape, or send it flat";
  EXPECT_EQ(Refusal(body("[3,2]", "[[1,2,3],[4,5,6]]")),
            "\"data\" is nested as [2, 3], but \"shape\" is [3, 2]" + remedy);
  EXPECT_EQ(Refusal(body("[1,2,3]", "[[1,2,3],[4,5,6]]")),
            "\"data\" is nested as [2, 3], but \"shape\" is [1, 2, 3]" + remedy);
  for (const char* uneven : {"[[1,2,3],[4,5]]", "[[1,2,3],4]", "[[1,2,3],[4,5,[6]]]"}) {
    EXPECT_EQ(Refusal(body("[2,3]", uneven)),
              "\"data\" is nested unevenly, at first as [2, 3], but \"shape\" is [2, 3]" + remedy);
  }
  EXPECT_THAT(Refusal(body("[2,3]", "[[1,2,3],4,5,6]")), HasSubstr("is nested as [4, 3]"));
  EXPECT_THAT(Refusal(body("[2]", "[1,[]]")), HasSubstr("is nested unevenly"));
  EXPECT_THAT(Refusal(body("[2]", "[[],1]")), HasSubstr("is nested as [2, 0]"));
}

TEST(HttpBody, HostileJsonIsRefused) {
  EXPECT_THAT(Refusal(std::string(kMaxJsonBytes + 1, ' ')), HasSubstr("at most"));
  // Expects that the depth is checked before parsing, because the parser would take 300 MiB for this text. After
  // parsing, the error would be that the text is not JSON.
  EXPECT_THAT(Refusal(std::string(kMaxJsonBytes, '[')), HasSubstr("nested deeper than 16"));
  EXPECT_THAT(Refusal(R"({"id":"\\")" + std::string(17, '{')), HasSubstr("nested deeper than 16"));
  EXPECT_THAT(Refusal(std::string(16, '[')), HasSubstr("not JSON"));
  EXPECT_THAT(Refusal(R"({"id":"\"[[[[[[[[[[[[[[[[[[[[","inputs":1})"), HasSubstr("\"inputs\" must be"));
  std::string deep = R"({"inputs":[{"name":"image","datatype":"UINT8","shape":[1],"data":)";
  deep += std::string(9, '[') + std::string(9, ']') + "}]}";
  EXPECT_THAT(Refusal(deep), HasSubstr("nested as [1, 1, 1, 1, 1, 1, 1, 1, 0]"));
  EXPECT_THAT(Refusal(R"({"inputs":[{"name":"image","datatype":"UINT8","shape":[1e400],"data":[]}]})"),
              HasSubstr("the body has a number that is too large for a 64-bit float; it ends at byte 60"));
  EXPECT_THAT(Refusal(R"({"inputs":[{"name":"image","datatype":"UINT8","shape":[99999999999999999999],"data":[]}]})"),
              HasSubstr("whole numbers"));
}

// Returns a body with one input that has these members.
std::string WithInput(const std::string& members) {
  return R"({"inputs":[{"name":"image",)" + members + "}]}";
}

std::string Repeated(const std::string& text, int times) {
  std::string list;
  for (int i = 0; i < times; ++i) list += (i == 0 ? "" : ",") + text;
  return list;
}

TEST(HttpBody, LimitsIncludeTheirLastValue) {
  const auto taken = [](const std::string& body) { return ReadInferBody(body, std::nullopt).status().ToString(); };
  const std::string input = R"({"name":"i","datatype":"UINT8","shape":[],"data":[]})", output = R"({"name":"o"})";
  EXPECT_EQ(taken("{\"inputs\":[" + Repeated(input, 16) + "]}"), "OK");
  EXPECT_THAT(Refusal("{\"inputs\":[" + Repeated(input, 17) + "]}"),
              HasSubstr("\"inputs\" has 17 entries; at most 16"));
  EXPECT_EQ(taken("{\"inputs\":[],\"outputs\":[" + Repeated(output, 16) + "]}"), "OK");
  EXPECT_THAT(Refusal("{\"inputs\":[],\"outputs\":[" + Repeated(output, 17) + "]}"), HasSubstr("\"outputs\" has 17"));

  std::string parameters = R"("p0":0)";
  for (int i = 1; i < 32; ++i) parameters += ",\"p" + std::to_string(i) + "\":0";
  EXPECT_EQ(taken("{\"inputs\":[],\"parameters\":{" + parameters + "}}"), "OK");
  EXPECT_THAT(Refusal("{\"inputs\":[],\"parameters\":{" + parameters + ",\"p32\":0}}"), HasSubstr("more than 32"));

  const auto shaped = [](const std::string& shape) {
    return WithInput(R"("datatype":"UINT8","data":[],"shape":[)" + shape + "]");
  };
  EXPECT_EQ(taken(shaped(Repeated("1", 8))), "OK");
  EXPECT_THAT(Refusal(shaped(Repeated("1", 9))), HasSubstr("more than 8 dimensions"));
  EXPECT_EQ(taken(shaped("0,2147483647")), "OK");
  for (const char* side : {"2147483648", "-1", "1.0", "\"1\""}) {
    EXPECT_THAT(Refusal(shaped(side)), HasSubstr("whole numbers from 0 to 2147483647")) << side;
  }

  const std::string body = "{\"inputs\":[]}";
  EXPECT_EQ(taken(body + std::string(kMaxJsonBytes - body.size(), ' ')), "OK");
}

TEST(HttpBody, LongStringsAreBoundedOnlyByTheMessage) {
  const std::string text(3 * kMaxJsonBytes, 'A');
  const auto read =
      ReadInferBody(WithInput(R"("datatype":"BYTES","shape":[1],"data":[")" + text + "\"]"), std::nullopt);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->infer.message.inputs(0).contents().bytes_contents(0), text);
  // Uses short strings, which take more memory than their text.
  const std::string many = Repeated("\"\"", static_cast<int>(kMaxJsonBytes / 3 + 1));
  EXPECT_THAT(Refusal(WithInput(R"("datatype":"BYTES","shape":[1],"data":[)" + many + "]")),
              AllOf(HasSubstr("at most 4194304 are read"), HasSubstr("Inference-Header-Content-Length: 0"),
                    HasSubstr("/v1/models/NAME:classify")));
}

// Sets each member of a request to null, one at a time, and compares with the request without this member.
TEST(HttpBody, NullCountsAsAbsent) {
  const json whole = json::parse(
      R"({"id":"7","parameters":{"binary_data_output":true,"priority":1},
          "inputs":[{"name":"image","datatype":"UINT8","shape":[1,1,1,3],"data":[1,2,3],
                     "parameters":{"layout":"NHWC","binary_data_size":null}}],
          "outputs":[{"name":"logits","parameters":{"binary_data":false,"classification":2}}]})");
  int members = 0;
  const json leaves = whole.flatten();
  for (const auto& [path, value] : leaves.items()) {
    for (json::json_pointer at(path); !at.empty(); at.pop_back()) {
      json nulled = whole, removed = whole;
      if (nulled[at.parent_pointer()].is_array()) continue;
      nulled[at] = nullptr;
      removed[at.parent_pointer()].erase(at.back());
      const auto with = ReadInferBody(nulled.dump(), std::nullopt),
                 without = ReadInferBody(removed.dump(), std::nullopt);
      EXPECT_EQ(with.status(), without.status()) << at.to_string();
      if (with.ok() && without.ok()) {
        EXPECT_EQ(with->infer.message.SerializeAsString(), without->infer.message.SerializeAsString());
        EXPECT_EQ(with->binary, without->binary);
        EXPECT_EQ(with->binary_by_default, without->binary_by_default);
      }
      ++members;
    }
  }
  EXPECT_GT(members, 12);
}

TEST(HttpBody, ValuesMustBelongToTheirDatatype) {
  const auto valued = [](const std::string& datatype, const std::string& data) {
    return WithInput("\"shape\":[1],\"datatype\":\"" + datatype + "\",\"data\":[" + data + "]");
  };
  const auto contents = [&](const std::string& datatype, const std::string& data) {
    const auto read = ReadInferBody(valued(datatype, data), std::nullopt);
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? read->infer.message.inputs(0).contents() : inference::InferTensorContents();
  };
  EXPECT_THAT(contents("UINT8", "0,255").uint_contents(), ElementsAre(0u, 255u));
  for (const char* bad : {"256", "-1", "0.5", "\"1\""}) {
    EXPECT_THAT(Refusal(valued("UINT8", bad)), HasSubstr("from 0 to 255")) << bad;
  }
  EXPECT_THAT(contents("FP32", "3.4028234663852886e38,-3.4028234663852886e38").fp32_contents(),
              ElementsAre(FLT_MAX, -FLT_MAX));
  for (const char* bad : {"3.5e38", "-3.5e38", "true"}) {
    EXPECT_THAT(Refusal(valued("FP32", bad)), HasSubstr("in the range of fp32")) << bad;
  }
  EXPECT_THAT(contents("BYTES", "\"a\",\"\"").bytes_contents(), ElementsAre("a", ""));
  EXPECT_THAT(Refusal(valued("BYTES", "1")), HasSubstr("must consist of strings"));
  EXPECT_TRUE(ReadInferBody(valued("INT64", "true"), std::nullopt).ok()) << "an unknown datatype is refused later";
}

TEST(HttpBody, ParametersKeepTheirTypes) {
  const auto read = ReadInferBody(
      R"({"inputs":[],"parameters":{"t":true,"s":"x","i":-5,"l":9223372036854775807,"u":9223372036854775808,"d":0.5}})",
      std::nullopt);
  ASSERT_TRUE(read.ok()) << read.status();
  const auto& parameters = read->infer.message.parameters();
  EXPECT_TRUE(parameters.at("t").bool_param());
  EXPECT_EQ(parameters.at("s").string_param(), "x");
  EXPECT_EQ(parameters.at("i").int64_param(), -5);
  EXPECT_EQ(parameters.at("l").int64_param(), INT64_MAX);
  EXPECT_EQ(parameters.at("u").uint64_param(), uint64_t{1} << 63);
  EXPECT_EQ(parameters.at("d").double_param(), 0.5);
  EXPECT_THAT(Refusal(R"({"inputs":[],"parameters":{"n":[]}})"), HasSubstr("parameter \"n\" must be a string"));
}

TEST(HttpBody, ErrorsNameTheWrongOrMissingMember) {
  const std::pair<std::string, const char*> kWrong[] = {
      {"[]", "the body must be a JSON object"},
      {"{}", "the body lacks \"inputs\""},
      {R"({"inputs":{}})", "\"inputs\" must be an array"},
      {R"({"inputs":[],"id":7})", "\"id\" must be a string"},
      {R"({"inputs":[],"parameters":[]})", "\"parameters\" must be an object"},
      {R"({"inputs":[],"outputs":{}})", "\"outputs\" must be an array"},
      {R"({"inputs":[],"outputs":[7]})", "\"outputs\" must consist of objects"},
      {R"({"inputs":[],"outputs":[{}]})", "an output lacks \"name\""},
      {R"({"inputs":[7]})", "\"inputs\" must consist of objects"},
      {R"({"inputs":[{}]})", "an input lacks \"name\""},
      {WithInput(R"("shape":[])"), "an input lacks \"datatype\""},
      {WithInput(R"("datatype":"UINT8")"), "an input lacks \"shape\""},
      {WithInput(R"("datatype":"UINT8","shape":[])"), "needs either \"data\" or"},
      {WithInput(R"("datatype":"UINT8","shape":[],"data":[],"parameters":{"binary_data_size":0})"), "needs either"},
      {WithInput(R"("datatype":"UINT8","shape":[],"parameters":{"binary_data_size":-1})"),
       "\"binary_data_size\" is -1, but 0 bytes follow"},
  };
  for (const auto& [body, why] : kWrong) EXPECT_THAT(Refusal(body), HasSubstr(why)) << body;
  EXPECT_THAT(Refusal(std::string(kBinaryHead) + "abc", strlen(kBinaryHead)),
              HasSubstr("\"binary_data_size\" is 12, but 3 bytes follow"));
  EXPECT_THAT(Refusal("{}", 3), HasSubstr("Inference-Header-Content-Length is 3, but the body has 2 bytes"));
}

TEST(HttpBody, AMisspelledMemberIsRefusedAndAnUnknownOneIgnored) {
  const auto body = [](const std::string& input, const std::string& more) {
    return R"({"inputs":[{"name":"image","datatype":"UINT8","shape":[1,1,1,1],"data":[0])" + input + "}]" + more + "}";
  };
  EXPECT_EQ(Refusal(body("", R"(,"ouputs":[{"name":"unsure"}])")),
            "the body has \"ouputs\"; did you mean \"outputs\"?");
  EXPECT_EQ(Refusal(body(R"(,"parameter":{"layout":"NHWC"})", "")),
            "an input has \"parameter\"; did you mean \"parameters\"?");
  EXPECT_EQ(Refusal(body("", R"(,"outputs":[{"name":"logits","paramters":{}}])")),
            "an output has \"paramters\"; did you mean \"parameters\"?");
  EXPECT_TRUE(ReadInferBody(body("", R"(,"model_name":"m","model_version":"1")"), std::nullopt).ok());
}

TEST(HttpBody, WritesEveryElementOfText) {
  inference::ModelInferResponse response;
  auto& best = *response.add_outputs();
  best.set_name("probabilities");
  best.set_datatype("BYTES");
  best.add_shape(2);
  best.add_shape(1);
  response.add_raw_output_contents(std::string("\x01\0\0\0a\0\0\0\0\x02\0\0\0bc", 15));
  response.set_id("7");
  HttpInferRequest request;
  EXPECT_EQ(json::parse(WriteInferBody(response, request).bytes),
            json::parse(R"({"model_name":"","model_version":"","id":"7","outputs":[
                {"name":"probabilities","datatype":"BYTES","shape":[2,1],"data":["a","","bc"]}]})"));
  request.binary_by_default = true;
  EXPECT_TRUE(WriteInferBody(response, request).json_bytes.has_value());
  request.binary["probabilities"] = false;
  EXPECT_FALSE(WriteInferBody(response, request).json_bytes.has_value())
      << "the setting of the output overrides the default";
}

TEST(HttpBody, ABodyWithoutJsonIsOneImage) {
  const std::string image(300, 'p');
  const auto read = ReadInferBody(image, 0);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->binary_by_default);
  ASSERT_EQ(read->infer.message.inputs_size(), 1);
  EXPECT_EQ(read->infer.message.inputs(0).name(), "image");
  EXPECT_EQ(read->infer.message.inputs(0).datatype(), "BYTES");
  EXPECT_THAT(read->infer.message.inputs(0).shape(), ::testing::ElementsAre(1));
  EXPECT_THAT(read->infer.message.inputs(0).contents().bytes_contents(), ElementsAre(image));
}

TEST(HttpCode, MapsEachStatusCode) {
  const std::pair<absl::StatusCode, int> kCodes[] = {
      {absl::StatusCode::kInvalidArgument, 400},   {absl::StatusCode::kFailedPrecondition, 400},
      {absl::StatusCode::kOutOfRange, 400},        {absl::StatusCode::kUnauthenticated, 401},
      {absl::StatusCode::kPermissionDenied, 403},  {absl::StatusCode::kNotFound, 404},
      {absl::StatusCode::kResourceExhausted, 429}, {absl::StatusCode::kCancelled, 499},
      {absl::StatusCode::kUnimplemented, 501},     {absl::StatusCode::kUnavailable, 503},
      {absl::StatusCode::kDeadlineExceeded, 504},  {absl::StatusCode::kAborted, 500},
      {absl::StatusCode::kUnknown, 500},           {absl::StatusCode::kDataLoss, 500}};
  for (const auto& [code, http] : kCodes) EXPECT_EQ(HttpCode(code), http) << absl::StatusCodeToString(code);
}

TEST(HttpBody, EachOutputIsJsonOrBinary) {
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
  auto& unsure = *response.add_outputs();
  unsure.set_name("unsure");
  unsure.set_datatype("BOOL");
  unsure.add_shape(2);
  response.add_raw_output_contents(std::string("\1\0", 2));

  HttpInferRequest request;
  const HttpInferBody plain = WriteInferBody(response, request);
  EXPECT_FALSE(plain.json_bytes.has_value());
  const json document = json::parse(plain.bytes);
  EXPECT_EQ(document["outputs"][0]["data"], json({0.25, -1.0}));
  EXPECT_EQ(document["outputs"][1]["data"][0], "\xEF\xBF\xBD:0:a");  // invalid UTF-8 becomes a replacement character
  EXPECT_EQ(document["outputs"][2]["data"], json({true, false}));

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

TEST(HttpBody, InternalErrorsDoNotShowTheirMessage) {
  EXPECT_EQ(HttpCode(absl::StatusCode::kInternal), 500);
  EXPECT_THAT(ErrorBody(absl::InternalError("at 0x7f: secret")), ::testing::Not(HasSubstr("secret")));
  EXPECT_EQ(json::parse(ErrorBody(absl::NotFoundError("no \"a\"")))["error"], "no \"a\"");
  for (int code = 1; code <= 16; ++code) EXPECT_GE(HttpCode(static_cast<absl::StatusCode>(code)), 400);
}

}  // namespace
}  // namespace vitrine
