// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/batching_policy.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const absl::Time kNow = absl::UnixEpoch() + absl::Hours(10);
const int kModels[3] = {};
const void* Model(int i) {
  return &kModels[i];
}

// Returns a request that has waited for `age`.
WaitingRequest Waiting(uint64_t sequence, int64_t tokens = 10, absl::Duration age = absl::ZeroDuration()) {
  WaitingRequest request;
  request.sequence = sequence;
  request.model = Model(0);
  request.tokens = tokens;
  request.arrival = kNow - age;
  return request;
}

TEST(Decide, ReturnsNoBatchForAnEmptyQueue) {
  const BatchDecision decision = Decide({}, kNow, {});
  EXPECT_THAT(decision.batch, IsEmpty());
  EXPECT_EQ(decision.wake, absl::InfiniteFuture());
}

TEST(ShareOf, IsTheTokensOfOneExecutor) {
  const std::vector<WaitingRequest> waiting = {Waiting(0, 10), Waiting(1, 10), Waiting(2, 10), Waiting(3, 10),
                                               Waiting(4, 100)};
  EXPECT_EQ(ShareOf(waiting, {}, 3), 0);
  EXPECT_EQ(ShareOf(waiting, {0, 1, 2, 3}, 1), 4);
  EXPECT_EQ(ShareOf(waiting, {0, 1, 2, 3}, 2), 2);
  EXPECT_EQ(ShareOf(waiting, {0, 1, 2, 3}, 3), 2);
  EXPECT_EQ(ShareOf(waiting, {0, 1, 2, 3}, 9), 1);
  EXPECT_EQ(ShareOf(waiting, {4, 0, 1, 2, 3}, 2), 1) << "the large request alone has more than half of the tokens";
  EXPECT_EQ(ShareOf(waiting, {0, 1, 2, 3, 4}, 2), 5);
}

TEST(ClassOf, AnUnspecifiedPriorityIsNormal) {
  EXPECT_EQ(ClassOf(v1::HIGH), kHigh);
  EXPECT_EQ(ClassOf(v1::LOW), kLow);
  EXPECT_EQ(ClassOf(v1::NORMAL), kNormal);
  EXPECT_EQ(ClassOf(v1::PRIORITY_UNSPECIFIED), kNormal);
}

TEST(Decide, ClosesBeforeTheTokenBudgetIsExceeded) {
  const std::vector<WaitingRequest> waiting = {Waiting(0, 60), Waiting(1, 40), Waiting(2, 1)};
  EXPECT_THAT(Decide(waiting, kNow, {.max_batch_tokens = 100}).batch, ElementsAre(0, 1));
  EXPECT_THAT(Decide(waiting, kNow, {.max_batch_tokens = 99}).batch, ElementsAre(0))
      << "a later, smaller request must not overtake the one that does not fit";
}

TEST(Decide, ReturnsAnImageAboveTheBudgetAlone) {
  const std::vector<WaitingRequest> waiting = {Waiting(0, 500), Waiting(1, 1)};
  EXPECT_THAT(Decide(waiting, kNow, {.max_batch_tokens = 100}).batch, ElementsAre(0));
}

TEST(Decide, ClosesAtTheMaximumNumberOfImages) {
  const std::vector<WaitingRequest> waiting = {Waiting(0), Waiting(1), Waiting(2)};
  EXPECT_THAT(Decide(waiting, kNow, {.max_batch_images = 2}).batch, ElementsAre(0, 1));
}

TEST(Decide, PutsAtMostTwoOfTheLargestImagesInABatch) {
  std::vector<WaitingRequest> waiting;
  for (int i = 0; i < 64; ++i) {
    waiting.push_back(Waiting(i));
    waiting.back().pixels = 16 << 20;
  }
  EXPECT_THAT(Decide(waiting, kNow, {}).batch, ElementsAre(0, 1));
}

TEST(Decide, ClosesBeforeThePixelBudgetIsExceeded) {
  std::vector<WaitingRequest> waiting = {Waiting(0), Waiting(1), Waiting(2)};
  waiting[0].pixels = 60;
  waiting[1].pixels = 40;
  waiting[2].pixels = 1;
  EXPECT_THAT(Decide(waiting, kNow, {.max_batch_pixels = 101}).batch, ElementsAre(0, 1, 2));
  EXPECT_THAT(Decide(waiting, kNow, {.max_batch_pixels = 100, .max_wait = absl::Seconds(1)}).batch, ElementsAre(0, 1))
      << "a full batch does not wait";
  EXPECT_THAT(Decide(waiting, kNow, {.max_batch_pixels = 99}).batch, ElementsAre(0));
  EXPECT_THAT(Decide(waiting, kNow, {.max_batch_pixels = 10}).batch, ElementsAre(0))
      << "a request above the budget runs alone";
}

