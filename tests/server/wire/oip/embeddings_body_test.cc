// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/embeddings_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/http/body.h"
#include "server/wire/http/refusal.h"
#include "server/wire/oip/infer_answer.h"
#include "server/wire/oip/infer_plan.h"

namespace vitrine {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string EmbeddingsRefusal(const std::string& body) {
  const auto read = ReadEmbeddings(body);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << body;
  return std::string(read.status().message());
}

TEST(EmbeddingsBody, IsConvertedToAnInferenceRequest) {
  auto read = ReadEmbeddings(R"({"model":"m","input":["/9j/b25l","data:image/png;base64,/9j/b3RoZXI="],"user":"a",
                                       "encoding_format":"base64","version":"canary","feature":"mean","normalize":false})");
  ASSERT_TRUE(read.ok()) << read.status();
  const inference::ModelInferRequest& message = read->infer.message;
  EXPECT_EQ(message.model_name(), "m");
  EXPECT_EQ(message.model_version(), "canary");
  ASSERT_EQ(message.inputs_size(), 1);
  EXPECT_THAT(message.inputs(0).shape(), ElementsAre(2));
  const auto plan =
      PlanInfer(std::move(read->infer), {.features = {.kinds = {v1::CLASS_TOKEN, v1::MEAN_TOKEN}, .width = 4}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->parts[0].input, "\xFF\xD8\xFFone");
  EXPECT_EQ(plan->parts[1].input, "\xFF\xD8\xFFother");
  const v1::ClassifyRequest& part = plan->parts[1].message;
  EXPECT_EQ(part.version_label(), "canary");
  EXPECT_TRUE(part.omit_predictions());
  ASSERT_EQ(part.features_size(), 1);
  EXPECT_EQ(part.features(0).kind(), v1::MEAN_TOKEN);
  EXPECT_FALSE(part.features(0).normalize());
  EXPECT_TRUE(read->wants_base64);
}

TEST(EmbeddingsBody, OneImageGetsTheDefaults) {
  for (const char* body : {R"({"model":"m","input":"/9j/b25l"})",
                           R"({"model":"m","input":"/9j/b25l","encoding_format":null,"dimensions":null,"user":null,)"
                           R"("version":null,"feature":null,"normalize":null,"other":null})"}) {
    auto read = ReadEmbeddings(body);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_FALSE(read->wants_base64);
    const auto plan =
        PlanInfer(std::move(read->infer), {.features = {.kinds = {v1::PATCH_TOKENS, v1::MEAN_TOKEN}, .width = 4}});
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->parts[0].message.features(0).kind(), v1::MEAN_TOKEN)
        << "the default is the first vector of the model";
    EXPECT_TRUE(plan->parts[0].message.features(0).normalize());
  }
  EXPECT_EQ(ReadEmbeddings(R"({"model":"m","input":"/9j/b25l","version":7})")->infer.message.model_version(), "7");
}

