// SPDX-License-Identifier: Apache-2.0
// Compares a scrape exactly. All its numbers are different, so that exchanged numbers are detected. The table of
// metrics must list the same metrics as docs/reference/metrics.md and as a scrape. The scrape must pass promtool's
// checks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/observe/metric_table.h"
#include "server/observe/metrics.h"
#include "server/pages/version_families.h"
#include "server/registry/version/version_status.h"
#include "tests/paths.h"
#include "tests/read_file.h"
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
  loaded->device_memory = {.device_bytes = 4300, .pinned_bytes = 21};
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
       .unsent_bytes = [] { return 35; },
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
       .rejected_settings =
           [] {
             return std::vector<std::string>{"--policy", "--tokens"};
           },
       .certificates =
           [] {
             return std::vector<std::pair<std::string, absl::Time>>{{"grpc", absl::FromUnixSeconds(81)}};
           },
       .repository_refreshed = [] { return absl::FromUnixSeconds(82); },
       .log_lines = [] { return std::pair<uint64_t, uint64_t>(91, 92); },
       .spans = [] { return SpanTotals{.exported = 93, .full = 94, .failed = 95}; },
       .device =
           [] {
             return DeviceStatus{.free_bytes = 111,
                                 .total_bytes = 115,
                                 .batches = 112,
                                 .images = 113,
                                 .uploaded_bytes = 114,
                                 .busy = absl::Seconds(5.5)};
           }});
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

// A server that provides every metric.
struct Full {
  Full() {
    SetSources(metrics);
    Count(*metrics.ForModel("m"), *version);
    metrics.DeclareAdminAction("LoadModel");
  }

  Metrics metrics{"1.2.3", "abcdef"};
  std::shared_ptr<VersionMetrics> version = metrics.ForModel("m")->ForVersion(7);
};

TEST(Scrape, HasEveryNumberUnderItsName) {
  Full full;
  Metrics& metrics = full.metrics;
  metrics.unknown().requests().Count(Method::kClassify, absl::NotFoundError("none"), absl::Milliseconds(1));
  metrics.CountAdminAction("LoadModel", absl::StatusCode::kAborted);
  ListenerCounters& grpc = metrics.server().Of(Listener::kGrpc);
  grpc.accepted = 100;
  grpc.refused = 102;
  grpc.closed[static_cast<size_t>(CloseReason::kAbuse)] = 105;
  metrics.server().Of(Listener::kHttp).accepted = 1;
  ListenerCounters& admin = metrics.server().Of(Listener::kAdmin);
  admin.accepted = admin.refused = 1000;  // not a listener for clients
  admin.closed[static_cast<size_t>(CloseReason::kTls)] = 106;
  admin.streams_cut_off[static_cast<size_t>(StreamCutOff::kUnread)] = 107;
  metrics.server().unauthenticated = 103;
  metrics.server().permission_denied = 104;
  std::string lines;
  for (const auto line : absl::StrSplit(metrics.Text(), '\n')) {
    // Skips process metrics. Skips buckets of methods without calls, because these buckets have the same limits as the
    // buckets of methods with calls.
    const bool unused = absl::StrContains(line, "_bucket{") && absl::StrContains(line, "method=") &&
                        !absl::StrContains(line, "model=\"m\",method=\"Classify\",outcome=\"ok\"");
    if (!unused && !absl::StrContains(line, "process_")) absl::StrAppend(&lines, line, "\n");
  }
  ExpectStored("scrape.txt", lines);
}

const char* TypeName(prometheus::MetricType type) {
  switch (type) {
    case prometheus::MetricType::Counter:
      return "counter";
    case prometheus::MetricType::Gauge:
      return "gauge";
    default:
      return "histogram";
  }
}

// Returns the metric's row in the format of docs/reference/metrics.md.
std::string MarkdownOf(const MetricRow& row) {
  const auto cell = [](std::string_view text) { return text.empty() ? std::string() : std::string(text) + " "; };
  return "| `" + std::string(row.name) + "` | " + TypeName(row.type) + " | " + cell(row.unit) + "| " +
         cell(row.labels) + "| " + std::string(row.help) + " |";
}

// Returns the rows of metrics in docs/reference/metrics.md.
std::vector<std::string> DocumentedRows() {
  std::ifstream file(VITRINE_SOURCE "/docs/reference/metrics.md");
  EXPECT_TRUE(file.good());
  std::vector<std::string> rows;
  static const std::regex kRow(R"(\| `[a-z0-9_]+` \| (counter|gauge|histogram) \|.*)");
  for (std::string line; std::getline(file, line);) {
    if (std::regex_match(line, kRow)) rows.push_back(line);
  }
  return rows;
}

