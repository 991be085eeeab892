// SPDX-License-Identifier: Apache-2.0
// Compares a scrape exactly. Every number of the server differs, so that exchanged numbers are detected.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/observe/metrics.h"
#include "server/pages/version_families.h"
#include "server/registry/version/version_status.h"
#include "tests/stored_text.h"

namespace vitrine {
namespace {

VersionStatus Version(int64_t version, v1::ModelState state) {
  VersionStatus status;
  status.id = {"m", version};
  status.state = state;
  status.traffic_percent = 10.0 * static_cast<double>(version);
  if (state != v1::READY) return status;
  auto loaded = std::make_shared<LoadedModel>();
  loaded->weights_sha256 = "abc";
  loaded->precision = "bf16";
  loaded->device = "cpu";
  loaded->device_bytes = 4321;
  status.labels = {"stable", "best"};
  status.model = loaded;
  return status;
}

void SetSources(Metrics& metrics) {
  metrics.SetSources(
      {.versions =
           [](MetricFamilies& families) {
             AddVersionFamilies(families, {Version(7, v1::READY), Version(8, v1::FAILED)});
           },
       .queue = [] { return QueueStatus{.requests = 11, .bytes = 12, .tokens = 13, .oldest = absl::Seconds(1.5)}; },
       .admission =
           [] {
             return AdmissionStatus{
                 .requests = 21, .bytes = 22, .work = absl::Seconds(2.5), .limit_requests = 23, .limit_bytes = 24};
           },
       .answers = [] { return AnswerStatus{.bytes = 31, .limit = 32}; },
       .received = [] { return ReceivedStatus{.bytes = 33, .limit = 34}; },
       .executors =
           [] {
             return std::vector<ExecutorStatus>{
                 {.busy = absl::Seconds(41), .batches = 42, .batch_age = absl::Seconds(0.25)},
                 {.busy = absl::Seconds(43), .batches = 44, .batch_age = absl::ZeroDuration()}};
           },
       .lanes_busy_ratio = [] { return 0.625; },
       .machine = [] { return MachineLimits{.cores = 3.5, .memory_bytes = 51}; },
       .ready = [] { return true; },
       .repository_readable = [] { return false; },
       .connections = [] { return 71; },
       .open_streams = [] { return 72; },
       .certificates =
           [] {
             return std::vector<std::pair<std::string, absl::Time>>{{"grpc", absl::FromUnixSeconds(81)}};
           },
       .repository_refreshed = [] { return absl::FromUnixSeconds(82); },
       .log_lines = [] { return std::pair<uint64_t, uint64_t>(91, 92); }});
}

// Counts something in every metric.
void Count(ModelMetrics& model, VersionMetrics& version) {
  for (int times = 0; times < 3; ++times) {
    model.requests().Count(Method::kClassify, absl::OkStatus(), absl::Milliseconds(3));
  }
  for (RequestCounts* counts : {&model.requests(), &version.requests()}) {
    counts->Count(Method::kModelInfer, absl::InvalidArgumentError("no"), absl::Milliseconds(7));
  }
  model.CountLoad(absl::OkStatus(), absl::Seconds(5));
  model.CountLoad(absl::DataLossError("cut"), absl::Seconds(6));
  for (const auto& [cause, count] : {std::pair(RollbackCause::kErrorRate, 61),
                                     {RollbackCause::kGoldenDrift, 62},
                                     {RollbackCause::kSlow, 63},
                                     {RollbackCause::kAnswers, 64},
                                     {RollbackCause::kLabels, 65}}) {
    for (int times = 0; times < count; ++times) model.CountRollback(cause);
  }
  model.CountExpired(Progress::kQueue);
  model.CountCancelled(Progress::kCompute);
  for (const int time : {0, 1}) {
    for (const Stage stage : {Stage::kQueue, Stage::kDecode, Stage::kCompute, Stage::kEncode}) {
      model.CountAnswered(stage, absl::Milliseconds(2 + 20 * static_cast<int>(stage) + time));
    }
    model.CountBatch(4 + time, 600 + time, 2 + time);
    version.requests().Count(Method::kClassify, absl::OkStatus(), absl::Milliseconds(200 + 1000 * time));
    version.CountSureness({.confidence = 0.7 + 0.1 * time, .entropy = 0.3 + 0.1 * time});
  }
}

TEST(Scrape, SaysEveryNumberUnderItsName) {
  Metrics metrics("1.2.3", "abcdef");
  SetSources(metrics);
  const auto model = metrics.ForModel("m");
  const auto version = metrics.ForModel("m")->ForVersion(7);
  Count(*model, *version);
  metrics.unknown().requests().Count(Method::kClassify, absl::NotFoundError("none"), absl::Milliseconds(1));
  metrics.DeclareAdminAction("LoadModel");
  metrics.CountAdminAction("LoadModel", absl::StatusCode::kAborted);
  metrics.server().connections = 101;
  metrics.server().connections_refused = 102;
  metrics.server().connections_closed[static_cast<size_t>(CloseReason::kAbuse)] = 105;
  metrics.server().unauthenticated = 103;
  metrics.server().permission_denied = 104;
  std::string lines;
  for (const auto line : absl::StrSplit(metrics.Text(), '\n')) {
    // Skips process metrics, and buckets of methods without calls, which equal those with calls.
    const bool unused = absl::StrContains(line, "_bucket{") && absl::StrContains(line, "method=") &&
                        !absl::StrContains(line, "model=\"m\",method=\"Classify\",outcome=\"ok\"");
    if (!unused && !absl::StrContains(line, "process_")) absl::StrAppend(&lines, line, "\n");
  }
  ExpectStored("scrape.txt", lines);
}

}  // namespace
}  // namespace vitrine
