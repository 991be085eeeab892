// SPDX-License-Identifier: Apache-2.0
#include "server/observe/connection_observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/server/logged.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ConnectionObserver, CountsClosedConnectionsByReason) {
  FakeClock clock;
  ServerCounters counters;
  ConnectionObserver observer(Listener::kGrpc, counters, clock);
  observer.OnAccepted();
  observer.OnClosed(CloseReason::kIdle);
  observer.OnClosed(CloseReason::kAbuse);
  observer.OnRefused(CloseReason::kConnectRate);
  observer.OnRefused(CloseReason::kConnectRate);
  const ListenerCounters& grpc = counters.Of(Listener::kGrpc);
  const auto closed = [&](CloseReason reason) { return grpc.closed[static_cast<size_t>(reason)].load(); };
  EXPECT_EQ(grpc.accepted, 1u);
  EXPECT_EQ(grpc.refused, 2u);
  EXPECT_EQ(counters.Of(Listener::kAdmin).refused, 0u);
  EXPECT_EQ(closed(CloseReason::kIdle), 1u);
  EXPECT_EQ(closed(CloseReason::kAbuse), 1u);
  EXPECT_EQ(closed(CloseReason::kConnectRate), 2u);
  EXPECT_EQ(closed(CloseReason::kClient), 0u);
}

TEST(ConnectionObserver, LogsAbortedConnectionsAtALimitedRate) {
  FakeClock clock;
  ServerCounters counters;
  ConnectionObserver observer(Listener::kHttp, counters, clock);
  const std::string lines = Logged("info", "text", [&] {
    for (int i = 0; i < 100; ++i) observer.OnCutOff(CloseReason::kAbuse, absl::StrCat("ipv4:192.0.2.7:", i), "");
  });
  EXPECT_THAT(lines, HasSubstr("connection cut off reason=abuse peer=ipv4:192.0.2.7:0 listener=http"));
  EXPECT_THAT(lines, HasSubstr("192.0.2.7:9 "));
  EXPECT_THAT(lines, Not(HasSubstr("192.0.2.7:10 ")));
  clock.Advance(absl::Seconds(1));
  EXPECT_THAT(
      Logged("info", "text", [&] { observer.OnCutOff(CloseReason::kTls, "ipv4:192.0.2.8:1", "no shared cipher"); }),
      HasSubstr("reason=tls peer=ipv4:192.0.2.8:1 listener=http detail=\"no shared cipher\" lines_left_out=90"));
}

TEST(ConnectionObserver, CountsAndLogsRequestsThatAreCutOff) {
  FakeClock clock;
  ServerCounters counters;
  ConnectionObserver observer(Listener::kAdmin, counters, clock);
  EXPECT_THAT(Logged("info", "text",
                     [&] {
                       for (int i = 0; i < 11; ++i) observer.OnStreamCutOff(StreamCutOff::kUnread, "ipv4:192.0.2.7:1");
                     }),
              HasSubstr("request cut off reason=unread peer=ipv4:192.0.2.7:1 listener=admin"));
  EXPECT_THAT(Logged("info", "text", [&] { observer.OnCutOff(CloseReason::kAbuse, "ipv4:192.0.2.9:1", ""); }),
              HasSubstr("connection cut off reason=abuse peer=ipv4:192.0.2.9:1"));
  clock.Advance(absl::Seconds(1));
  EXPECT_THAT(Logged("info", "text", [&] { observer.OnStreamCutOff(StreamCutOff::kSlowBody, "ipv4:192.0.2.7:1"); }),
              HasSubstr("request cut off reason=slow_body peer=ipv4:192.0.2.7:1 listener=admin lines_left_out=1"));
  const auto& cut_off = counters.Of(Listener::kAdmin).streams_cut_off;
  EXPECT_EQ(cut_off[static_cast<size_t>(StreamCutOff::kUnread)], 11u);
  EXPECT_EQ(cut_off[static_cast<size_t>(StreamCutOff::kSlowBody)], 1u);
}

}  // namespace
}  // namespace vitrine
