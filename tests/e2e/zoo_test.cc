// SPDX-License-Identifier: Apache-2.0
// Publishes every classification variant of the zoo up to 12 M parameters with random weights, and serves it. Requests
// predictions, each kind of attention and each feature of the variant over gRPC. Larger variants run the same code at
// other widths and depths. VITRINE_WHOLE_ZOO adds variants of up to 100 M parameters here, and larger variants in
// large_models_test.cc.
#include "models/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <string>
#include <vector>

#include "models/attention_request.h"
#include "tests/e2e/testing/answers.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

constexpr int64_t kLarge = 100'000'000, kLargeForEveryDay = 12'000'000;
// Maximum total number of parameters of the variants that share a server. Publishing and loading so many parameters
// takes a few seconds.
constexpr int64_t kParametersPerServer = 120'000'000;

using Group = std::vector<const ZooRow*>;

std::vector<Group> Groups() {
  const int64_t most = std::getenv("VITRINE_WHOLE_ZOO") != nullptr ? kLarge : kLargeForEveryDay;
  std::vector<Group> groups(1);
  int64_t parameters = 0;
  for (const ZooRow& row : Zoo()) {
    if (row.parameters > most) continue;
    if (parameters + row.parameters > kParametersPerServer) {
      groups.emplace_back();
      parameters = 0;
    }
    groups.back().push_back(&row);
    parameters += row.parameters;
  }
  return groups;
}

class ZooGroup : public ::testing::TestWithParam<Group> {};

TEST_P(ZooGroup, IsServedWithAllItsFeatures) {
  const ScratchFolder repository;
  for (const ZooRow* row : GetParam()) PublishModel(repository.path(), std::string(row->name), row->config);
  RunningServer server(repository.path());
  const std::string image = NoiseJpeg(320, 256, 7);
  for (const ZooRow* row : GetParam()) {
    SCOPED_TRACE(std::string(row->name));
    CheckEverythingOffered(server.classifier(), server.registry(), std::string(row->name), image);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooGroup, ::testing::ValuesIn(Groups()), [](const auto& info) {
  std::string name(info.param.front()->name);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name + "_and_on";
});

}  // namespace
}  // namespace vitrine::testing
