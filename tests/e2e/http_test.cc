// The HTTP page: metrics that add up, readiness, and that nothing sent to it does harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <sstream>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "tests/e2e/published.h"
#include "tests/e2e/running_server.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Every sample of a text exposition by name and labels; the test fails on a line that is not of the format.
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

TEST(Metrics, AScrapeParsesAndItsCountsAreThoseOfTheClient) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  RunningServer running(folder.path());
  const std::string picture = NoiseJpeg(24, 24, 1);
  v1::ClassifyResponse response;
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(running.Classify(PictureRequest("mixed", picture), &response).ok());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(running.Classify(PictureRequest("mixed", "junk"), &response).ok());
  for (int i = 0; i < 2; ++i)
    EXPECT_FALSE(running.Classify(PictureRequest("no \"such\" model", picture), &response).ok());

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
  EXPECT_EQ(requests(R"(model="unknown",method="Classify",code="NOT_FOUND")"), 2);
  EXPECT_THAT(page, ::testing::Not(HasSubstr("such"))) << "a caller's string became a label";
  EXPECT_EQ(running.Metric("vitrine_stage_duration_seconds_count{model=\"mixed\",stage=\"compute\"}"), 7);
  EXPECT_EQ(running.Metric("vitrine_batch_images_sum{model=\"mixed\"}"), 7);
  EXPECT_EQ(running.Metric("vitrine_model_info{model=\"mixed\",version=\"1\""), 1);
  EXPECT_GT(running.Metric("vitrine_model_device_bytes{model=\"mixed\",version=\"1\"}"), 0);
  EXPECT_EQ(running.Metric("vitrine_queue_depth "), 0);
}

TEST(Http, ReadinessFollowsTheServer) {
  const ScratchFolder folder;
  RunningServer running(folder.path());
  EXPECT_THAT(running.Get("/healthz"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(running.Get("/readyz"), StartsWith("HTTP/1.1 200 "));
}

TEST(Http, IsNotReadyWhileEveryVersionIsRefused) {
  const ScratchFolder folder;
  const VersionId broken = PublishModel(folder.path(), "mixed", MixedConfig());
  const auto weights = folder.path() / "mixed" / std::to_string(broken.version) / "weights.safetensors";
  std::filesystem::resize_file(weights, std::filesystem::file_size(weights) - 1);
  RunningServer running(folder.path());
  EXPECT_THAT(running.Get("/readyz"), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("no version is ready")));
  PublishModel(folder.path(), "mixed", MixedConfig());
  EXPECT_TRUE(Eventually([&] { return absl::StartsWith(running.Get("/readyz"), "HTTP/1.1 200 "); }));
}

TEST(Http, NothingElseIsThere) {
  const ScratchFolder folder;
  RunningServer running(folder.path());
  for (const char* path :
       {"/", "/metrics/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/metricsx", "/a?b=/metrics"}) {
    EXPECT_THAT(running.Get(path), StartsWith("HTTP/1.1 404 ")) << path;
  }
}

TEST(Http, MalformedRequestsAreHarmless) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  RunningServer running(folder.path());
  const std::string& address = running.server().metrics_address();
  const std::vector<std::string> malformed = {
      "GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
      "GET http://[::1 HTTP/1.1\r\nConnection: close\r\n\r\n",
      std::string("GET /\0/metrics HTTP/1.1\r\nConnection: close\r\n\r\n", 46),
      "POST /metrics HTTP/1.1\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
      "BREW / HTCPCP/1.0\r\n\r\n",
      "GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\nConnection: close\r\n\r\n",
      "\r\n\r\n\r\n",
      "\x16\x03\x01\x02",
  };
  for (const std::string& bytes : malformed) {
    EXPECT_THAT(HttpExchange(address, bytes), ::testing::Not(StartsWith("HTTP/1.1 200 "))) << bytes.substr(0, 40);
  }
  v1::ClassifyResponse response;
  EXPECT_TRUE(running.Classify(PictureRequest("mixed", NoiseJpeg(24, 24, 1)), &response).ok());
  EXPECT_THAT(running.Get("/metrics"), StartsWith("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace vitrine::testing
