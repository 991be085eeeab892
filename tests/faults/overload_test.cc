// SPDX-License-Identifier: Apache-2.0
// Tests a server with far more load than it can compute. It must continue to run, answer the requests that it admits,
// and reject all others immediately.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "absl/time/clock.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

struct PendingCall {
  grpc::ClientContext context;
  grpc::Status status;
  v1::ClassifyResponse response;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::ClassifyResponse>> reader;
};

struct Outcome {
  int ok = 0, refused = 0, late = 0;
};

// Sends `calls` calls at once on the shared connection and waits for all of them. Each call must end in one of the ways
// that Outcome counts. Without a deadline, no call may be late.
Outcome Burst(RunningServer& running, const v1::ClassifyRequest& request, int calls,
              absl::Duration deadline = absl::InfiniteDuration()) {
  grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<PendingCall>> all;
  for (int i = 0; i < calls; ++i) {
    all.push_back(std::make_unique<PendingCall>());
    PendingCall& call = *all.back();
    if (deadline != absl::InfiniteDuration()) call.context.set_deadline(absl::ToChronoTime(absl::Now() + deadline));
    call.reader = running.classifier().AsyncClassify(&call.context, request, &queue);
    call.reader->Finish(&call.response, &call.status, &call);
  }
  Outcome outcome;
  for (int i = 0; i < calls; ++i) {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    const grpc::Status& status = static_cast<PendingCall*>(tag)->status;
    if (status.ok()) {
      ++outcome.ok;
    } else if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED && !status.error_details().empty()) {
      ++outcome.refused;
    } else if (deadline != absl::InfiniteDuration() && status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      ++outcome.late;
    } else {
      ADD_FAILURE() << status.error_code() << " " << status.error_message();
    }
  }
  queue.Shutdown();
  return outcome;
}

TEST(Overload, TheQueueIsLimitedAndRejectionsHaveTheirCode) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  ServerOptions options = TestOptions(folder.path());
  options.admission.max_requests = 16;
  RunningServer running(options);
  const v1::ClassifyRequest request = ImageRequest("mixed", NoiseJpeg(200, 200, 1));
  const Outcome outcome = Burst(running, request, 1500);
  EXPECT_GE(outcome.ok, 16);
  EXPECT_GT(outcome.refused, 0) << "the burst did not overload the server, so this test proved nothing";
  EXPECT_EQ(running.Metric("vitrine_in_flight "), 0);
  EXPECT_EQ(running.Metric("vitrine_queue_depth "), 0);
  EXPECT_EQ(Burst(running, request, 8).ok, 8) << "the server does not serve normally after the overload";
}

// Does not check the share of answers in time, which depends on the machine.
// tests/server/serve/scheduling/overload_test.cc checks it with a simulated clock, and `script/prove overload` checks
// it on an idle machine.
TEST(Overload, CountersAgreeWithTheOutcomesOfCalls) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "slow", SlowConfig());
  ServerOptions options = TestOptions(folder.path());
  options.executor.threads = 1;
  RunningServer running(options);
  const v1::ClassifyRequest request = ImageRequest("slow", SlowImage());
  constexpr int kCalls = 200;  // each takes 0.1 s or more
  const Outcome outcome = Burst(running, request, kCalls, absl::Seconds(2));
  EXPECT_GT(outcome.refused, 0) << "the burst did not overload the server, so this test proved nothing";
  EXPECT_EQ(outcome.ok + outcome.refused + outcome.late, kCalls);
  EXPECT_TRUE(Eventually([&] { return running.Metric("vitrine_in_flight ") == 0; }));
  EXPECT_EQ(running.Metric("vitrine_queue_depth "), 0);
  // A call's deadline may pass on the client while the rejection is on its way.
  const double shed = running.Metric("vitrine_requests_shed_total{model=\"slow\"");
  EXPECT_GE(shed, outcome.refused);
  EXPECT_LE(shed, outcome.refused + outcome.late);
  EXPECT_EQ(Burst(running, request, 2).ok, 2) << "the server does not serve normally after the overload";
  const Server::Counts counts = running.server().Drain();
  EXPECT_EQ(counts.accepted, counts.answered);
}

}  // namespace
}  // namespace vitrine::testing
