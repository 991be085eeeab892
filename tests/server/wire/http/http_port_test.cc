// SPDX-License-Identifier: Apache-2.0
// Tests properties of all responses of the HTTP port.
#include "server/wire/http_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "common/gunzip.h"
#include "common/http/body.h"
#include "server/process/clock.h"
#include "server/wire/http/openapi.h"
#include "server/wire/http/refusal.h"
#include "tests/scratch_folder.h"
#include "tests/server/http_asked.h"
#include "tests/server/logged.h"
#include "tests/server/registry/fake_repository.h"
#include "tests/server/small_models.h"

namespace vitrine {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using testing::AnswerOf;
using ::testing::HasSubstr;
using testing::HeadOf;

class HttpPortTest : public ::testing::Test {
 protected:
  HttpHandling Begin(const std::shared_ptr<HttpRequest>& request) { return port_.Begin(request); }
  static std::string HeaderOf(const HttpHeaders& headers, const std::string& name) {
    for (const auto& [each, value] : headers) {
      if (each == name) return value;
    }
    return "";
  }

  FakeRepository files_;
  FakeClock clock_;
  Metrics metrics_{"1"};
  Registry registry_{{.root = files_.root(), .serving_config = "", .admin_state = ""},
                     [](const VersionId& id) { return MakeLoaded(id.model, id.version, SmallNativeConfig()); },
                     clock_};
  Health health_{registry_};
  Admission admission_{{}, clock_};
  Scheduler scheduler_{{.max_batch_images = 1}, clock_, /*sweep=*/false};
  ClassifyService service_{registry_, admission_, scheduler_, metrics_, clock_};
  const std::unique_ptr<Identity> identity_ = *Identity::Open({});
  HttpPort port_{{},
                 service_,
                 registry_,
                 *identity_,
                 health_,
                 {.files = *PageFiles::Open("", false), .status_json = [](const Caller&) { return std::string(5000, 'x'); }}};
};

TEST_F(HttpPortTest, CompressesIfTheClientAcceptsIt) {
  for (const char* url : {"/v1/status", "/openapi.json", "/", "/page/main.js"}) {
    const HttpResponse plain = AnswerOf(Begin(HeadOf("GET", url)));
    const HttpResponse packed = AnswerOf(Begin(HeadOf("GET", url, {{"Accept-Encoding", "br, gzip"}})));
    EXPECT_EQ(HeaderOf(packed.headers, "Content-Encoding"), "gzip") << url;
    EXPECT_LT(packed.body.size(), plain.body.size() / 2) << url;
    EXPECT_EQ(Gunzip(packed.body, plain.body.size()).value(), plain.body) << url;
    EXPECT_EQ(HeaderOf(plain.headers, "Content-Encoding"), "") << url;
    EXPECT_EQ(HeaderOf(plain.headers, "Vary"), "Accept-Encoding") << url;
  }
}

TEST_F(HttpPortTest, ErrorsForOtherMethodsListTheAllowedOnes) {
  for (const char* url : {"/", "/page/main.js", "/openapi.json", "/v1/status"}) {
    for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS"}) {
      const HttpResponse response = AnswerOf(Begin(HeadOf(method, url)));
      EXPECT_EQ(response.code, 405) << method << " " << url;
      EXPECT_EQ(HeaderOf(response.headers, "Allow"), "GET, HEAD") << url;
    }
    EXPECT_EQ(AnswerOf(Begin(HeadOf("HEAD", url))).code, 200) << url;
  }
}

// A 503 in plain text replaces the response of a worker thread if too much work waits for the threads, or if too many
// bytes are unsent (see HttpServerOptions::max_unsent_bytes).
TEST_F(HttpPortTest, TheDocumentHas503ForEachResponseThatAWorkerMakes) {
  files_.Add("m", 1);
  registry_.Poll();
  const json document = json::parse(kOpenApiJson);
  for (const auto& [path, operations] : document["paths"].items()) {
    const std::string url = absl::StrReplaceAll(path, {{"{model}", "m"}, {"{version}", "1"}});
    for (const auto& [method, operation] : operations.items()) {
      const bool is_at_once = Begin(HeadOf(absl::AsciiStrToUpper(method), url)).response.has_value();
      const json described = operation["responses"].value("503", json::object());
      EXPECT_EQ(described.empty(), is_at_once) << method << " " << path;
      if (described.empty()) continue;
      const json::json_pointer at(described["$ref"].get<std::string>().substr(1));
      EXPECT_TRUE(document[at]["content"].contains("text/plain")) << method << " " << path;
    }
  }
}