// Returns the names of the metric's labels. Only the last label may be followed by its values. They begin after the
// first " = ".
std::set<std::string> LabelsOf(const MetricRow& row) {
  std::string text(row.labels);
  const size_t values = text.find(" = ");
  if (values != std::string::npos) text.resize(values);
  static const std::regex kLabel("`([a-z_0-9]+)`");
  std::set<std::string> labels;
  for (auto i = std::sregex_iterator(text.begin(), text.end(), kLabel); i != std::sregex_iterator(); ++i) {
    labels.insert((*i)[1]);
  }
  return labels;
}

TEST(DocumentedMetrics, EqualTheMetricTable) {
  std::vector<std::string> rows;
  for (const MetricRow& row : kMetricTable) rows.push_back(MarkdownOf(row));
  EXPECT_GE(rows.size(), 60U);
  EXPECT_THAT(DocumentedRows(), ::testing::ElementsAreArray(rows))
      << "docs/reference/metrics.md must equal metric_table.h";
}

TEST(DocumentedMetrics, TheTableListsEveryScrapedMetric) {
  const Full full;
  std::set<std::string> shown;
  for (const prometheus::MetricFamily& family : full.metrics.Collect()) {
    EXPECT_TRUE(shown.insert(family.name).second) << family.name << " twice";
    const auto* const row = std::find_if(std::begin(kMetricTable), std::end(kMetricTable),
                                         [&](const MetricRow& each) { return each.name == family.name; });
    ASSERT_NE(row, std::end(kMetricTable)) << family.name;
    EXPECT_EQ(family.type, row->type) << family.name;
    EXPECT_FALSE(family.metric.empty()) << family.name << " has no sample";
    std::set<std::string> labels;
    for (const prometheus::ClientMetric& metric : family.metric) {
      for (const auto& label : metric.label) labels.insert(label.name);
    }
    EXPECT_EQ(labels, LabelsOf(*row)) << family.name;
    EXPECT_THAT(family.help, ::testing::Not(::testing::HasSubstr("`")));
  }
  for (const MetricRow& row : kMetricTable) {
    EXPECT_TRUE(shown.contains(std::string(row.name))) << row.name << " is in the table and not shown";
    EXPECT_TRUE(row.help.ends_with('.')) << row.name;
  }
}

TEST(DocumentedMetrics, PassPromtool) {
  if (std::system("command -v promtool > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "promtool (Debian's prometheus) is not installed: names were not checked against its rules";
  }
  const std::string path =
      (std::filesystem::temp_directory_path() / ("vitrine-metrics-" + std::to_string(getpid()))).string();
  std::ofstream(path) << Full().metrics.Text();
  const int code = std::system(("promtool check metrics < " + path + " > " + path + ".out 2>&1").c_str());
  const std::string said = ReadFile(path + ".out");
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".out");
  EXPECT_EQ(code, 0) << said;
  EXPECT_EQ(said, "");
}

TEST(DocumentedMetrics, AModelNamedUnknownSharesTheUnknownSeries) {
  Metrics metrics("");
  metrics.unknown().requests().Count(Method::kClassify, absl::OkStatus(), absl::Milliseconds(3));
  metrics.ForModel("unknown")->requests().Count(Method::kClassify, absl::OkStatus(), absl::Milliseconds(3));
  const std::vector<std::string> parts =
      absl::StrSplit(metrics.Text(), "vitrine_requests_total{model=\"unknown\",method=\"Classify\",code=\"OK\"} ");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].substr(0, 2), "2\n");
}

TEST(DocumentedMetrics, SeriesOfAVersionEndWhenAnotherIsLoaded) {
  Metrics metrics("");
  auto version = metrics.ForModel("m")->ForVersion(7);
  EXPECT_EQ(metrics.ForModel("m")->ForVersion(7), version) << "one set for a version";
  EXPECT_THAT(metrics.Text(), ::testing::HasSubstr("vitrine_version_requests_total{model=\"m\",version=\"7\""));
  version->requests().Count(Method::kClassify, absl::OkStatus(), absl::Milliseconds(3));
  metrics.ForModel("m")->requests().Count(Method::kClassify, absl::OkStatus(), absl::Milliseconds(3));
  version.reset();
  EXPECT_THAT(metrics.Text(), ::testing::HasSubstr("{model=\"m\",version=\"7\",code=\"OK\"} 1\n"));
  EXPECT_EQ(metrics.ForModel("m")->ForVersion(7)->Requests().All(), 1) << "loaded again";
  version = metrics.ForModel("m")->ForVersion(8);
  EXPECT_THAT(metrics.Text(), ::testing::Not(::testing::HasSubstr("version=\"7\"")));
  EXPECT_EQ(metrics.ForModel("m")->ForVersion(7)->Requests().All(), 0) << "a new one";
  EXPECT_EQ(metrics.ForModel("m")->Requests().All(), 1) << "what was counted at the model stays";
  EXPECT_THAT(metrics.ForModel("m")->Versions(), ::testing::Contains(::testing::Pair(8, version))) << "in memory";
}

}  // namespace
}  // namespace vitrine