TEST(Decide, WaitsForMoreRequestsUntilTheOldestHasWaitedLongEnough) {
  const std::vector<WaitingRequest> waiting = {Waiting(0, 10, absl::Milliseconds(3)), Waiting(1)};
  const BatchOptions options = {.max_wait = absl::Milliseconds(5)};
  const BatchDecision early = Decide(waiting, kNow, options);
  EXPECT_THAT(early.batch, IsEmpty());
  EXPECT_EQ(early.wake, kNow + absl::Milliseconds(2));
  EXPECT_THAT(Decide(waiting, early.wake, options).batch, ElementsAre(0, 1));
}

TEST(Decide, AFullBatchDoesNotWait) {
  const std::vector<WaitingRequest> waiting = {Waiting(0), Waiting(1)};
  EXPECT_THAT(Decide(waiting, kNow, {.max_batch_tokens = 20, .max_wait = absl::Seconds(1)}).batch, ElementsAre(0, 1));
}

TEST(Decide, AFullBatchOfAnotherModelDoesNotWaitForTheFirst) {
  std::vector<WaitingRequest> waiting = {Waiting(0, 10, absl::Milliseconds(1)), Waiting(1, 100)};
  waiting[1].model = Model(1);
  EXPECT_THAT(Decide(waiting, kNow, {.max_batch_tokens = 100, .max_wait = absl::Seconds(1)}).batch, ElementsAre(1));
}

TEST(Decide, ANearDeadlineShortensTheWait) {
  std::vector<WaitingRequest> waiting = {Waiting(0)};
  waiting[0].deadline = kNow + absl::Milliseconds(8);
  const BatchOptions options = {.max_wait = absl::Milliseconds(5)};
  EXPECT_EQ(Decide(waiting, kNow, options).wake, kNow + absl::Milliseconds(3));
}

TEST(Decide, AModelMayHaveItsOwnLimits) {
  std::vector<WaitingRequest> waiting;
  for (int i = 0; i < 8; ++i) {
    waiting.push_back(Waiting(i));
    waiting.back().model = Model(i % 2);
    waiting.back().pixels = 100;
  }
  const BatchOptions options = {.max_wait = absl::Seconds(1)};
  const auto with = [&](const BatchLimits& limits) {
    for (int i = 1; i < 8; i += 2) waiting[i].own = limits;
    return Decide(waiting, kNow, options);
  };
  const BatchLimits as_all = options.Limits();
  EXPECT_THAT(with(as_all).batch, IsEmpty()) << "both models wait for more requests";
  BatchLimits limits = as_all;
  limits.max_wait = absl::ZeroDuration();
  EXPECT_THAT(with(limits).batch, ElementsAre(1, 3, 5, 7)) << "the model's own wait applies";
  limits = as_all;
  limits.max_batch_images = 3;
  EXPECT_THAT(with(limits).batch, ElementsAre(1, 3, 5));
  limits = as_all;
  limits.max_batch_tokens = 20;
  EXPECT_THAT(with(limits).batch, ElementsAre(1, 3));
  limits = as_all;
  limits.max_batch_pixels = 199;
  EXPECT_THAT(with(limits).batch, ElementsAre(1));
  EXPECT_EQ(with(as_all).wake, kNow + absl::Seconds(1));
  limits = as_all;
  limits.max_wait = absl::Milliseconds(3);
  EXPECT_EQ(with(limits).wake, kNow + absl::Milliseconds(3)) << "the earlier of both times";
}

