// SPDX-License-Identifier: Apache-2.0
// Tests that the metrics and the log of requests agree with what clients sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/observe/log.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Returns every sample of a text exposition by name and labels. Fails the test on a line that is not in this format.
std::map<std::string, double> Parse(const std::string& page) {
  static const std::regex kSample(
      R"re(([a-zA-Z_:][a-zA-Z0-9_:]*(?:\{(?:[a-zA-Z_]\w*="(?:[^"\\]|\\.)*",?)*\})?) ([-+]?(?:[0-9.eE+-]+|Inf|NaN)))re");
  std::map<std::string, double> samples;
  std::istringstream lines(page.substr(page.find("\r\n\r\n") + 4));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || absl::StartsWith(line, "# HELP ") || absl::StartsWith(line, "# TYPE ")) continue;
    std::smatch match;
    EXPECT_TRUE(std::regex_match(line, match, kSample)) << "not a sample: " << line;
    if (match.size() == 3) samples[match[1]] = std::strtod(match[2].str().c_str(), nullptr);
  }
  return samples;
}

TEST(Metrics, AScrapeHasTheCountsOfTheClient) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  RunningServer running(folder.path());
  const std::string image = NoiseJpeg(24, 24, 1);
  v1::ClassifyResponse response;
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(running.Classify(ImageRequest("mixed", image), &response).ok());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(running.Classify(ImageRequest("mixed", "junk"), &response).ok());
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(running.Classify(ImageRequest("no \"such\" model", image), &response).ok());

  const std::string page = running.Get("/metrics");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(page, HasSubstr("Content-Type: text/plain; version=0.0.4"));
  const std::map<std::string, double> samples = Parse(page);
  const auto requests = [&](const std::string& labels) {
    const auto found = samples.find("vitrine_requests_total{" + labels + "}");
    return found == samples.end() ? 0 : found->second;
  };
  EXPECT_EQ(requests(R"(model="mixed",method="Classify",code="OK")"), 7);
  EXPECT_EQ(requests(R"(model="mixed",method="Classify",code="INVALID_ARGUMENT")"), 3);
  EXPECT_EQ(requests(R"(model="unknown",method="Classify",code="INVALID_ARGUMENT")"), 2);
  EXPECT_THAT(page, ::testing::Not(HasSubstr("such"))) << "a caller's string became a label";
  // Each batch has one image, which comes either from the client or from the server's own probe.
  double batches = 0;
  for (const auto& [name, value] : samples) {
    if (absl::StartsWith(name, "vitrine_executor_batches_total{")) batches += value;
  }
  EXPECT_GE(batches, 7);
  const auto sample = [&](const std::string& name) { return samples.contains(name) ? samples.at(name) : -1; };
  EXPECT_EQ(sample("vitrine_stage_duration_seconds_count{model=\"mixed\",stage=\"compute\",outcome=\"ok\"}"), batches);
  EXPECT_EQ(sample("vitrine_batch_images_sum{model=\"mixed\"}"), batches);
  EXPECT_EQ(sample("vitrine_batch_grids_sum{model=\"mixed\"}"), batches);
  EXPECT_EQ(running.Metric("vitrine_model_info{model=\"mixed\",version=\"1\""), 1);
  EXPECT_GT(running.Metric("vitrine_model_device_bytes{model=\"mixed\",version=\"1\"}"), 0);
  EXPECT_EQ(running.Metric("vitrine_queue_depth "), 0);
  EXPECT_EQ(running.Metric("vitrine_version_requests_total{model=\"mixed\",version=\"1\",code=\"OK\"}"), 7);
  EXPECT_EQ(running.Metric("vitrine_version_request_duration_seconds_count{model=\"mixed\",version=\"1\"}"), 7);
  EXPECT_EQ(running.Metric("vitrine_top1_confidence_ratio_count{model=\"mixed\",version=\"1\"}"), 7);
  EXPECT_EQ(running.Metric("vitrine_prediction_entropy_ratio_count{model=\"mixed\",version=\"1\"}"), 7);
  EXPECT_EQ(
      running.Metric("vitrine_request_duration_seconds_count{model=\"mixed\",method=\"Classify\",outcome=\"error\"}"),
      3);
  EXPECT_GT(running.Metric("vitrine_executor_busy_seconds_total"), 0);
  EXPECT_EQ(running.Metric("vitrine_model_load_duration_seconds_count{model=\"mixed\",outcome=\"ok\"}"), 1);
  EXPECT_EQ(running.Metric("vitrine_version_traffic_ratio{model=\"mixed\",version=\"1\"}"), 1);
  EXPECT_EQ(running.Metric("vitrine_ready "), 1);
  EXPECT_EQ(running.Metric("vitrine_repository_readable "), 1);
  EXPECT_GT(running.Metric("vitrine_cpu_limit_cores "), 0);
}

