// SPDX-License-Identifier: Apache-2.0
// Tests the limits of a connection except age and headers: idle time, keepalive timeout and concurrent calls.
// Each value differs much from gRPC 1.51's default, so that a test fails if the server does not apply its option.
#include <gtest/gtest.h>

#include "tests/e2e/testing/running_server.h"
#include "tests/faults/raw_http2.h"
#include "tests/scratch_folder.h"

namespace vitrine::testing {
namespace {

constexpr char kCheck[] = "/grpc.health.v1.Health/Check";
constexpr char kClassify[] = "/vitrine.v1.Classifier/Classify";
// RFC 9113, section 6.5.2.
constexpr int kMaxConcurrentStreams = 3;

// Returns options with which only the limit under test ends a connection.
ServerOptions Unlimited(const ScratchFolder& folder) {
  ServerOptions options = TestOptions(folder.path());
  options.rpc.max_connection_age = absl::InfiniteDuration();
  options.rpc.max_connection_idle = absl::InfiniteDuration();
  options.rpc.keepalive_time = absl::Hours(1);
  return options;
}

// Makes one call. Afterwards the connection is in use, and the server has read the SETTINGS acknowledgement.
void Settle(RawHttp2& client) {
  client.Call(kCheck, "");
  ASSERT_TRUE(client.AwaitEnd(absl::Seconds(30)));
}

bool ReadUntil(RawHttp2& client, const std::function<bool()>& holds) {
  return Eventually([&] {
    client.Read();
    return holds();
  });
}

TEST(ConnectionLimits, AConnectionWithoutCallsIsClosedAndOneWithACallIsKept) {
  const ScratchFolder folder;
  ServerOptions options = Unlimited(folder);
  options.rpc.max_connection_idle = absl::Seconds(1);
  RunningServer running(options);
  RawHttp2 busy(running.server().address());
  busy.Open(kClassify, 100);
  RawHttp2 idle(running.server().address());
  Settle(idle);
  EXPECT_TRUE(ReadUntil(idle, [&] { return idle.closed(); })) << "the idle connection was kept";
  busy.Ping();
  EXPECT_TRUE(ReadUntil(busy, [&] { return busy.pongs() == 1; })) << "the connection with a call was closed";
}

// Uses two servers, one of them with a long timeout. If the setting had no effect, both servers would close the
// connection at the same time.
TEST(ConnectionLimits, AClientThatAnswersNoPingIsDroppedAfterTheTimeout) {
  const ScratchFolder folder;
  ServerOptions options = Unlimited(folder);
  options.rpc.keepalive_time = absl::Seconds(1);
  options.rpc.keepalive_timeout = absl::Hours(1);
  RunningServer patient(options);
  options.rpc.keepalive_timeout = absl::Seconds(1);
  RunningServer impatient(options);
  RawHttp2 kept(patient.server().address());
  kept.IgnorePings();
  ASSERT_TRUE(ReadUntil(kept, [&] { return kept.pings() > 0; })) << "a silent connection was not pinged";
  RawHttp2 dropped(impatient.server().address());
  dropped.IgnorePings();
  EXPECT_TRUE(ReadUntil(dropped, [&] { return dropped.closed(); }))
      << "the client answered no ping, but the connection was kept";
  EXPECT_GT(dropped.pings(), 0);
  kept.Read();
  EXPECT_FALSE(kept.closed());
}

TEST(ConnectionLimits, TheLimitOfConcurrentCallsIsAnnouncedAndEnforced) {
  const ScratchFolder folder;
  ServerOptions options = Unlimited(folder);
  options.rpc.max_concurrent_streams = 3;
  RunningServer running(options);
  RawHttp2 client(running.server().address());
  Settle(client);
  EXPECT_EQ(client.setting(kMaxConcurrentStreams), 3);
  for (int i = 0; i < 3; ++i) client.Open(kClassify, 100);
  client.Ping();
  ASSERT_TRUE(ReadUntil(client, [&] { return client.pongs() == 1; }));
  EXPECT_EQ(client.open(), 3);
  client.Open(kClassify, 100);
  EXPECT_TRUE(ReadUntil(client, [&] { return client.closed(); })) << "the server accepted a fourth call";
}

}  // namespace
}  // namespace vitrine::testing
