// SPDX-License-Identifier: Apache-2.0
// Tests variants above 100 M parameters with the programs only: creates them with random weights stored as bf16,
// verifies and serves them, and sends requests. Runs one server at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "models/zoo.h"
#include "models/zoo/published.h"
#include "tests/e2e/testing/answers.h"
#include "tests/e2e/testing/child_server.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/paths.h"

namespace vitrine::testing {
namespace {

// Returns the large models whose size is printed in a paper. Together they have every depth, width and patch size. The
// other large models of the zoo only combine these widths and patch sizes differently. Testing them would take
// gigabytes and much time, and other tests check their parameter counts. Without VITRINE_WHOLE_ZOO, returns only the
// smallest model.
std::vector<std::string> LargeVariants() {
  std::vector<std::string> names;
  int64_t least = INT64_MAX;
  size_t smallest = 0;
  for (const ZooRow& row : Zoo()) {
    const std::optional<Published> published = FindPublished(row.name);
    if (row.parameters <= 100'000'000 || !published || published->parameters.empty()) continue;
    if (row.parameters < least) smallest = names.size();
    least = std::min(least, row.parameters);
    names.emplace_back(row.name);
  }
  if (std::getenv("VITRINE_WHOLE_ZOO") == nullptr) return {names[smallest]};
  return names;
}

class LargeModel : public ::testing::TestWithParam<std::string> {};

TEST_P(LargeModel, IsServedWithAllItsFeatures) {
  const ScratchFolder repository;
  const std::string command = std::string(VITRINE_BIN) + "/vitrine-repo create " + repository.path().string() + " " +
                              GetParam() + " --variant " + GetParam() + " --storage bf16";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  const ScratchFolder output;
  ChildServer server(output.path(), {"--repository", repository.path().string(), "--listen", "127.0.0.1:0", "--metrics",
                                     "127.0.0.1:0"});
  // The largest model, with 632 M parameters, needs half a minute on slow cores. This test does not check times.
  const std::string address = server.AwaitReady(absl::Minutes(10));
  const auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  const auto classifier = v1::Classifier::NewStub(channel);
  const auto registry = v1::Registry::NewStub(channel);
  CheckEverythingOffered(*classifier, *registry, GetParam(), NoiseJpeg(320, 256, 7));
}

INSTANTIATE_TEST_SUITE_P(Zoo, LargeModel, ::testing::ValuesIn(LargeVariants()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

}  // namespace
}  // namespace vitrine::testing
