// SPDX-License-Identifier: Apache-2.0
// Costs of an image as the Registry service reports them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/workload/conventions.h"
#include "models/workload/workload.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;

grpc::Status Ask(RunningServer& running, const std::string& model, const std::vector<int>& sides,
                 v1::ModelVersion& answer) {
  v1::GetModelRequest request;
  request.set_model(model);
  for (const int side : sides) {
    v1::InputSize& size = *request.add_cost_of();
    size.set_height(side);
    size.set_width(16);
  }
  grpc::ClientContext context;
  return running.registry().GetModel(&context, request, &answer);
}

TEST(Cost, IsToldForEverySizeThatTheModelTakes) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  PublishModel(folder.path(), "fixed", FixedConfig());
  RunningServer running(folder.path());
  v1::ModelVersion answer;
  ASSERT_TRUE(Ask(running, "mixed", {}, answer).ok());
  EXPECT_EQ(answer.costs_size(), 0) << "nothing was asked for";
  ASSERT_TRUE(Ask(running, "mixed", {32, 16}, answer).ok());
  ASSERT_EQ(answer.costs_size(), 2);
  EXPECT_EQ(answer.costs(0).input().height(), 32);
  EXPECT_EQ(answer.costs(0).input().width(), 16);
  EXPECT_EQ(answer.costs(0).tokens(), 33) << "8 x 4 cells and the class token";
  EXPECT_EQ(answer.costs(1).tokens(), 17);
  for (const v1::PictureCost& cost : answer.costs()) {
    const auto workload = WorkloadOf(MixedConfig(), {.height = cost.input().height(), .width = 16});
    EXPECT_EQ(cost.macs(), Macs(*workload));
  }
  EXPECT_GT(answer.costs(0).macs(), answer.costs(1).macs());
}

TEST(Cost, OfASizeThatTheModelDoesNotTakeIsRefused) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  RunningServer running(folder.path());
  v1::ModelVersion answer;
  for (const int side : {0, -4, 2, 1 << 20}) {
    EXPECT_EQ(Ask(running, "mixed", {16, side}, answer).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << side;
  }
  const grpc::Status status = Ask(running, "mixed", std::vector<int>(65, 16), answer);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("at most 64"));
}

}  // namespace
}  // namespace vitrine::testing
