// SPDX-License-Identifier: Apache-2.0
// Tests that stalled clients do not delay the end of the server, and tests the limits on connections.
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "server/wire/rpc/transport_options.h"
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

TEST(Connections, EveryLimitOfTheTransportIsAppliedToTheHttpServer) {
  const HttpServerOptions options = ToHttpServerOptions({.max_message_bytes = 1,
                                                         .max_metadata_bytes = 2,
                                                         .max_concurrent_streams = 3,
                                                         .max_connection_age = absl::Seconds(4),
                                                         .connection_age_grace = absl::Seconds(5),
                                                         .max_connection_idle = absl::Seconds(6),
                                                         .keepalive_time = absl::Seconds(7),
                                                         .keepalive_timeout = absl::Seconds(8),
                                                         .min_ping_interval = absl::Seconds(9),
                                                         .handshake_timeout = absl::Seconds(10)});
  EXPECT_EQ(options.max_body_bytes, 1);
  EXPECT_EQ(options.max_head_bytes, 2);
  EXPECT_EQ(options.max_concurrent_streams, 3);
  EXPECT_EQ(options.max_age, absl::Seconds(4));
  EXPECT_EQ(options.age_grace, absl::Seconds(5));
  EXPECT_EQ(options.idle_timeout, absl::Seconds(6));
  EXPECT_EQ(options.keepalive_time, absl::Seconds(7));
  EXPECT_EQ(options.keepalive_timeout, absl::Seconds(8));
  EXPECT_EQ(options.min_ping_interval, absl::Seconds(9));
  EXPECT_EQ(options.request_timeout, absl::Seconds(10));
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