TEST(Refusal, ErrorBodiesAreOneLineWithTheMessageFirst) {
  const absl::Status status = AboutMember(absl::InvalidArgumentError("no \"a\"\xff"), "input");
  EXPECT_EQ(ErrorBody(status), "{\"error\":\"no \\\"a\\\"\uFFFD\"}");
  EXPECT_EQ(TypedErrorBody(status), "{\"error\":\"no \\\"a\\\"\uFFFD\",\"code\":\"INVALID_ARGUMENT\"}\n");
  EXPECT_EQ(OpenAiErrorBody(status),
            "{\"error\":{\"message\":\"no \\\"a\\\"\uFFFD\",\"type\":\"invalid_request_error\",\"param\":\"input\","
            "\"code\":\"INVALID_ARGUMENT\"},\"code\":\"INVALID_ARGUMENT\"}\n");
  EXPECT_EQ(OpenAiErrorBody(absl::UnavailableError("away")),
            "{\"error\":{\"message\":\"away\",\"type\":\"server_error\",\"param\":null,\"code\":\"UNAVAILABLE\"},"
            "\"code\":\"UNAVAILABLE\"}\n");
}

TEST(Refusal, AMessageThatIsTooLargeIs413) {
  const HttpResponse large = Refusal(TooLargeError("20 bytes; at most 10"), TypedErrorBody);
  EXPECT_EQ(large.code, 413);
  EXPECT_NE(large.body.find("RESOURCE_EXHAUSTED"), std::string::npos) << "the body has the code of gRPC";
  EXPECT_EQ(Refusal(absl::ResourceExhaustedError("full"), TypedErrorBody).code, 429);
}

// A refused request for inference is logged when it is answered. Other refused requests are logged by
// CountAuthorization.
TEST_F(HttpPortTest, EachRefusedCredentialHasOneLine) {
  const ScratchFolder folder;
  IdentityOptions options;
  options.tokens = folder.Write("tokens", "ann sha256:" + std::string(64, 'a') + "\n");
  const std::unique_ptr<Identity> identity = *Identity::Open(options);
  ClassifyService service(registry_, admission_, scheduler_, metrics_, clock_, {.requests = "failures"});
  HttpPort port({}, service, registry_, *identity, health_, {.status_json = [](const Caller&) { return ""; }});
  for (const auto& [call, name] : std::map<std::string, std::string>{{"GET /v1/models", "ListModels"},
                                                                     {"GET /v1/models/m", "GetModel"},
                                                                     {"GET /v1/status", "ListModels"},
                                                                     {"GET /v2/models/m", "ModelMetadata"},
                                                                     {"POST /v1/models/m:classify", "HttpClassify"},
                                                                     {"POST /v2/models/m/infer", "HttpInfer"},
                                                                     {"POST /v1/embeddings", "HttpInfer"}}) {
    const size_t space = call.find(' ');
    const auto request = HeadOf(call.substr(0, space), call.substr(space + 1),
                                {{"Authorization", "Bearer wrong"}, {"x-request-id", "of a proxy"}});
    clock_.Advance(absl::Seconds(1));
    int code = 0;
    const std::string lines = Logged("info", "text", [&] { code = AnswerOf(port.Begin(request)).code; });
    EXPECT_EQ(code, 401) << call;
    EXPECT_THAT(lines,
                AllOf(HasSubstr("request method=" + name + " code=UNAUTHENTICATED"),
                      HasSubstr("caller=anonymous peer=ipv4:127.0.0.1:1"), HasSubstr("request_id=\"of a proxy\"")));
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1) << lines;
  }
}

}  // namespace
}  // namespace vitrine
