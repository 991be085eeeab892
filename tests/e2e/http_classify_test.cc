// SPDX-License-Identifier: Apache-2.0
// Sends images over HTTP. The answers must equal the answers over gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/commands/token_command.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/faults/raw_http2.h"
#include "tests/server/identity/authority.h"

namespace vitrine::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string PostImage(RunningServer& running, const std::string& url, const std::string& body,
                      const std::string& headers = "Content-Type: application/x-www-form-urlencoded\r\n") {
  return HttpExchange(running.server().http_address(),
                      absl::StrCat("POST ", url, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", headers,
                                   "Content-Length: ", body.size(), "\r\n\r\n", body));
}

json BodyOf(const std::string& answer) {
  return json::parse(answer.substr(answer.find("\r\n\r\n") + 4), nullptr, false);
}

ServerOptions HttpOptions(const std::filesystem::path& repository) {
  ServerOptions options = TestOptions(repository);
  options.http = "127.0.0.1:0";
  return options;
}

// Expects the same predictions over HTTP as over gRPC.
void ExpectSamePredictions(const json& answer, const v1::ClassifyResponse& expected) {
  ASSERT_EQ(answer["predictions"].size(), expected.predictions_size());
  for (int i = 0; i < expected.predictions_size(); ++i) {
    const json& prediction = answer["predictions"][i];
    EXPECT_EQ(prediction["index"], expected.predictions(i).index());
    EXPECT_EQ(prediction["label"], expected.predictions(i).label());
    EXPECT_EQ(prediction["probability"].get<float>(), expected.predictions(i).probability());
    EXPECT_EQ(prediction["logit"].get<float>(), expected.predictions(i).logit());
  }
}

class HttpClassify : public ::testing::Test {
 protected:
  HttpClassify() {
    PublishModel(folder_.path() / "repository", "mixed", MixedConfig());
    running_ = std::make_unique<RunningServer>(HttpOptions(folder_.path() / "repository"));
  }

  v1::ClassifyResponse OverGrpc(const v1::ClassifyRequest& request) {
    v1::ClassifyResponse response;
    const grpc::Status status = running_->Classify(request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  const ScratchFolder folder_;
  std::unique_ptr<RunningServer> running_;
  const std::string image_ = NoiseJpeg(40, 24, 1);
};

TEST_F(HttpClassify, AgreesWithGrpc) {
  const v1::ClassifyResponse expected = OverGrpc(ImageRequest("mixed", image_));
  for (const char* type : {"", "Content-Type: image/jpeg\r\n", "Content-Type: application/x-www-form-urlencoded\r\n"}) {
    const std::string answer = PostImage(*running_, "/v1/models/mixed:classify?request_id=a%20b", image_, type);
    EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("Content-Type: application/json\r\n")));
    const json body = BodyOf(answer);
    ASSERT_TRUE(body.is_object()) << answer;
    ExpectSamePredictions(body, expected);
    EXPECT_EQ(body["model"], "mixed");
    EXPECT_EQ(body["version"], 1);
    EXPECT_EQ(body["request_id"], "a b");
    EXPECT_EQ(body["served_by"]["device"], expected.served_by().device());
    EXPECT_EQ(body["served_by"]["precision"], expected.served_by().precision());
    EXPECT_EQ(body["served_by"]["weights_sha256"], expected.served_by().weights_sha256());
    EXPECT_TRUE(body["attention"].empty());
    EXPECT_GT(body["timings_ms"]["total"].get<double>(), body["timings_ms"]["compute"].get<double>());
  }
  EXPECT_EQ(running_->Metric(R"(vitrine_requests_total{model="mixed",method="HttpClassify",code="OK"})"), 3);
}

// Sends far more requests than the only executor can compute until the clients disconnect.
TEST(HttpHangUp, CancelsTheRequest) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "slow", VerySlowConfig());
  ServerOptions options = HttpOptions(folder.path() / "repository");
  options.executor.threads = 1;
  options.batch.max_batch_images = 1;
  RunningServer running(options);
  const std::string image = SlowImage();
  const std::string request = absl::StrCat(
      "POST /v1/models/slow:classify HTTP/1.1\r\nHost: x\r\nContent-Length: ", image.size(), "\r\n\r\n", image);
  std::vector<int> clients;
  for (int i = 0; i < 48; ++i) {
    clients.push_back(ConnectTcp(running.server().http_address()));
    ASSERT_EQ(send(clients.back(), request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  }
  ASSERT_TRUE(Eventually([&] { return running.Metric("vitrine_in_flight ") >= 8; }));
  for (const int each : clients) close(each);
  EXPECT_TRUE(Eventually([&] {
    return running.Metric(R"(vitrine_requests_total{model="slow",method="HttpClassify",code="CANCELLED"})") > 0;
  }));
  EXPECT_TRUE(Eventually([&] { return running.Metric("vitrine_in_flight ") == 0; }));
}

TEST(HttpClassifyAccess, EqualsTheAccessOverGrpc) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "mixed", MixedConfig());
  PublishModel(folder.path() / "repository", "hidden", MixedConfig());
  ServerOptions options = HttpOptions(folder.path() / "repository");
  options.identity.tokens = folder.Path("tokens");
  std::map<std::string, std::string> headers = {{"none", ""}, {"wrong", "Authorization: Bearer xyz\r\n"}};
  for (const char* name : {"asks", "looks", "limited"}) {
    std::ostringstream out;
    ASSERT_EQ(MakeToken(name, options.identity.tokens, out), absl::OkStatus());
    headers[name] = absl::StrCat("Authorization: Bearer ", out.str().substr(0, out.str().size() - 1), "\r\n");
  }
  options.identity.policy = folder.Write("policy", R"(
    roles { name: "asks" methods: "/vitrine.v1.Classifier/Classify" models: "mixed" }
    roles { name: "looks" methods: "/vitrine.v1.Registry/ListModels" models: "mixed" }
    callers { token: "asks" roles: "asks" } callers { token: "looks" roles: "looks" }
    callers { token: "limited" roles: "asks" quota { requests_per_second: 0.01 burst: 1 } })");
  RunningServer running(options);
  const std::string image = NoiseJpeg(24, 24, 1);
  const auto classify = [&](const char* caller, const char* model) {
    return PostImage(running, absl::StrCat("/v1/models/", model, ":classify"), image, headers[caller]);
  };
  const auto list = [&](const char* caller) {
    return HttpExchange(
        running.server().http_address(),
        absl::StrCat("GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", headers[caller], "\r\n"));
  };
  for (const char* caller : {"none", "wrong"}) {
    EXPECT_THAT(classify(caller, "mixed"), AllOf(StartsWith("HTTP/1.1 401 "), HasSubstr("WWW-Authenticate: Bearer"),
                                                 HasSubstr("\"code\":\"UNAUTHENTICATED\"")));
    EXPECT_THAT(list(caller), StartsWith("HTTP/1.1 401 "));
  }
  EXPECT_THAT(classify("looks", "mixed"),
              AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("\"code\":\"PERMISSION_DENIED\"")));
  EXPECT_THAT(list("asks"), StartsWith("HTTP/1.1 403 "));
  EXPECT_EQ(BodyOf(list("looks"))["models"].size(), 1) << "hidden is not for this caller";
  EXPECT_THAT(classify("asks", "hidden"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(classify("asks", "nobody"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(classify("asks", "mixed"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(classify("limited", "mixed"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(classify("limited", "mixed"), AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("\r\nRetry-After: "),
                                                  HasSubstr("\"code\":\"RESOURCE_EXHAUSTED\"")));
}

}  // namespace
}  // namespace vitrine::testing