TEST(EmbeddingsBody, ErrorsNameTheFault) {
  EXPECT_THAT(EmbeddingsRefusal("[]"), HasSubstr("must be a JSON object"));
  EXPECT_THAT(EmbeddingsRefusal("{"), HasSubstr("is not JSON"));
  EXPECT_THAT(EmbeddingsRefusal(R"({"input":"/9j/b25l"})"), HasSubstr("lacks \"model\""));
  EXPECT_THAT(EmbeddingsRefusal(R"({"model":1,"input":"/9j/b25l"})"), HasSubstr("\"model\" must be a string"));
  EXPECT_THAT(EmbeddingsRefusal(R"({"model":"m"})"), HasSubstr("lacks \"input\""));
  EXPECT_THAT(EmbeddingsRefusal(R"({"model":"m","input":null})"), HasSubstr("lacks \"input\""));
  EXPECT_THAT(EmbeddingsRefusal(R"({"model":"m","input":[]})"), HasSubstr("0 images; it must have 1 to 64"));
  EXPECT_THAT(EmbeddingsRefusal(R"({"model":"m","input":[1,2]})"), HasSubstr("tokens of text are not accepted"));
  EXPECT_THAT(EmbeddingsRefusal(R"({"model":"m","input":[[1,2]]})"), HasSubstr("tokens of text are not accepted"));
  EXPECT_THAT(EmbeddingsRefusal(R"({"model":"m","input":{"image":"/9j/b25l"}})"),
              HasSubstr("strings of base64 or data URLs"));
  EXPECT_THAT(EmbeddingsRefusal(R"({"model":"m","input":"https://example.com/a.png"})"),
              HasSubstr("the server fetches nothing"));
  EXPECT_THAT(EmbeddingsRefusal(R"({"model":"m","input":"/9j/b25l","kind":"mean"})"), HasSubstr("is now \"feature\""));
  EXPECT_THAT(EmbeddingsRefusal(R"({"model":"m","input":"/9j/b25l","dimensions":256})"),
              HasSubstr("\"dimensions\" is not supported"));
  EXPECT_THAT(EmbeddingsRefusal(R"({"model":"m","input":"/9j/b25l","encoding_format":"int8"})"),
              HasSubstr("\"float\" or \"base64\""));
  EXPECT_THAT(EmbeddingsRefusal(R"({"model":"m","input":"/9j/b25l","version":-1})"), HasSubstr("\"version\" must be"));
  EXPECT_THAT(EmbeddingsRefusal(R"({"model":"m","input":"/9j/b25l","normalize":1})"),
              HasSubstr("\"normalize\" must be true or false"));
  EXPECT_THAT(EmbeddingsRefusal(R"({"model":"m","input":"/9j/b25l","feature":"registers"})"),
              HasSubstr("several vectors per image"));
  EXPECT_THAT(EmbeddingsRefusal(R"({"model":"m","input":"/9j/b25l","top_k":1})"),
              HasSubstr("\"top_k\" is unknown; valid members are model,"));
  json many = {{"model", "m"}, {"input", std::vector<std::string>(65, "/9j/b25l")}};
  EXPECT_THAT(EmbeddingsRefusal(many.dump()), HasSubstr("65 images; it must have 1 to 64"));
}

TEST(EmbeddingsBody, TextIsRefused) {
  for (const char* text : {"a cat", "hello", "test", "aGVsbG8=", ""}) {
    const auto read = ReadEmbeddings(json({{"model", "m"}, {"input", {"/9j/b25l", text}}}).dump());
    EXPECT_EQ(read.status().message(),
              "\"input\"[1] is not an image; this server embeds images only: send base64 or a data URL")
        << text;
    EXPECT_EQ(json::parse(OpenAiErrorBody(read.status()))["error"]["param"], "input");
  }
  EXPECT_THAT(EmbeddingsRefusal(R"({"model":"m","input":["/9j/b25l","file:///x.png"]})"),
              HasSubstr("\"input\"[1] has a URL, but the server fetches nothing"));
  for (const char* other : {"R0lGODlhAQABAAAAACw=", " \n/9j/b25l", "data:image/png;base64,AAAA"}) {
    EXPECT_TRUE(ReadEmbeddings(json({{"model", "m"}, {"input", other}}).dump()).ok())
        << "other data is refused later, with its type:  " << other;
  }
}

TEST(EmbeddingsBody, ATensorViewIsRefused) {
  EXPECT_EQ(EmbeddingsRefusal(R"({"model":"m:tensor","input":"/9j/b25l"})"),
            "\"model\" is a tensor view, which takes no image files; give the model itself, \"m\"");
}

inference::ModelInferResponse TwoVectors() {
  inference::ModelInferResponse response;
  response.set_model_name("m");
  response.set_model_version("3");
  auto& tensor = *response.add_outputs();
  tensor.add_shape(2);
  tensor.add_shape(2);
  (*tensor.mutable_parameters())[kWeightsParameter].set_string_param("abc");
  (*tensor.mutable_parameters())[kTokensParameter].set_int64_param(32);
  const std::vector<float> values = {0.1F, -1, 0, 1};
  response.add_raw_output_contents(std::string(reinterpret_cast<const char*>(values.data()), 16));
  return response;
}

TEST(EmbeddingsBody, EachVectorHasItsModelAndVersion) {
  EXPECT_EQ(WriteEmbeddings(TwoVectors(), false),
            R"({"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,-1],"model":"m","version":3,)"
            R"("weights_sha256":"abc"},{"object":"embedding","index":1,"embedding":[0,1],"model":"m","version":3,)"
            R"("weights_sha256":"abc"}],"model":"m","usage":{"prompt_tokens":32,"total_tokens":32}})"
            "\n");
  const json packed = json::parse(WriteEmbeddings(TwoVectors(), true));
  EXPECT_EQ(packed["data"][1]["embedding"], "AAAAAAAAgD8=");
}

TEST(EmbeddingsBody, ErrorsHaveTheFormOfOpenAi) {
  const json refusal = json::parse(OpenAiErrorBody(absl::InvalidArgumentError("it is wrong")));
  EXPECT_EQ(refusal["error"]["message"], "it is wrong");
  EXPECT_EQ(refusal["error"]["type"], "invalid_request_error");
  EXPECT_EQ(refusal["error"]["code"], "INVALID_ARGUMENT");
  EXPECT_TRUE(refusal["error"]["param"].is_null());
  EXPECT_EQ(json::parse(OpenAiErrorBody(absl::UnavailableError("away")))["error"]["type"], "server_error");
  const absl::Status large = TooLargeEmbeddings(TooLargeError("the body has 9 bytes; at most 8 are read"));
  EXPECT_TRUE(IsTooLarge(large)) << "the HTTP code is 413";
  EXPECT_THAT(OpenAiErrorBody(large),
              HasSubstr("send fewer images\",\"type\":\"invalid_request_error\",\"param\":\"input\""));
}

}  // namespace
}  // namespace vitrine
