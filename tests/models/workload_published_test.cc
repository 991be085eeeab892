// SPDX-License-Identifier: Apache-2.0
// Compares the costs (parameters, multiply-adds, bytes and FLOPs) of the published form of every model of the zoo with
// costs from an independent description of the models.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>
#include <string>

#include "models/workload/conventions.h"
#include "models/workload/workload.h"
#include "models/zoo.h"
#include "tests/paths.h"

namespace vitrine {
namespace {

using Costs = std::array<int64_t, 5>;  // parameters, MACs, bytes, FLOPs by papers 001 and 003 (conventions.h)

Costs CostsOf(const Workload& workload) {
  const int64_t bytes = std::accumulate(workload.begin(), workload.end(), int64_t{0},
                                        [](int64_t sum, const Operator& op) { return sum + op.bytes(); });
  return {Parameters(workload), Macs(workload), bytes, Flops001(workload), Flops003(workload)};
}

TEST(PublishedForm, CostsEqualTheRecordedOnesForEveryVariant) {
  std::ifstream file(VITRINE_SOURCE "/tests/models/published_costs.txt");
  ASSERT_TRUE(file.is_open());
  std::set<std::string> counted;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string name;
    Costs expected{};
    words >> name;
    for (int64_t& each : expected) words >> each;
    ASSERT_FALSE(words.fail()) << line;
    const absl::StatusOr<ZooRow> row = FindVariant(name);
    ASSERT_TRUE(row.ok()) << row.status();
    const absl::StatusOr<Workload> workload = WorkloadOf(row->config, DefaultInput(row->config), Form::kPublished);
    ASSERT_TRUE(workload.ok()) << name << ": " << workload.status();
    EXPECT_EQ(CostsOf(*workload), expected) << name;
    counted.insert(name);
  }
  EXPECT_EQ(counted.size(), 177u) << "rows that came since have their figures in workload_test.cc";
}

}  // namespace
}  // namespace vitrine
