// SPDX-License-Identifier: Apache-2.0
// Tests that clients that stall do not delay the end of the server.
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/faults/raw_http2.h"

namespace vitrine::testing {
namespace {

// Expects that other clients are still served.
void ExpectServes(RunningServer& running) {
  v1::ClassifyResponse response;
  const grpc::Status status = running.Classify(ImageRequest("mixed", NoiseJpeg(24, 24, 1)), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST(Connections, IncompleteCallsDoNotDelayTheEndOfTheServer) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  RunningServer running(folder.path());
  RawHttp2 silent(running.server().address());
  for (int i = 0; i < 20; ++i) silent.Open("/vitrine.v1.Classifier/Classify", 1000);
  for (int i = 0; i < 20; ++i) silent.Open("/vitrine.v1.Classifier/ClassifyStream", 1000);
  EXPECT_EQ(silent.Push(999, absl::Seconds(10)), 40 * 999);
  for (int i = 0; i < 20; ++i) ExpectServes(running);
  EXPECT_EQ(running.Metric("vitrine_in_flight "), 0) << "the server accepted an incomplete call";
  const absl::Time begin = absl::Now();
  const Server::Counts counts = running.server().Drain();
  EXPECT_EQ(counts.accepted, 20);
  EXPECT_EQ(counts.answered, 20);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10)) << "the server waited for incomplete calls";
}

// Without a separate limit, a client that grants no window for its answer would keep the process alive until the drain
// deadline.
TEST(Connections, AnUnreadAnswerDoesNotDelayTheEndOfTheServer) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  ServerOptions options = TestOptions(folder.path());
  options.drain_deadline = absl::Seconds(60);
  RunningServer running(options);
  RawHttp2 client(running.server().address(), /*answer_window=*/0);
  client.Call("/vitrine.v1.Classifier/Classify", ImageRequest("mixed", NoiseJpeg(24, 24, 1)).SerializeAsString());
  ASSERT_TRUE(Eventually([&] {
    client.Push(0, absl::Milliseconds(10));
    return running.Metric(R"(vitrine_requests_total{model="mixed",method="Classify",code="OK"})") > 0;
  }));
  const absl::Time start = absl::Now();
  running.server().Drain();
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
  EXPECT_GT(absl::Now() - start, absl::Seconds(2)) << "the client read the answer, so this test proved nothing";
}

}  // namespace
}  // namespace vitrine::testing
