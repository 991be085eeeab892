// SPDX-License-Identifier: Apache-2.0
// Scrapes a server with many models.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/observe/metrics.h"
#include "server/pages/http_endpoint.h"
#include "tests/common/http2_client.h"

namespace vitrine {
namespace {

constexpr int kModels = 500;
// Maximum size of a scrape per model. Most lines of a model are buckets of histograms.
constexpr size_t kBytesPerModel = 50'000;

// Metrics of `models` models, each with one version that has answered a request.
struct ManyModels {
  explicit ManyModels(int models) {
    for (int i = 0; i < models; ++i) {
      const std::shared_ptr<ModelMetrics> model = metrics.ForModel(absl::StrCat("model-", i));
      versions.push_back(model->ForVersion(1));
      model->requests().Count(Method::kClassify, absl::OkStatus(), absl::Milliseconds(3));
      versions.back()->requests().Count(Method::kClassify, absl::OkStatus(), absl::Milliseconds(3));
    }
  }

  Metrics metrics{"1.2.3", "abcdef"};
  std::vector<std::shared_ptr<VersionMetrics>> versions;
};

TEST(ManyModels, AScrapeOfFiveHundredModelsIsComplete) {
  const ManyModels many(kModels);
  const auto endpoint =
      StartHttpEndpoint("127.0.0.1:0", {.metrics = &many.metrics, .not_ready = [] { return std::string(); }});
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  Http2Client client((*endpoint)->address());
  const Http2Client::Response& response = client.Get("/metrics");
  EXPECT_TRUE(response.is_ended);
  const std::string& body = response.body;
  EXPECT_TRUE(body.ends_with('\n'));
  std::set<absl::string_view> names;  // names of the samples, including labels
  std::map<std::string, int> lines_of_model;
  for (const absl::string_view line : absl::StrSplit(body, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    EXPECT_TRUE(names.insert(line.substr(0, line.rfind(' '))).second) << "twice: " << line;
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits("model=\"", 1));
    if (parts.size() == 2) ++lines_of_model[std::string(parts[1].substr(0, parts[1].find('"')))];
  }
  lines_of_model.erase("unknown");  // requests for models that do not exist
  EXPECT_EQ(lines_of_model.size(), kModels);
  for (const auto& [model, lines] : lines_of_model) EXPECT_EQ(lines, lines_of_model["model-0"]) << model;
  EXPECT_LT(body.size(), kModels * kBytesPerModel);
}

TEST(ManyModels, TheSizeOfAScrapeIsProportionalToTheNumberOfModels) {
  const size_t none = ManyModels(0).metrics.Text().size();
  const size_t ten = ManyModels(10).metrics.Text().size() - none;
  const size_t hundred = ManyModels(100).metrics.Text().size() - none;
  EXPECT_NEAR(static_cast<double>(hundred) / static_cast<double>(ten), 10, 0.2);
}

}  // namespace
}  // namespace vitrine