TEST(Metrics, ConnectionsAndStreamsAreCounted) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  RunningServer running(folder.path());
  v1::ClassifyResponse response;
  EXPECT_TRUE(running.Classify(ImageRequest("mixed", NoiseJpeg(24, 24, 1)), &response).ok());
  EXPECT_EQ(running.Metric("vitrine_connections "), 1);
  EXPECT_EQ(running.Metric("vitrine_connections_total "), 1);
  {
    const std::shared_ptr<grpc::Channel> channel = running.NewChannel();
    const auto stub = v1::Classifier::NewStub(channel);
    grpc::ClientContext context;
    const auto stream = stub->ClassifyStream(&context);
    EXPECT_TRUE(Eventually([&] { return running.Metric("vitrine_open_streams ") == 1; }));
    EXPECT_EQ(running.Metric("vitrine_connections "), 2);
    stream->WritesDone();
    stream->Finish();
    EXPECT_TRUE(Eventually([&] { return running.Metric("vitrine_open_streams ") == 0; }));
  }
  EXPECT_TRUE(Eventually([&] { return running.Metric("vitrine_connections ") == 1; })) << "the second one is closed";
  EXPECT_EQ(running.Metric("vitrine_connections_total "), 2);
}

// Returns the log line of the request with this id.
nlohmann::json LineOf(const std::string& log, const std::string& request_id) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json parsed = nlohmann::json::parse(line, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << "not an object: " << line;
    if (parsed.is_object() && parsed.value("request_id", "") == request_id) return parsed;
  }
  ADD_FAILURE() << "no line of " << request_id << " in " << log;
  return nullptr;
}

TEST(RequestLog, HasTheCallersIdsAndEscapesThem) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  ServerOptions options = TestOptions(folder.path());
  options.log_level = "debug";
  options.request_log.requests = "all";
  options.http = "127.0.0.1:0";
  ::testing::internal::CaptureStderr();
  StartLogging("debug", "json");
  const std::string forged = "id\n{\"time\":\"2026\",\"level\":\"error\",\"message\":\"forged\"}";
  {
    RunningServer running(options);
    const std::vector<int> pixels(8 * 8 * 3, 7);
    const auto call = [&](const std::string& id, const std::string& model, const std::vector<std::string>& parents) {
      grpc::ClientContext context;
      for (const std::string& parent : parents) context.AddMetadata("traceparent", parent);
      v1::ClassifyRequest request = ImageRequest(model, NoiseJpeg(24, 24, 1));
      request.set_request_id(id);
      v1::ClassifyResponse response;
      return running.classifier().Classify(&context, request, &response);
    };
    const std::string parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    EXPECT_TRUE(call("traced", "mixed", {parent}).ok());
    EXPECT_TRUE(call("malformed", "mixed", {"00-xyz"}).ok());
    EXPECT_TRUE(call("twice", "mixed", {parent, parent}).ok());
    EXPECT_FALSE(call(forged, "no\nsuch", {}).ok());
    const auto infer = [&](const std::string& id, const std::string& headers) {
      const std::string body = absl::StrCat(R"({"id":")", id, R"(","inputs":[{"name":"image","datatype":"UINT8",)",
                                            R"("shape":[1,8,8,3],"data":[)", absl::StrJoin(pixels, ","), "]}]}");
      return HttpExchange(running.server().http_address(),
                          absl::StrCat("POST /v2/models/mixed/infer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n",
                                       headers, "Content-Length: ", body.size(), "\r\n\r\n", body));
    };
    EXPECT_THAT(infer("over http", "traceparent: " + parent + "\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(infer("http twice", "traceparent: " + parent + "\r\nTraceparent: " + parent + "\r\n"),
                StartsWith("HTTP/1.1 200 OK\r\n"));
  }
  spdlog::default_logger()->flush();
  const std::string log = ::testing::internal::GetCapturedStderr();
  const nlohmann::json traced = LineOf(log, "traced");
  EXPECT_EQ(traced["message"], "request");
  EXPECT_EQ(traced["level"], "info");
  EXPECT_EQ(traced["code"], "OK");
  EXPECT_EQ(traced["model"], "mixed");
  EXPECT_THAT(std::string(traced["peer"]), StartsWith("ipv4:127.0.0.1:"));
  EXPECT_EQ(traced["version"], 1);
  EXPECT_EQ(traced["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(traced["span_id"], "00f067aa0ba902b7");
  EXPECT_GT(traced["duration_ms"], 0);
  const nlohmann::json over_http = LineOf(log, "over http");
  EXPECT_EQ(over_http["method"], "HttpInfer");
  EXPECT_THAT(std::string(over_http["peer"]), StartsWith("ipv4:127.0.0.1:"));
  EXPECT_EQ(over_http["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(over_http["span_id"], "00f067aa0ba902b7");
  EXPECT_FALSE(LineOf(log, "http twice").contains("trace_id"));
  EXPECT_FALSE(LineOf(log, "malformed").contains("trace_id"));
  EXPECT_FALSE(LineOf(log, "twice").contains("trace_id"));
  const nlohmann::json refused = LineOf(log, forged);
  EXPECT_EQ(refused["code"], "INVALID_ARGUMENT");
  EXPECT_EQ(refused["model"], "no\nsuch");
  EXPECT_THAT(log, ::testing::Not(HasSubstr("\xFF\xD8"))) << "an image";
}

}  // namespace
}  // namespace vitrine::testing
