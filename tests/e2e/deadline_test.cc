// SPDX-License-Identifier: Apache-2.0
// Tests that cancelled requests are not computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

constexpr char kComputed[] = "vitrine_batch_images_sum{model=\"slow\"}";

TEST(Cancellation, FreesTheSlotBeforeCompute) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "slow", VerySlowConfig());
  ServerOptions options = TestOptions(folder.path());
  options.executor.threads = 1;
  options.batch.max_batch_images = 1;
  RunningServer running(options);
  const double before = running.Metric(kComputed);  // includes the image of the server's own probe
  const auto classify = [&](grpc::ClientContext* context) {
    v1::ClassifyResponse response;
    return running.classifier().Classify(context, ImageRequest("slow", SlowImage()), &response).error_code();
  };
  // The first image keeps the only executor busy.
  std::jthread first([&] {
    grpc::ClientContext context;
    EXPECT_EQ(classify(&context), grpc::StatusCode::OK);
  });
  ASSERT_TRUE(Eventually(
      [&] { return running.Metric("vitrine_in_flight ") == 1 && running.Metric("vitrine_queue_depth ") == 0; }));
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 3; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    callers.emplace_back(
        [&, context = contexts.back().get()] { EXPECT_EQ(classify(context), grpc::StatusCode::CANCELLED); });
  }
  EXPECT_TRUE(Eventually([&] { return running.Metric("vitrine_queue_depth ") == 3; }));
  for (const auto& context : contexts) context->TryCancel();
  for (std::jthread& caller : callers) caller.join();
  EXPECT_TRUE(Eventually([&] { return running.Metric("vitrine_queue_depth ") == 0; }));
  first.join();
  EXPECT_EQ(running.Metric("vitrine_requests_total{model=\"slow\",method=\"Classify\",code=\"CANCELLED\"}"), 3);
  EXPECT_EQ(running.Metric(kComputed), before + 1) << "a cancelled image was computed";
}

}  // namespace
}  // namespace vitrine::testing
