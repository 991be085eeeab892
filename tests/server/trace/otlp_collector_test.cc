// SPDX-License-Identifier: Apache-2.0
#include "server/trace/otlp_collector.h"

#include <gmock/gmock.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/status.pb.h"
#include "tests/server/trace/scripted_server.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using testing::ScriptedServer;
using ::testing::StartsWith;

std::string Answer(int code, const std::string& headers = "", const std::string& body = "") {
  return absl::StrCat("HTTP/1.1 ", code, " so\r\n", headers, "content-length: ", body.size(), "\r\n\r\n", body);
}

constexpr char kProtobuf[] = "content-type: application/x-protobuf\r\n";

SpansSent SendTo(ScriptedServer& server, OtlpResponse& response) {
  OtlpCollector collector(*CollectorUrl(server.url()), {{"authorization", "Bearer x"}});
  OtlpRequest request;
  request.add_resource_spans()->add_scope_spans()->mutable_scope()->set_name("some");
  return collector.Send(request, response, absl::Seconds(60));
}

SpansSent Sent(const std::string& answer) {
  ScriptedServer server({{answer}});
  OtlpResponse response;
  return SendTo(server, response);
}

TEST(OtlpCollector, SendsSpansAsProtobuf) {
  OtlpResponse partial;
  partial.mutable_partial_success()->set_rejected_spans(2);
  ScriptedServer server({{Answer(200, kProtobuf, partial.SerializeAsString())}});
  OtlpResponse response;
  const SpansSent sent = SendTo(server, response);
  EXPECT_TRUE(sent.status.ok()) << sent.status;
  EXPECT_EQ(response.partial_success().rejected_spans(), 2);
  const std::string request = server.requests()[0];
  EXPECT_THAT(request, StartsWith("POST /v1/traces HTTP/1.1\r\n"));
  for (const char* header : {"\r\ncontent-type: application/x-protobuf\r\n", "\r\nauthorization: Bearer x\r\n",
                             "\r\nuser-agent: vitrine-server/"}) {
    EXPECT_THAT(request, HasSubstr(header));
  }
  OtlpRequest read;
  ASSERT_TRUE(read.ParseFromString(request.substr(request.find("\r\n\r\n") + 4)));
  EXPECT_EQ(read.resource_spans(0).scope_spans(0).scope().name(), "some");
}

TEST(OtlpCollector, AnswersOfOtherTypesAreNotParsed) {
  EXPECT_TRUE(Sent(Answer(200)).status.ok());
  EXPECT_TRUE(Sent(Answer(202, "content-type: application/json\r\n", "{}")).status.ok());
  const SpansSent broken = Sent(Answer(200, kProtobuf, "\xff"));
  EXPECT_TRUE(absl::IsInternal(broken.status));
  EXPECT_FALSE(broken.may_pass) << "it may have taken them";
}

// The OTLP specification lists the retryable codes: https://opentelemetry.io/docs/specs/otlp/#failures-1
TEST(OtlpCollector, RetryableCodesAreThoseOfOtlp) {
  for (const int code : {429, 502, 503, 504}) {
    EXPECT_TRUE(Sent(Answer(code)).may_pass) << code;
    EXPECT_FALSE(Sent(Answer(code)).retry_after.has_value()) << code;
    EXPECT_EQ(Sent(Answer(code, "Retry-After: 7\r\n")).retry_after, absl::Seconds(7)) << code;
  }
  for (const char* header : {"Retry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n", "Retry-After: -1\r\n"}) {
    EXPECT_FALSE(Sent(Answer(503, header)).retry_after.has_value()) << header;
  }
  for (const int code : {301, 400, 401, 403, 404, 413, 415, 500, 501}) {
    const SpansSent sent = Sent(Answer(code, "Retry-After: 7\r\n"));
    EXPECT_FALSE(sent.status.ok()) << code;
    EXPECT_FALSE(sent.may_pass) << code;
    EXPECT_THAT(std::string(sent.status.message()), HasSubstr(absl::StrCat("HTTP ", code)));
  }
  EXPECT_TRUE(Sent(ScriptedServer::kClose).may_pass) << "nobody was there";
  EXPECT_FALSE(Sent("nonsense\r\n\r\n").may_pass);
}

TEST(OtlpCollector, ReturnsTheCollectorsErrorMessage) {
  google::rpc::Status details;
  details.set_message("of another kind");
  const SpansSent sent = Sent(Answer(400, kProtobuf, details.SerializeAsString()));
  EXPECT_TRUE(absl::IsInvalidArgument(sent.status));
  EXPECT_EQ(sent.status.message(), "HTTP 400: of another kind");
}

TEST(OtlpCollector, CancelIsPermanent) {
  ScriptedServer server({});
  OtlpCollector collector(*CollectorUrl(server.url()), {});
  collector.Cancel();
  OtlpResponse response;
  const SpansSent sent = collector.Send({}, response, absl::Seconds(60));
  EXPECT_TRUE(absl::IsCancelled(sent.status));
  EXPECT_FALSE(sent.may_pass);
}

}  // namespace
}  // namespace vitrine
