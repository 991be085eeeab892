// SPDX-License-Identifier: Apache-2.0
// Tests that callers share the server fairly. The first tests call only the rules. The later tests cover the path from
// admission to batches, with a clock that only the test advances.
#include "server/serve/scheduling/fair_share.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/serve/scheduling/admission.h"
#include "server/serve/scheduling/caller_table.h"
#include "server/serve/scheduling/caller_turns.h"
#include "server/serve/scheduling/inference_request.h"
#include "server/serve/scheduling/place_ledger.h"
#include "tests/server/serve/scheduling/simulated_server.h"

namespace vitrine {
namespace {

constexpr absl::Duration kUnit = absl::Milliseconds(1);

TEST(WorkAhead, EqualsTheWorkOfASingleCaller) {
  EXPECT_EQ(WorkAhead(5 * kUnit, kUnit, {}, 8 * kUnit, 1), 5 * kUnit);
}

TEST(WorkAhead, IsAtMostTheGreedyCallersOwnWork) {
  const OtherCaller greedy = {1000 * kUnit, 10};
  EXPECT_EQ(WorkAhead(2 * kUnit, kUnit, {greedy}, absl::ZeroDuration(), 1), 5 * kUnit);
  EXPECT_EQ(WorkAhead(2 * kUnit, kUnit, {greedy, {1 * kUnit, 0}}, absl::ZeroDuration(), 1), 6 * kUnit);
}

TEST(WorkAhead, IncludesExpectedRequestsOfOthers) {
  // Adds a caller that uses a fifth of the executor. The result x satisfies 100 + x / 5 = x.
  EXPECT_NEAR(absl::ToDoubleMilliseconds(WorkAhead(100 * kUnit, {}, {{{}, 0.2}}, {}, 1)), 125, 1e-6);
  // Adds two callers that exceed the capacity. Each of them gets at most as much time as the caller whose work is
  // predicted.
  EXPECT_NEAR(absl::ToDoubleMilliseconds(WorkAhead(100 * kUnit, {}, {{{}, 3}, {{}, 2}}, {}, 1)), 300, 1e-6);
  // Adds one modest and one greedy caller. The result x satisfies 100 + 100 + x / 5 = x.
  EXPECT_NEAR(absl::ToDoubleMilliseconds(WorkAhead(100 * kUnit, {}, {{{}, 0.2}, {{}, 2}}, {}, 1)), 250, 1e-6);
  // Uses two executors, which halve the added work per executor. The result x satisfies 100 + x / 10 = x.
  EXPECT_NEAR(absl::ToDoubleMilliseconds(WorkAhead(100 * kUnit, {}, {{{}, 0.2}}, {}, 2)), 1000 / 9.0, 1e-6);
}

TEST(WorkAhead, ARunningBatchCountsOnceAndUpToItsWork) {
  EXPECT_EQ(WorkAhead({}, kUnit, {{1000 * kUnit, 0}}, 8 * kUnit, 1), 9 * kUnit);
  EXPECT_EQ(WorkAhead({}, kUnit, {{3 * kUnit, 0}}, 8 * kUnit, 1), 3 * kUnit);
}

TEST(WorkAhead, GroupedCallersCountWithOneTurnEach) {
  EXPECT_EQ(WorkAhead(2 * kUnit, kUnit, {{1000 * kUnit, 10, 4}}, absl::ZeroDuration(), 1), 14 * kUnit);
  EXPECT_EQ(WorkAhead(2 * kUnit, kUnit, {{5 * kUnit, 0, 4}}, absl::ZeroDuration(), 1), 7 * kUnit);
}

TEST(WorkAhead, IncludesExpectedUrgentRequestsOfTheCaller) {
  const auto milliseconds = [](absl::Duration mine, absl::Duration cost, std::vector<OtherCaller> others,
                               int executors) {
    return absl::ToDoubleMilliseconds(WorkAhead(mine, cost, std::move(others), {}, executors, 0.2));
  };
  EXPECT_NEAR(milliseconds(100 * kUnit, {}, {}, 1), 125, 1e-6);          // 100 + x / 5 = x
  EXPECT_NEAR(milliseconds(100 * kUnit, {}, {}, 2), 1000 / 9.0, 1e-6);   // 100 + x / 10 = x
  EXPECT_NEAR(milliseconds(100 * kUnit, 20 * kUnit, {}, 1), 130, 1e-6);  // 100 + (x + 20) / 5 = x
  // In the first line, a greedy caller doubles the work: 2 (100 + x / 5) = x. In the second line, a modest caller
  // adds only its own work: 100 + x / 5 + x / 10 = x.
  EXPECT_NEAR(milliseconds(100 * kUnit, {}, {{1000 * kUnit, 10}}, 1), 1000 / 3.0, 1e-6);
  EXPECT_NEAR(milliseconds(100 * kUnit, {}, {{{}, 0.1}}, 1), 1000 / 7.0, 1e-6);
}

// Admits one request of one token and 1 ms from each of 500 callers. In predictions, only 64 callers have their own
// entry; the others share one entry.
TEST(ManyCallers, AllCallersCountAndIdleOnesAreRemoved) {
  FakeClock clock;
  auto model = std::make_shared<LoadedModel>();
  model->cost->ObserveCompute(1000, absl::Seconds(1));
  Admission admission({.deadline_share = 1}, clock);
  const auto admit = [&](const std::string& caller, int64_t tokens, absl::Duration deadline) {
    InferenceRequest request;
    request.model = model;
    request.caller = caller;
    request.tokens = tokens;
    request.deadline = clock.Now() + deadline;
    return admission.Admit(request);
  };
  std::vector<absl::StatusOr<HeldPlace>> held;
  for (int i = 0; i < 500; ++i) {
    EXPECT_TRUE(held.emplace_back(admit("caller " + std::to_string(i), 1, absl::Hours(1))).ok());
  }
  EXPECT_FALSE(admit("late", 2, absl::Milliseconds(480)).ok()) << "500 ms of other callers' work come first";
  // A second request of each of the 500 callers may also run before the request of 2 ms, so the deadline leaves time
  // for two requests of each caller.
  EXPECT_TRUE(admit("late", 2, absl::Milliseconds(1003)).ok());
  held.clear();
  clock.Advance(absl::Minutes(1));
  EXPECT_TRUE(admit("late", 2, absl::Milliseconds(3)).ok());
  for (int i = 0; i < 600; ++i) EXPECT_TRUE(admit("late", 1, absl::Hours(1)).ok());
  EXPECT_LE(admission.callers(), 64u);
}

TEST(CallerTable, PruneVisitsTwoEntriesInTurn) {
  CallerTable<bool> busy;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(busy.Enter(std::to_string(i)), i);
  int looks = 0;
  const auto prune = [&] { busy.Prune([&](CallerId, bool is_busy) { return ++looks, !is_busy; }); };
  busy[0] = busy[99] = true;
  prune();
  EXPECT_EQ(looks, 2);
  for (int i = 0; i < 100; ++i) prune();
  EXPECT_EQ(busy.size(), 64u) << "a small table is not pruned further";
  EXPECT_TRUE(busy[busy.Find("0")] && busy[busy.Find("99")]);
  EXPECT_EQ(busy.Find("1"), kNoCaller);
  EXPECT_LT(busy.Enter("new"), 100u) << "a new caller reuses a free entry";
  EXPECT_FALSE(busy[busy.Find("new")]);
}

// Tests that callers whose work is done have no separate entries, even if they had more work than other callers.
TEST(PlaceLedger, TheBusiestCallersHaveSeparateEntries) {
  PlaceLedger ledger;
  const absl::Time begin = absl::UnixEpoch(), now = begin + absl::Minutes(1);
  const auto take = [&](const std::string& caller, absl::Duration cost, absl::Time time) {
    Place place;
    place.caller = ledger.Find(caller);
    place.cost = cost;
    ledger.Take(place, caller, time);
    return place;
  };
  std::vector<Place> before;
  for (int i = 0; i < 100; ++i) before.push_back(take(std::to_string(i), 100 * kUnit, begin));
  for (Place& place : before) ledger.BeginWork(place);
  for (Place& place : before) ledger.Release(place);
  for (const int units : {3, 5, 4}) take("now " + std::to_string(units), units * kUnit, now);
  std::vector<absl::Duration> work;
  for (const OtherCaller& other : ledger.Others(ledger.Find("now 4"), now)) work.push_back(other.work);
  EXPECT_THAT(work, ::testing::ElementsAre(5 * kUnit, 3 * kUnit));
  EXPECT_EQ(ledger.AllOthers(kNoCaller, now).work, 12 * kUnit);
}

TEST(CheckShare, ASingleCallerMayUseAllPlaces) {
  for (const bool shared : {false, true}) {
    int64_t greedy = 0;
    while (CheckShare(greedy, greedy, 1, 90, shared) == ShareVerdict::kFits) ++greedy;
    EXPECT_EQ(greedy, shared ? 80 : 90);
    EXPECT_EQ(CheckShare(greedy, greedy, 1, 90, shared), shared ? ShareVerdict::kOverShare : ShareVerdict::kFull);
    EXPECT_EQ(CheckShare(greedy, 0, 1, 90, shared), shared ? ShareVerdict::kFits : ShareVerdict::kFull);
  }
}

TEST(CheckShare, ACallerWithoutRequestsMayUseAllFreePlaces) {
  EXPECT_EQ(CheckShare(10, 0, 80, 90, true), ShareVerdict::kFits);
  EXPECT_EQ(CheckShare(90, 0, 0, 90, true), ShareVerdict::kFits) << "a request of size 0 fits even if nothing is free";
}

TEST(CheckShare, GreedyCallersGetEqualShares) {
  int64_t first = 0, second = 0;
  const auto take_all = [&](int64_t& own) {
    while (CheckShare(first + second, own, 1, 900, true) == ShareVerdict::kFits) ++own;
  };
  take_all(first);
  take_all(second);
  for (int round = 0; round < 2000; ++round) {  // in each round, one place becomes free and both callers compete for it
    --(first > second ? first : second);
    take_all(first);
    take_all(second);
  }
  EXPECT_NEAR(first, second, 10);
  EXPECT_GT(first, 400);
}

TEST(CheckShare, VeryLargeLimitsDoNotOverflow) {
  constexpr int64_t kHeld = int64_t{1} << 62;
  EXPECT_EQ(CheckShare(kHeld, kHeld, 1, INT64_MAX, true), ShareVerdict::kFits);
}

TEST(CallerTurns, AnIdleCallerGainsNoAdvantage) {
  CallerTurns turns;
  const auto busy = turns.Enter("busy");
  for (int i = 0; i < 10; ++i) {
    turns.Enter("busy");
    turns.Run(busy, kUnit);
  }
  const auto late = turns.Enter("late");
  EXPECT_EQ(turns.time(late).given, 9 * kUnit) << "a new caller starts with the value of the caller served last";
  turns.Run(late, 100 * kUnit);
  EXPECT_EQ(turns.time(turns.Enter("late")).given, 109 * kUnit) << "a caller that returns keeps its value";
}

TEST(CallerTurns, RemovesIdleCallers) {
  CallerTurns turns;
  for (int i = 0; i < 1000; ++i) turns.Drop(turns.Enter("caller " + std::to_string(i)));
  EXPECT_LT(turns.callers(), 200u);
}

// Simulates one executor and one model. A token costs a millisecond, and so does a pixel of an overlay. Callers send at
// their own rates.
class Contention : public ::testing::Test {
 protected:
  struct Sender {
    std::string name;
    double per_second;
    v1::Priority priority = v1::NORMAL;
    absl::Duration deadline = absl::Seconds(1);
    int64_t tokens = 2;
    int64_t overlay_pixels = 0;
  };
  struct Outcome {
    int sent = 0, in_time = 0, refused = 0, late = 0;
  };

