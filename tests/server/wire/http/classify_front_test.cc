// SPDX-License-Identifier: Apache-2.0
// Tests, without a connection, how the paths of the HTTP port respond to images and to other bodies.
#include "server/wire/http/classify_front.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "common/http/body.h"
#include "server/wire/http/curl_line.h"
#include "server/wire/http_port.h"
#include "tests/server/http_asked.h"
#include "tests/server/logged.h"
#include "tests/server/registry/fake_repository.h"
#include "tests/server/small_models.h"

namespace vitrine {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct Sent {
  Sent(std::string method, const std::string& url, std::string sent = "",
       const std::map<std::string, std::string>& headers = {})
      : request(testing::HeadOf(std::move(method), url, headers)), body(std::move(sent)) {}
  std::shared_ptr<HttpRequest> request;
  std::string body;
};

// A reply that makes the response and sends it to nobody.
class Unheard final : public HttpReply {
 public:
  void Send(absl::FunctionRef<HttpResponse()> make) override { (void)make(); }
};

// Provides an HTTP port without executors. Every request is rejected or is answered without inference.
class HttpClassifyFrontTest : public ::testing::Test {
 protected:
  HttpClassifyFrontTest() {
    files_.Add("m", 1);
    files_.Add("m", 2);
    files_.Add("other", 1);
    registry_.Poll();
    health_.SetServing();
  }

  HttpResponse Ask(const Sent& sent) { return testing::AnswerOf(port_.Begin(sent.request), sent.body); }
  // Sends a POST request to `url`, which must be rejected with `code` and `name`. Returns the error message.
  std::string Refused(int code, const std::string& name, const std::string& url, const std::string& body,
                      const std::map<std::string, std::string>& headers = {}) {
    const HttpResponse response = Ask(Sent("POST", url, body, headers));
    EXPECT_EQ(response.code, code) << url << ": " << response.body;
    const json read = json::parse(response.body, nullptr, false);
    EXPECT_EQ(read.value("code", ""), name) << response.body;
    return read.value("error", "");
  }

