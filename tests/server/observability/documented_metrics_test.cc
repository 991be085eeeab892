// SPDX-License-Identifier: Apache-2.0
// docs/reference/metrics.md against what a scrape shows, both ways, and the scrape against promtool's rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "server/models/registry/version_status.h"
#include "server/observe/metrics.h"
#include "server/pages/readings.h"
#include "tests/paths.h"

namespace vitrine {
namespace {

struct Documented {
  std::string type;
  std::set<std::string> labels;
  bool operator==(const Documented&) const = default;
};

// Rows "| `name` | type | unit | `label`, `label` = `value` | ..." of the tables.
std::map<std::string, Documented> ReadDocument() {
  std::ifstream file(VITRINE_SOURCE "/docs/reference/metrics.md");
  EXPECT_TRUE(file.good());
  static const std::regex kRow(R"(\| `([a-z0-9_]+)` \| (counter|gauge|histogram) \| [^|]+ \|([^|]*)\|[^|]+\|)");
  static const std::regex kLabel(R"((?:^|,) *`([a-z_0-9]+)`( =)?)");
  std::map<std::string, Documented> rows;
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, kRow)) continue;
    Documented& row = rows[match[1]];
    row.type = match[2];
    // The first value after "label =" is a value; labels with values come last in their cell.
    std::string cell = match[3];
    const size_t values = cell.find(" = ");
    if (values != std::string::npos) cell.resize(values);
    for (auto i = std::sregex_iterator(cell.begin(), cell.end(), kLabel); i != std::sregex_iterator(); ++i) {
      row.labels.insert((*i)[1]);
    }
  }
  return rows;
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

// A server of which everything is known.
class Full {
 public:
  Full() {
    VersionStatus status;
    status.id = {"m", 1};
    status.state = v1::READY;
    status.labels = {"stable"};
    auto loaded = std::make_shared<LoadedModel>();
    loaded->weights_sha256 = "abc";
    status.model = loaded;
    metrics_.ForModel("m")->CountRequest(Method::kClassify, absl::OkStatus(), absl::Milliseconds(3));
    version_->CountRequest(absl::StatusCode::kOk);
    version_->executor(0).confidence.Observe(0.5);
    metrics_.DeclareAdminAction("LoadModel");
    metrics_.SetSources({.versions = [status] { return ReadVersions({status}); },
                         .queue = [] { return QueueStatus(); },
                         .admission = [] { return AdmissionStatus(); },
                         .answers = [] { return AnswerStatus(); },
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
                         .log_lines = [] { return std::pair<uint64_t, uint64_t>(1, 2); },
                         .spans = [] { return SpanTotals(); }});
  }
  const Metrics& metrics() const { return metrics_; }

 private:
  Metrics metrics_{2, "1.2.3", "abcdef"};
  std::shared_ptr<VersionMetrics> version_ = metrics_.ForVersion("m", 1);
};

TEST(DocumentedMetrics, AreThoseOfAScrape) {
  const Full full;
  std::map<std::string, Documented> scraped;
  for (const prometheus::MetricFamily& family : full.metrics().Collect()) {
    EXPECT_FALSE(scraped.contains(family.name)) << family.name << " twice";
    Documented& row = scraped[family.name];
    row.type = TypeName(family.type);
    EXPECT_FALSE(family.metric.empty()) << family.name << " has no sample";
    for (const prometheus::ClientMetric& metric : family.metric) {
      for (const auto& label : metric.label) row.labels.insert(label.name);
    }
  }
  const std::map<std::string, Documented> documented = ReadDocument();
  EXPECT_GE(documented.size(), 50U);
  for (const auto& [name, row] : documented) {
    ASSERT_TRUE(scraped.contains(name)) << name << " is documented and not shown";
    EXPECT_EQ(scraped[name].type, row.type) << name;
    EXPECT_EQ(scraped[name].labels, row.labels) << name;
  }
  for (const auto& [name, row] : scraped) EXPECT_TRUE(documented.contains(name)) << name << " is not documented";
}

TEST(DocumentedMetrics, KeepPromtoolsRules) {
  if (std::system("command -v promtool > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "promtool (Debian's prometheus) is not installed: names were not checked against its rules";
  }
  const std::string path =
      (std::filesystem::temp_directory_path() / ("vitrine-metrics-" + std::to_string(getpid()))).string();
  std::ofstream(path) << Full().metrics().Text();
  const int code = std::system(("promtool check metrics < " + path + " > " + path + ".out 2>&1").c_str());
  std::stringstream said;
  said << std::ifstream(path + ".out").rdbuf();
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".out");
  EXPECT_EQ(code, 0) << said.str();
  EXPECT_EQ(said.str(), "");
}

TEST(DocumentedMetrics, AVersionsSeriesEndWithIt) {
  Metrics metrics(1, "");
  auto version = metrics.ForVersion("m", 7);
  EXPECT_EQ(metrics.ForVersion("m", 7), version) << "one set for a version";
  EXPECT_THAT(metrics.Text(), ::testing::HasSubstr("vitrine_version_requests_total{model=\"m\",version=\"7\""));
  version.reset();
  EXPECT_THAT(metrics.Text(), ::testing::Not(::testing::HasSubstr("version=\"7\"")));
}

}  // namespace
}  // namespace vitrine