// Checks every guarantee of batching_policy.h on random queues, independently of the code of Decide.
class RandomQueues : public ::testing::TestWithParam<int> {
 protected:
  std::mt19937 random_{static_cast<unsigned>(GetParam())};
  int Draw(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  std::vector<WaitingRequest> Queue() {
    std::vector<WaitingRequest> waiting(Draw(0, 60));
    for (size_t i = 0; i < waiting.size(); ++i) {
      WaitingRequest& request = waiting[i];
      request.sequence = i;
      request.model = Model(Draw(0, 2));
      request.tokens = Draw(1, 300);
      request.pixels = Draw(1, 50'000);
      request.priority = static_cast<PriorityClass>(Draw(0, 2));
      request.arrival = kNow - absl::Milliseconds(Draw(0, 12'000));
      if (Draw(0, 1) == 0) request.deadline = kNow + absl::Milliseconds(Draw(-50, 3'000));
      request.cancelled = Draw(0, 9) == 0;
    }
    std::shuffle(waiting.begin(), waiting.end(), random_);
    return waiting;
  }

  BatchOptions Options() {
    BatchOptions options;
    options.max_batch_tokens = Draw(1, 1000);
    options.max_batch_images = Draw(1, 12);
    options.max_batch_pixels = Draw(1, 200'000);
    options.max_wait = Draw(0, 1) == 0 ? absl::ZeroDuration() : absl::Milliseconds(Draw(1, 9'000));
    return options;
  }
};

bool Dead(const WaitingRequest& request) {
  return request.cancelled || request.deadline <= kNow;
}

// Returns a sort key for the order that batching_policy.h documents.
auto Key(const WaitingRequest& request, const BatchOptions& options) {
  const absl::Time out_of_patience = request.arrival + options.patience[request.priority];
  const int rank = out_of_patience <= kNow ? -1 : static_cast<int>(request.priority);
  return std::make_tuple(rank, std::min(request.deadline, out_of_patience), request.sequence);
}

TEST_P(RandomQueues, KeepEveryGuarantee) {
  for (int round = 0; round < 200; ++round) {
    const std::vector<WaitingRequest> waiting = Queue();
    const BatchOptions options = Options();
    const BatchDecision decision = Decide(waiting, kNow, options);

    std::set<size_t> dropped(decision.cancelled.begin(), decision.cancelled.end());
    dropped.insert(decision.expired.begin(), decision.expired.end());
    for (size_t i = 0; i < waiting.size(); ++i) ASSERT_EQ(dropped.contains(i), Dead(waiting[i]));
    for (const size_t i : decision.cancelled) ASSERT_TRUE(waiting[i].cancelled);
    if (decision.batch.empty()) {
      ASSERT_TRUE(dropped.size() == waiting.size() || decision.wake > kNow);
      continue;
    }

    int64_t tokens = 0, pixels = 0;
    for (const size_t i : decision.batch) {
      ASSERT_FALSE(Dead(waiting[i]));
      ASSERT_EQ(waiting[i].model, waiting[decision.batch[0]].model);
      tokens += waiting[i].tokens;
      pixels += waiting[i].pixels;
    }
    ASSERT_TRUE(tokens <= options.max_batch_tokens || decision.batch.size() == 1);
    ASSERT_TRUE(pixels <= options.max_batch_pixels || decision.batch.size() == 1);
    ASSERT_LE(decision.batch.size(), static_cast<size_t>(options.max_batch_images));

    // Every live request that is for the model of the batch, but not in the batch, must have a larger key than every
    // request in the batch.
    for (size_t i = 0; i < waiting.size(); ++i) {
      if (Dead(waiting[i]) || waiting[i].model != waiting[decision.batch[0]].model) continue;
      if (std::find(decision.batch.begin(), decision.batch.end(), i) != decision.batch.end()) continue;
      ASSERT_GT(Key(waiting[i], options), Key(waiting[decision.batch.back()], options));
    }
    for (size_t i = 1; i < decision.batch.size(); ++i) {
      ASSERT_LT(Key(waiting[decision.batch[i - 1]], options), Key(waiting[decision.batch[i]], options));
    }
  }
}

TEST_P(RandomQueues, DoNotDependOnTheOrderOfTheSpan) {
  for (int round = 0; round < 50; ++round) {
    std::vector<WaitingRequest> waiting = Queue();
    const BatchOptions options = Options();
    const auto sequences = [&] {
      std::vector<uint64_t> list;
      for (const size_t i : Decide(waiting, kNow, options).batch) list.push_back(waiting[i].sequence);
      return list;
    };
    const std::vector<uint64_t> before = sequences();
    std::shuffle(waiting.begin(), waiting.end(), random_);
    ASSERT_EQ(sequences(), before);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomQueues, ::testing::Range(0, 10));

// Serves one request per millisecond, while `more` adds requests at the same rate. Returns the time until `victim` was
// served.
template <typename More>
absl::Duration WaitOf(WaitingRequest victim, const More& more) {
  const BatchOptions options = {.max_batch_images = 1};
  std::vector<WaitingRequest> waiting = {victim};
  for (int step = 0; step < 60'000; ++step) {
    const absl::Time now = kNow + absl::Milliseconds(step);
    waiting.push_back(more(step, now));
    const BatchDecision decision = Decide(waiting, now, options);
    if (decision.batch.empty()) continue;
    if (waiting[decision.batch[0]].sequence == victim.sequence) return now - kNow;
    waiting.erase(waiting.begin() + decision.batch[0]);
  }
  return absl::InfiniteDuration();
}

TEST(Starvation, ManyHighRequestsDoNotStarveALowOne) {
  WaitingRequest low = Waiting(1'000'000);
  low.priority = kLow;
  const absl::Duration wait = WaitOf(low, [](int step, absl::Time now) {
    WaitingRequest high = Waiting(step);
    high.priority = kHigh;
    high.arrival = now;
    return high;
  });
  EXPECT_GE(wait, absl::Seconds(9)) << "LOW must wait for HIGH until its patience ends";
  EXPECT_LE(wait, absl::Seconds(11));
}

TEST(Starvation, ManyShortDeadlinesDoNotStarveARequestWithoutOne) {
  const absl::Duration wait = WaitOf(Waiting(1'000'000), [](int step, absl::Time now) {
    WaitingRequest urgent = Waiting(step);
    urgent.arrival = now;
    urgent.deadline = now + absl::Milliseconds(50);
    return urgent;
  });
  EXPECT_LE(wait, absl::Seconds(3));
}

TEST(Starvation, ABusyModelDoesNotStarveAnother) {
  WaitingRequest other = Waiting(1'000'000);
  other.model = Model(1);
  const absl::Duration wait = WaitOf(other, [](int step, absl::Time now) {
    WaitingRequest busy = Waiting(step);
    busy.arrival = now;
    return busy;
  });
  EXPECT_LE(wait, absl::Milliseconds(5)) << "the oldest request runs first, whichever model it has";
}

}  // namespace
}  // namespace vitrine