  std::map<std::string, Outcome> Run(const std::vector<Sender>& senders, absl::Duration time) {
    testing::SimulatedServer server({.batch = {.max_batch_tokens = 16, .max_batch_pixels = 100},
                                     .admission = {.max_requests = 1000, .max_batch_tokens = 16}});
    const int model = server.AddModel({.token = kUnit, .overlay_pixel = kUnit});
    std::map<std::string, Outcome> outcomes;
    for (const Sender& sender : senders) {
      Outcome& outcome = outcomes[sender.name];
      server.Every([&sender] { return absl::Seconds(1 / sender.per_second); },
                   [&server, &sender, &outcome, model] {
                     ++outcome.sent;
                     server.Arrive({.model = model,
                                    .caller = sender.name,
                                    .priority = sender.priority,
                                    .deadline = server.Now() + sender.deadline,
                                    .tokens = sender.tokens,
                                    .overlay_pixels = sender.overlay_pixels},
                                   [&outcome](const absl::Status& status) { Count(status, outcome); });
                   });
    }
    server.RunUntil(server.Now() + time);
    return outcomes;
  }

 private:
  static void Count(const absl::Status& status, Outcome& outcome) {
    if (absl::IsResourceExhausted(status)) {
      EXPECT_TRUE(RetryAfter(status).has_value());
      ++outcome.refused;
    } else {
      ++(status.ok() ? outcome.in_time : outcome.late);
    }
  }
};

// Simulates a server that computes 500 requests per second. The modest caller sends 150 per second, which is less than
// its share of 250.
TEST_F(Contention, AGreedyCallerTakesNothingFromAModestOne) {
  const Sender modest = {"modest", 150};
  const auto alone = Run({modest}, absl::Seconds(20));
  const auto both = Run({modest, {"greedy", 5000}}, absl::Seconds(20));
  EXPECT_GE(alone.at("modest").in_time, 2990);
  EXPECT_GE(both.at("modest").in_time, 0.995 * alone.at("modest").in_time) << both.at("modest").refused << " refused";
  const int done = both.at("modest").in_time + both.at("greedy").in_time;
  EXPECT_GE(done, 0.97 * 500 * 20) << "the greedy caller must get the rest of the capacity; late "
                                   << both.at("greedy").late;
}

TEST_F(Contention, PriorityAndPatienceDoNotChangeTheShares) {
  const auto both =
      Run({{"modest", 150, v1::LOW}, {"greedy", 5000, v1::HIGH, absl::InfiniteDuration()}}, absl::Seconds(20));
  EXPECT_GE(both.at("modest").in_time, 2970) << both.at("modest").refused << " refused, " << both.at("modest").late;
}

// Lets the greedy caller fill the queue first, with at least 2 s of work without a deadline.
TEST_F(Contention, ANewCallerIsServedAtOnceFromAFullQueue) {
  const auto both =
      Run({{"greedy", 5000, v1::NORMAL, absl::InfiniteDuration()}, {"rare", 0.5, v1::NORMAL, absl::Milliseconds(50)}},
          absl::Seconds(20));
  EXPECT_GE(both.at("rare").in_time, 10);
  EXPECT_EQ(both.at("rare").refused + both.at("rare").late, 0);
}

TEST_F(Contention, TwoGreedyCallersGetEqualWorkForImagesOfDifferentCost) {
  const auto both =
      Run({{"small", 2000, v1::NORMAL, absl::Seconds(1), 1}, {"large", 2000, v1::NORMAL, absl::Seconds(1), 8}},
          absl::Seconds(20));
  EXPECT_NEAR(both.at("small").in_time * 1.0, both.at("large").in_time * 8.0, 0.1 * 10'000);
}

TEST_F(Contention, OverlaysCountTowardsTheShare) {
  const auto both =
      Run({{"plain", 2000, v1::NORMAL, absl::Seconds(1), 2}, {"draws", 2000, v1::NORMAL, absl::Seconds(1), 2, 40}},
          absl::Seconds(20));
  EXPECT_NEAR(both.at("plain").in_time * 2.0, 10'000, 1500);
  EXPECT_NEAR(both.at("draws").in_time * 42.0, 10'000, 1500);
}

TEST_F(Contention, ASingleCallerMayUseTheWholeCapacity) {
  const auto alone = Run({{"greedy", 5000}}, absl::Seconds(5));
  EXPECT_GE(alone.at("greedy").in_time, 0.98 * 500 * 5);
  EXPECT_EQ(alone.at("greedy").late, 0);
}

}  // namespace
}  // namespace vitrine
