// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "server/pages/status.h"
#include "tests/stored_text.h"

namespace vitrine {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kEvil[] = "<script>alert('x')</script>\"><img src=x onerror=\"y\">&";

// Returns a status with hostile text in every text field.
ServerStatus Hostile() {
  ServerStatus status;
  status.now = status.started = absl::FromUnixSeconds(1'700'000'000);
  status.not_ready = status.repository_fault = status.version = status.revision = status.compute.device = kEvil;
  status.compute.cpu = status.compute.path = status.compute.precision = kEvil;
  status.versions = {{.model = kEvil, .version = 1, .state = kEvil, .reason = kEvil, .labels = {kEvil}},
                     {.model = kEvil, .version = 2, .state = "FAILED", .reason = kEvil}};
  status.models = {{.name = kEvil, .shed_per_second = 1, .rollbacks = 1, .rollbacks_per_second = 1}};
  status.rejected_settings = {kEvil};
  status.certificates = {{kEvil, status.now}};
  status.log = {{status.now, spdlog::level::err, kEvil}};
  status.flags = {{kEvil, kEvil}};
  return status;
}

// Returns the status of a server with a value in every field.
ServerStatus Busy() {
  ServerStatus status;
  status.now = absl::FromUnixSeconds(1'700'000'000);
  status.started = status.now - absl::Seconds(93784.6);
  status.repository_fault = "repository cannot be read: no such folder";
  status.rejected_settings = {"--policy /etc/vitrine/policy is empty"};
  status.version = "1.2.3";
  status.revision = "abc";
  status.compute = {.device = "cpu", .cpu = "A CPU, family 25, model 17", .path = "avx512", .precision = "fp32"};
  status.machine = {.cores = 3.5, .memory_bytes = int64_t{5} << 30};
  status.models = {{.name = "eit",
                    .requests = 120000,
                    .batches = 40000,
                    .requests_per_second = 1264.4,
                    .shed_per_second = 12.5,
                    .rollbacks = 2,
                    .rollbacks_per_second = 0.03},
                   {.name = "kv", .requests_per_second = 99.96}};
  status.versions = {{.model = "eit",
                      .version = 3,
                      .state = "READY",
                      .traffic_percent = 90.5,
                      .labels = {"stable", "best"},
                      .bytes = 14 << 20,
                      .requests_per_second = 1000,
                      .errors_per_second = 20,
                      .faults_per_second = 1.5},
                     {.model = "eit", .version = 4, .state = "FAILED", .reason = "cut", .bytes = 2048},
                     {.model = "kv", .version = 1, .state = "READY", .traffic_percent = 100, .bytes = 100}};
  status.executors = {{.busy_ratio = 0.991}, {.busy_ratio = 0.985, .batch_age = absl::Seconds(75.25)}};
  status.queue = {.requests = 12, .bytes = 1 << 21, .tokens = 3400, .oldest = absl::Seconds(12.34)};
  status.admission = {.requests = 20,
                      .bytes = 3 << 20,
                      .work = absl::Milliseconds(1530),
                      .limit_requests = 4096,
                      .limit_bytes = 1 << 30};
  status.answers = {.bytes = 1000, .limit = 4096};
  status.open_connections = 1200;
  status.connections = {
      {.listener = "grpc",
       .state = {.peer = "ipv4:10.0.0.7:41922",
                 .protocol = "h2+tls",
                 .age = absl::Seconds(75.5),
                 .requests = 4000,
                 .streams = 12,
                 .received_bytes = 98765432,
                 .unsent_bytes = 1173896}},
      {.listener = "http", .state = {.peer = "unix:", .protocol = "http/1.1", .age = absl::Seconds(2)}}};
  status.certificates = {{"gRPC", status.now + absl::Hours(24)}, {"HTTP", status.now + absl::Hours(24 * 300)}};
  status.log = {{status.now - absl::Seconds(1), spdlog::level::err, "it broke"},
                {status.now - absl::Seconds(61), spdlog::level::warn, "it cracked"}};
  status.flags = {{"--listen", "127.0.0.1:8500"}, {"--max-requests", "4096"}};
  return status;
}

TEST(StatusPage, DescribesABusyServer) {
  ExpectStored("status.json", json::parse(StatusJson(Busy())).dump(1) + "\n");
}

TEST(StatusPage, DescribesAServerThatJustStarted) {
  ServerStatus status;
  status.now = status.started = absl::FromUnixSeconds(1'700'000'000);
  status.compute = {.device = "cpu", .cpu = "A CPU, family 25, model 17", .path = "avx512", .precision = "fp32"};
  ExpectStored("status_empty.json", json::parse(StatusJson(status)).dump(1) + "\n");
}

TEST(StatusJson, StartsWithTheVerdict) {
  ServerStatus status;
  status.not_ready = "every version was refused";
  status.versions = {{.model = "m", .version = 7, .state = "FAILED", .reason = "cut"}};
  const std::string text = StatusJson(status);
  EXPECT_EQ(text.find("{\n  \"verdict\": \"Unhealthy: requests are not served: every version was refused"), 0U) << text;
  EXPECT_THAT(text, HasSubstr("m version 7 was rejected: cut; no version of this model serves\""));
}

TEST(StatusJson, HostileTextIsReadBackUnchanged) {
  const json page = json::parse(StatusJson(Hostile()));
  EXPECT_EQ(page["severity"], "down");
  EXPECT_EQ(page["ready"], false);
  EXPECT_EQ(page["not_ready"], kEvil);
  EXPECT_EQ(page["rejected_settings"][0], kEvil);
  EXPECT_EQ(page["versions"][1]["reason"], kEvil);
  EXPECT_EQ(page["log"][0]["level"], "error");
  EXPECT_EQ(page["flags"][kEvil], kEvil);
  EXPECT_GE(page["problems"].size(), 4U);
}

TEST(StatusJson, ShowsAGpuIfThereIsOne) {
  ServerStatus status;
  EXPECT_FALSE(json::parse(StatusJson(status)).contains("gpu"));
  status.device = {.free_bytes = 30, .total_bytes = 100, .batches = 4, .images = 9, .busy = absl::Seconds(2)};
  const json gpu = json::parse(StatusJson(status))["gpu"];
  EXPECT_EQ(gpu["memory_used_bytes"], 70);
  EXPECT_EQ(gpu["images"], 9);
  EXPECT_EQ(gpu["busy_seconds"], 2.0);
}

TEST(StatusJson, InvalidUtf8GivesValidJson) {
  ServerStatus status;
  status.log = {{status.now, spdlog::level::warn, "\xff\xfe"}};
  EXPECT_TRUE(json::accept(StatusJson(status)));
}

}  // namespace
}  // namespace vitrine
