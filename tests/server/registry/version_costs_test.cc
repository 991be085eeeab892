// SPDX-License-Identifier: Apache-2.0
#include "server/registry/version/version_costs.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "models/workload/conventions.h"
#include "models/workload/workload.h"
#include "server/registry/version/version_status.h"
#include "tests/server/served.h"

namespace vitrine {
namespace {

v1::InputSize SizeOf(int height, int width) {
  v1::InputSize size;
  size.set_height(height);
  size.set_width(width);
  return size;
}

TEST(VersionCosts, EqualTheCostsOfTheWorkload) {
  const ModelHandle model = ServedEit();
  const v1::ModelConfig& config = model->manifest.config();
  for (const auto& [height, width] : {std::pair(16, 16), {24, 16}, {32, 32}}) {
    const WorkloadInput input{.height = height, .width = width};
    const absl::StatusOr<v1::PictureCost> cost = CostOf(*model, SizeOf(height, width));
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_EQ(cost->macs(), Macs(*WorkloadOf(config, input)));
    EXPECT_EQ(cost->tokens(), TokensOf(config, input));
    EXPECT_EQ(cost->input().height(), height);
    EXPECT_EQ(cost->input().width(), width);
  }
  EXPECT_EQ(CostOf(*model, SizeOf(1000, 1000)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CostOf(*model, SizeOf(0, 0)).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(VersionCosts, AreCountedOnceForEachSize) {
  const ModelHandle model = ServedEit();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) EXPECT_TRUE(CostOf(*model, SizeOf(16, 8 + i % 5 * 4)).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(model->costs->counted(), 5U);
}

TEST(VersionCosts, AreBounded) {
  VersionCosts costs;
  const ModelHandle model = ServedEit();
  const v1::ModelConfig& config = model->manifest.config();
  for (size_t i = 0; i <= VersionCosts::kMost; ++i) {
    EXPECT_TRUE(costs.Of(config, SizeOf(4, 4 + static_cast<int>(i))).ok());
  }
  EXPECT_EQ(costs.counted(), VersionCosts::kMost + 1);
  EXPECT_TRUE(costs.Of(config, SizeOf(4, 4)).ok());
  EXPECT_EQ(costs.counted(), VersionCosts::kMost + 2) << "the first cost was dropped and counted again";
}

TEST(AddCosts, ErrorsGiveTheReason) {
  v1::GetModelRequest request;
  v1::ModelVersion answer;
  VersionStatus status;
  EXPECT_TRUE(AddCosts(request, status, answer).ok()) << "the request asks for no costs";
  *request.add_cost_of() = SizeOf(16, 16);
  EXPECT_EQ(AddCosts(request, status, answer).code(), absl::StatusCode::kNotFound);
  status.model = ServedEit();
  EXPECT_TRUE(AddCosts(request, status, answer).ok());
  EXPECT_EQ(answer.costs_size(), 1);
  for (int i = 0; i < 64; ++i) *request.add_cost_of() = SizeOf(16, 16);
  EXPECT_EQ(AddCosts(request, status, answer).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace vitrine
