// SPDX-License-Identifier: Apache-2.0
// The table of metrics must match docs/reference/metrics.md and a scrape, in both directions. The scrape must pass
// promtool's checks.
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

#include "server/observe/metric_table.h"
#include "server/observe/metrics.h"
#include "server/pages/version_families.h"
#include "server/registry/version/version_status.h"
#include "tests/paths.h"
#include "tests/read_file.h"

namespace vitrine {
namespace {

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

// Returns the metrics' rows in that file.
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

// Returns the names of the metric's labels. Only the last label may have values, which follow the first " = ".
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

// A server that provides every metric.
class Full {
 public:
  Full() {
    VersionStatus status;
    status.id = {"m", 1};
    status.state = v1::READY;
    status.labels = {"stable"};
    auto loaded = std::make_shared<LoadedModel>();
    loaded->weights_sha256 = "abc";
    loaded->device_memory = {.device_bytes = 10, .pinned_bytes = 2};
    status.model = loaded;
    metrics_.ForModel("m")->requests().Count(Method::kClassify, absl::OkStatus(), absl::Milliseconds(3));
    version_->requests().Count(Method::kClassify, absl::OkStatus(), absl::Milliseconds(3));
    version_->CountSureness({.confidence = 0.5, .entropy = 0.5});
    metrics_.DeclareAdminAction("LoadModel");
    metrics_.SetSources({.versions = [status](MetricFamilies& families) { AddVersionFamilies(families, {status}); },
                         .queue = [] { return QueueStatus(); },
                         .admission = [] { return AdmissionStatus(); },
                         .answers = [] { return AnswerStatus(); },
                         .received = [] { return ReceivedStatus(); },
                         .executors = [] { return std::vector<ExecutorStatus>(2); },
                         .lanes_busy_ratio = [] { return 0.5; },
                         .machine =
                             [] {
                               return MachineLimits{2, 1 << 30};
                             },
                         .ready = [] { return true; },
                         .repository_readable = [] { return true; },
                         .connections = [] { return 1; },
                         .open_streams = [] { return 1; },
                         .certificates =
                             [] {
                               return std::vector<std::pair<std::string, absl::Time>>{{"grpc", absl::Now()}};
                             },
                         .repository_refreshed = [] { return absl::UnixEpoch(); },
                         .log_lines = [] { return std::pair<uint64_t, uint64_t>(1, 2); },
                         .spans = [] { return SpanTotals(); },
                         .device = [] { return DeviceStatus{.free_bytes = 1, .total_bytes = 3, .busy = {}}; }});
  }
  const Metrics& metrics() const { return metrics_; }

 private:
  Metrics metrics_{"1.2.3", "abcdef"};
  std::shared_ptr<VersionMetrics> version_ = metrics_.ForModel("m")->ForVersion(1);
};

TEST(DocumentedMetrics, AreTheRowsOfTheTable) {
  std::vector<std::string> rows;
  for (const MetricRow& row : kMetricTable) rows.push_back(MarkdownOf(row));
  EXPECT_GE(rows.size(), 60U);
  EXPECT_THAT(DocumentedRows(), ::testing::ElementsAreArray(rows))
      << "docs/reference/metrics.md is to say what metric_table.h says";
}

TEST(DocumentedMetrics, TheTableIsAScrape) {
  const Full full;
  std::set<std::string> shown;
  for (const prometheus::MetricFamily& family : full.metrics().Collect()) {
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

TEST(DocumentedMetrics, KeepPromtoolsRules) {
  if (std::system("command -v promtool > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "promtool (Debian's prometheus) is not installed: names were not checked against its rules";
  }
  const std::string path =
      (std::filesystem::temp_directory_path() / ("vitrine-metrics-" + std::to_string(getpid()))).string();
  std::ofstream(path) << Full().metrics().Text();
  const int code = std::system(("promtool check metrics < " + path + " > " + path + ".out 2>&1").c_str());
  const std::string said = ReadFile(path + ".out");
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".out");
  EXPECT_EQ(code, 0) << said;
  EXPECT_EQ(said, "");
}

TEST(DocumentedMetrics, AVersionsSeriesEndWithIt) {
  Metrics metrics("");
  auto version = metrics.ForModel("m")->ForVersion(7);
  EXPECT_EQ(metrics.ForModel("m")->ForVersion(7), version) << "one set for a version";
  EXPECT_THAT(metrics.Text(), ::testing::HasSubstr("vitrine_version_requests_total{model=\"m\",version=\"7\""));
  version->requests().Count(Method::kClassify, absl::OkStatus(), absl::Milliseconds(3));
  metrics.ForModel("m")->requests().Count(Method::kClassify, absl::OkStatus(), absl::Milliseconds(3));
  version.reset();
  EXPECT_THAT(metrics.Text(), ::testing::Not(::testing::HasSubstr("version=\"7\"")));
  version = metrics.ForModel("m")->ForVersion(7);
  EXPECT_EQ(version->Requests().All(), 0) << "a new one";
  EXPECT_EQ(metrics.ForModel("m")->Requests().All(), 1) << "what was counted at the model stays";
  EXPECT_THAT(metrics.ForModel("m")->Versions(), ::testing::ElementsAre(::testing::Pair(7, version)));
}

}  // namespace
}  // namespace vitrine
