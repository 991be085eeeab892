// SPDX-License-Identifier: Apache-2.0
#include "client/in_flight_limit.h"

#include <gtest/gtest.h>

#include <deque>

namespace vitrine {
namespace {

// A server that answers a request after `latency`, or, with more than `places` of them, as fast as its places allow.
class MadeServer {
 public:
  MadeServer(int places, absl::Duration latency) : places_(places), latency_(latency) {}

  // Keeps `limit` full for some answers.
  void Answer(InFlightLimit& limit, int answers) {
    for (int i = 0; i < answers; ++i) {
      const int busy = limit.limit();
      now_ += latency_ / std::min(busy, places_);
      limit.OnAnswer(busy, now_);
    }
  }
  absl::Time now() const { return now_; }

 private:
  const int places_;
  const absl::Duration latency_;
  absl::Time now_ = absl::FromUnixSeconds(1000);
};

TEST(InFlightLimit, RisesWhileItPaysAndNoFurther) {
  InFlightLimit limit(64);
  MadeServer server(20, absl::Milliseconds(10));
  server.Answer(limit, 20000);
  EXPECT_GE(limit.limit(), 16);
  EXPECT_LE(limit.limit(), 26);
}

TEST(InFlightLimit, NeverExceedsTheMost) {
  InFlightLimit limit(8);
  MadeServer server(1000, absl::Milliseconds(10));
  for (int i = 0; i < 5000; ++i) {
    server.Answer(limit, 1);
    ASSERT_LE(limit.limit(), 8);
  }
  EXPECT_EQ(limit.limit(), 8);
  EXPECT_EQ(InFlightLimit(2).limit(), 2);
}

TEST(InFlightLimit, AServerThatGainsNothingIsAskedLittle) {
  InFlightLimit limit(64);
  MadeServer server(1, absl::Milliseconds(5));
  server.Answer(limit, 5000);
  EXPECT_LE(limit.limit(), 5);
}

TEST(InFlightLimit, IsHalvedOnceForWhatWasSentBefore) {
  InFlightLimit limit(64, 32);
  const absl::Time now = absl::FromUnixSeconds(1000);
  limit.OnOverload(now, now + absl::Milliseconds(10));
  EXPECT_EQ(limit.limit(), 16);
  limit.OnOverload(now + absl::Milliseconds(5), now + absl::Milliseconds(11));
  EXPECT_EQ(limit.limit(), 16) << "it was sent before the limit was halved";
  limit.OnOverload(now + absl::Milliseconds(20), now + absl::Milliseconds(30));
  EXPECT_EQ(limit.limit(), 8);
  for (int i = 1; i < 10; ++i) limit.OnOverload(now + absl::Seconds(i), now + absl::Seconds(i));
  EXPECT_EQ(limit.limit(), 1);
}

TEST(InFlightLimit, RisesAgainAfterARefusal) {
  InFlightLimit limit(64);
  MadeServer server(40, absl::Milliseconds(10));
  server.Answer(limit, 20000);
  const int before = limit.limit();
  limit.OnOverload(server.now(), server.now());
  EXPECT_LT(limit.limit(), before);
  server.Answer(limit, 40000);
  EXPECT_GE(limit.limit(), 30);
}

TEST(InFlightLimit, ASlowSourceTeachesNothing) {
  InFlightLimit limit(64, 16);
  absl::Time now = absl::FromUnixSeconds(1000);
  for (int i = 0; i < 5000; ++i) {
    now += absl::Milliseconds(3);
    limit.OnAnswer(2, now);
  }
  EXPECT_EQ(limit.limit(), 16);
}

}  // namespace
}  // namespace vitrine