  FakeRepository files_;
  FakeClock clock_;
  Metrics metrics_{"1"};
  Registry registry_{{.root = files_.root(), .serving_config = "", .admin_state = ""},
                     [this](const VersionId& id) -> absl::StatusOr<ModelHandle> {
                       std::shared_ptr<LoadedModel> loaded = MakeLoaded(id.model, id.version, SmallNativeConfig());
                       loaded->metrics = metrics_.ForModel(id.model);
                       return loaded;
                     },
                     clock_};
  Health health_{registry_};
  Admission admission_{{}, clock_};
  Scheduler scheduler_{{.max_batch_images = 1}, clock_, /*sweep=*/false};
  ClassifyService service_{registry_, admission_, scheduler_, metrics_, clock_};
  const std::unique_ptr<Identity> identity_ = *Identity::Open({});
  HttpPort port_{{}, service_, registry_, *identity_, health_};
};

constexpr char kPath[] = "/v1/models/m:classify";
constexpr char kBadRequest[] = "INVALID_ARGUMENT";

TEST_F(HttpClassifyFrontTest, ABodyThatIsNotAnImageGetsTheRightCommand) {
  const std::map<std::string, std::string> host = {{"Host", "127.0.0.1:8000"}};
  const auto line = HasSubstr("curl --data-binary @IMAGE http://127.0.0.1:8000/v1/models/m:classify");
  EXPECT_THAT(Refused(400, kBadRequest, kPath, "", host), AllOf(HasSubstr("empty"), line));
  EXPECT_THAT(Refused(400, kBadRequest, kPath, R"({"inputs": []})", host),
              AllOf(HasSubstr("not a JPEG, PNG or WebP"), line));
  const std::string form = "--x\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\n" + NoisePng(8, 8, 1);
  EXPECT_THAT(Refused(400, kBadRequest, kPath, form, host), AllOf(HasSubstr("and nothing else"), line));
  for (const char* type : {"application/json", "Application/JSON; charset=utf-8"}) {
    std::map<std::string, std::string> typed = host;
    typed["Content-Type"] = type;
    EXPECT_THAT(Refused(400, kBadRequest, kPath, NoisePng(8, 8, 1), typed), AllOf(HasSubstr("application/json"), line));
  }
  EXPECT_THAT(Refused(400, kBadRequest, "/v1/models/m/versions/2:classify", "x", host),
              HasSubstr("/v1/models/m/versions/2:classify"));
  EXPECT_EQ(metrics_.ForModel("m")->Totals().failed.count, 4)
      << "the four requests whose body was read count for the model";
}

TEST_F(HttpClassifyFrontTest, ATooLargeBodyGetsTheRemedy) {
  const Sent large("POST", kPath, "");
  const HttpResponse refused = testing::AnswerOf(port_.Begin(large.request), TooLargeError("20 bytes; at most 10"));
  EXPECT_EQ(refused.code, 413);
  EXPECT_THAT(refused.body, HasSubstr("10 (--max-message-bytes); make the image smaller: convert IMAGE"));
}

TEST_F(HttpClassifyFrontTest, AnImageThatCurlDamagedIsRecognized) {
  std::string png = NoisePng(8, 8, 1);
  std::string jpeg = "\xFF\xD8\xFF\xE0";
  jpeg += "the rest, without its zeros and line ends";
  for (const char gone : {'\0', '\r', '\n'}) std::erase(png, gone);
  std::string webp("RIFF\x24\x01\0\0WEBPVP8 \x18\0\0\0", 20);
  webp += "the rest";
  EXPECT_THAT(Refused(400, kBadRequest, kPath, webp), ::testing::Not(HasSubstr("curl's")))
      << "curl did not remove bytes from this image";
  std::erase(webp, '\0');
  for (const std::string& image : {png, jpeg, webp}) {
    EXPECT_THAT(Refused(400, kBadRequest, kPath, image), HasSubstr("curl's -d")) << image.substr(0, 4);
  }
  EXPECT_THAT(Refused(400, kBadRequest, kPath, NoisePng(8, 8, 1).substr(0, 12)), ::testing::Not(HasSubstr("curl")))
      << "this image is damaged in another way";
}

// Tests the command line in error messages. People paste it into a shell, so it must not contain a part that a shell
// executes.
TEST_F(HttpClassifyFrontTest, TheCommandContainsNoShellSyntax) {
  const Sent request("POST", kPath, "", {{"Host", "h;rm -rf ~"}});
  EXPECT_EQ(CurlLine(*request.request, "$(x)", "`y`"),
            "curl --data-binary @IMAGE http://HOST:PORT/v1/models/NAME/versions/VERSION:classify");
  EXPECT_EQ(CurlLine(*Sent("POST", "", "", {{"Host", "[::1]:80"}}).request, "m.n_o-p", "canary"),
            "curl --data-binary @IMAGE http://[::1]:80/v1/models/m.n_o-p/versions/canary:classify");
}

TEST_F(HttpClassifyFrontTest, ErrorsListTheValidValues) {
  const std::string image = NoisePng(8, 8, 1);
  const auto why = [&](const std::string& query) { return Refused(400, kBadRequest, kPath + query, image); };
  EXPECT_THAT(why("?top_k=6"), HasSubstr("has 5 classes; ask for 1 to 5"));
  EXPECT_THAT(why("?resolution=400x400"), HasSubstr("tokens"));
  EXPECT_THAT(why("?attention=channels"), HasSubstr("no attention of kind channels; it has "));
  EXPECT_THAT(why("?features=projection"), HasSubstr("no features of kind projection; it has class, mean, patches"));
  EXPECT_THAT(why("?attention=mean:99"), HasSubstr("layer 99 is out of range"));
  EXPECT_THAT(why("?attention=mean::9"), HasSubstr("head 9 is out of range"));
  EXPECT_THAT(Refused(400, kBadRequest, "/v1/models/m/versions/1:classify?version_label=stable", image),
              HasSubstr("leave version_label out"));
  EXPECT_THAT(Refused(400, kBadRequest, "/v1/models/m/versions/0:classify", image), HasSubstr("counted from 1"));
  Refused(404, "NOT_FOUND", "/v1/models/m/versions/3:classify", image);
  Refused(404, "NOT_FOUND", "/v1/models/m:classify?version_label=canary", image);
  Refused(404, "NOT_FOUND", "/v1/models/nobody:classify", image);
  Refused(400, kBadRequest, "/v1/models/no body:classify", image);
  Refused(400, kBadRequest, "/v1/models/:classify", image);
}

TEST_F(HttpClassifyFrontTest, ErrorsForUnknownPathsListTheValidOnes) {
  for (const char* path :
       {"/v1", "/v1/models/m:predict", "/v1/models/m/versions:classify", "/v1/models/m/versions/:classify",
        "/v1/models/m/versions/1/x:classify", "/v1/models/m/of/1:classify"}) {
    EXPECT_THAT(Refused(404, "NOT_FOUND", path, ""), HasSubstr("POST /v1/models/NAME[/versions/V]:classify")) << path;
  }
  for (const char* path : {"/v1/models", "/v1/models/m", "/v1/models/m/versions/1"}) {
    const HttpResponse response = Ask(Sent("DELETE", path));
    EXPECT_EQ(response.code, 405) << path;
    EXPECT_THAT(response.headers, ::testing::Contains(::testing::Pair("Allow", "GET, HEAD")));
  }
  for (const char* method : {"GET", "PUT", "DELETE"}) {
    const HttpResponse response = Ask(Sent(method, kPath));
    EXPECT_EQ(response.code, 405) << method;
    EXPECT_THAT(response.headers, ::testing::Contains(::testing::Pair("Allow", "POST")));
  }
  EXPECT_THAT(Ask(Sent("GET", "/")).body, AllOf(HasSubstr("/v2/models/NAME"), HasSubstr(":classify")));
  EXPECT_EQ(Ask(Sent("GET", "//v1//models/")).code, 200);
  EXPECT_EQ(Ask(Sent("GET", "/v2/models/m")).code, 200);
}

TEST_F(HttpClassifyFrontTest, ListsReadyModels) {
  const json models = json::parse(Ask(Sent("GET", "/v1/models")).body)["models"];
  ASSERT_EQ(models.size(), 2);
  EXPECT_EQ(models[0]["name"], "m");
  ASSERT_FALSE(models[0]["versions"].empty());
  EXPECT_EQ(models[0]["versions"].back()["version"], 2);
  EXPECT_EQ(models[0]["versions"].back()["state"], "ready");
  EXPECT_EQ(models[0]["versions"].back()["labels"], json::parse(R"(["stable"])"));
  EXPECT_EQ(models[0]["versions"].back()["licence"], "");
  EXPECT_EQ(models[1]["name"], "other");
}

TEST_F(HttpClassifyFrontTest, ListsModelsForOpenAisClients) {
  const json all = json::parse(Ask(Sent("GET", "/v1/models")).body);
  EXPECT_EQ(all["object"], "list");
  ASSERT_EQ(all["data"].size(), 2);
  for (const json& model : {all["data"][0], json::parse(Ask(Sent("GET", "/v1/models/m")).body)}) {
    EXPECT_EQ(model["id"], "m");
    EXPECT_EQ(model["object"], "model");
    EXPECT_TRUE(model["created"].is_number_integer());
    EXPECT_EQ(model["owned_by"], "vitrine");
  }
  EXPECT_EQ(all["data"][1]["id"], "other");
}

TEST_F(HttpClassifyFrontTest, DescribesAModel) {
  const json model = json::parse(Ask(Sent("GET", "/v1/models/m")).body);
  EXPECT_EQ(model["name"], "m");
  EXPECT_EQ(model["version"], 2);
  EXPECT_TRUE(model["classes"].is_array() && model["attention"].is_array() && model["features"].is_array());
  EXPECT_TRUE(model["metrics"].is_array() && model["data"].is_string() && model["recipe"].is_string());
  EXPECT_FALSE(model["input"].get<std::string>().empty());
  EXPECT_EQ(model["licence"], "");
  EXPECT_TRUE(model["weights_sha256"].is_string() && model["created_unix_seconds"].is_number());
  ASSERT_FALSE(model["attention"].empty());
  EXPECT_TRUE(model["attention"][0]["kind"].is_string() && model["attention"][0]["layers"].is_number());
  EXPECT_FALSE(model["features"].empty());
  EXPECT_EQ(json::parse(Ask(Sent("GET", "/v1/models/m/versions/2")).body), model);
  EXPECT_EQ(Ask(Sent("GET", "/v1/models/m/versions/3")).code, 404);
  const HttpResponse unknown = Ask(Sent("GET", "/v1/models/nobody"));
  EXPECT_EQ(unknown.code, 404);
  const json error = json::parse(unknown.body);
  EXPECT_THAT(error["error"]["message"].get<std::string>(), HasSubstr("there is no model"));
  EXPECT_EQ(error["error"]["type"], "invalid_request_error");
  EXPECT_EQ(error["error"]["code"], "NOT_FOUND");
  EXPECT_EQ(error["code"], "NOT_FOUND") << "the code is also where other errors have it";
  EXPECT_EQ(Ask(Sent("GET", "/v1/models/m/versions")).code, 404);
}

TEST_F(HttpClassifyFrontTest, ServesTheStatusIfItIsProvided) {
  EXPECT_EQ(Ask(Sent("GET", "/v1/status")).code, 404);
  HttpPort port({}, service_, registry_, *identity_, health_,
                {.status_json = [](const Caller& caller) { return "of " + caller.name; }});
  const auto ask = [&](const char* method) {
    return testing::AnswerOf(port.Begin(testing::HeadOf(method, "/v1/status", {})), "");
  };
  EXPECT_EQ(ask("GET").body, "of anonymous");
  EXPECT_EQ(ask("POST").code, 405);
}

TEST_F(HttpClassifyFrontTest, ADrainingServerRejectsRequests) {
  service_.StartDraining();
  EXPECT_THAT(Refused(503, "UNAVAILABLE", kPath, NoisePng(8, 8, 1)), HasSubstr("draining"));
  EXPECT_EQ(service_.ledger().accepted(), 1);
  EXPECT_EQ(service_.ledger().answered(), 1) << "the rejected request counts as answered";
}

// Tests that the executor gets the bytes of the body without a copy.
TEST_F(HttpClassifyFrontTest, ABodyIsNotCopiedAndTheHeaderGivesTheId) {
  const Sent sent("POST", kPath, NoisePng(8, 8, 1), {{"x-request-id", "of a proxy"}});
  std::string body = sent.body;
  const char* const bytes = body.data();
  const HttpHandling next = port_.Begin(sent.request);
  next.with_body(std::move(body), std::make_shared<Unheard>());
  const std::optional<Batch> batch = scheduler_.NextBatch();
  const InferenceRequest& request = *batch->requests.front();
  EXPECT_EQ(request.input.data(), bytes);
  EXPECT_EQ(request.request.request_id(), "of a proxy");
  EXPECT_TRUE(request.request.has_image());
  batch->requests.front()->Finish(absl::CancelledError(""));
}

TEST_F(HttpClassifyFrontTest, TheLogLineOfARejectionHasTheId) {
  ClassifyService service(registry_, admission_, scheduler_, metrics_, clock_, {.requests = "failures"});
  HttpPort port({}, service, registry_, *identity_, health_);
  const auto line = [&](const std::string& url, const std::string& body) {
    const Sent sent("POST", url, body, {{"x-request-id", "of-header"}});
    return Logged("info", "text", [&] { testing::AnswerOf(port.Begin(sent.request), sent.body); });
  };
  EXPECT_THAT(line(kPath, "no image"), HasSubstr("request_id=of-header"));
  EXPECT_THAT(line("/v1/models/nobody:classify", NoisePng(8, 8, 1)), HasSubstr("request_id=of-header"));
  EXPECT_THAT(line(std::string(kPath) + "?top_k=x", NoisePng(8, 8, 1)), HasSubstr("request_id=of-header"));
  EXPECT_THAT(line(std::string(kPath) + "?request_id=own", "no image"), HasSubstr("request_id=own"));
  EXPECT_THAT(line("/v2/models/m/infer", "{"), HasSubstr("request_id=of-header"));
  EXPECT_THAT(line("/v2/models/m/infer", R"({"id": "own", "inputs": []})"), HasSubstr("request_id=own"));
}

// Tests the default timeout, which starts at the end of the body, because an upload over a slow network may take
// longer. A timeout in the query starts when the headers have arrived.
TEST_F(HttpClassifyFrontTest, TheDefaultTimeoutCountsFromTheEndOfTheBody) {
  for (const auto& [query, deadline] : {std::pair<std::string, absl::Duration>{"", absl::Seconds(165)},
                                        std::pair<std::string, absl::Duration>{"?deadline=2s", absl::Seconds(2)}}) {
    const absl::Time start = clock_.Now();
    const Sent sent("POST", kPath + query, NoisePng(8, 8, 1));
    const HttpHandling next = port_.Begin(sent.request);
    clock_.Advance(query.empty() ? absl::Seconds(105) : absl::Seconds(1));
    next.with_body(sent.body, std::make_shared<Unheard>());
    const std::optional<Batch> batch = scheduler_.NextBatch();
    EXPECT_EQ(batch->requests.front()->deadline - start, deadline) << query;
    batch->requests.front()->Finish(absl::CancelledError(""));
  }
}

// Sends an image to an endpoint that expects JSON.
TEST_F(HttpClassifyFrontTest, AnImageSentToTheOtherProtocolGetsTheRightCommand) {
  for (const std::string& image : {NoisePng(8, 8, 1), std::string("\xFF\xD8\xFF\xE0[[[[")}) {
    const HttpResponse response =
        Ask(Sent("POST", "/v2/models/m/versions/2/infer", image, {{"Host", "localhost:8000"}}));
    EXPECT_EQ(response.code, 400);
    EXPECT_THAT(json::parse(response.body)["error"].get<std::string>(),
                HasSubstr("curl --data-binary @IMAGE http://localhost:8000/v1/models/m/versions/2:classify"));
  }
  EXPECT_THAT(Ask(Sent("POST", "/v2/models/m/infer", "[")).body, HasSubstr("not JSON"));
}

}  // namespace
}  // namespace vitrine
