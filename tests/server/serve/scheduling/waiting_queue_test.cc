// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/waiting_queue.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;

struct Asked {
  int64_t tokens = 1;
  absl::Duration cost = absl::Milliseconds(1);
  absl::Time deadline = absl::InfiniteFuture();
  bool is_slow = false;
};

class WaitingQueueTest : public ::testing::Test {
 protected:
  void Wait(const std::string& caller, const Asked& asked = {}) {
    WaitingQueue::Entry entry;
    entry.request = std::make_unique<InferenceRequest>();
    entry.waiting.tokens = asked.tokens;
    entry.waiting.cost = asked.cost;
    entry.waiting.deadline = asked.deadline;
    entry.waiting.is_slow = asked.is_slow;
    entry.waiting.sequence = sequence_++;
    entry.waiting.arrival = now_;
    entry.waiting.caller = turns_.Enter(caller);
    queue_.Insert(OrderOf(entry.waiting), std::move(entry), turns_);
  }
  WaitingQueue::Order OrderOf(const WaitingRequest& waiting) const { return {waiting.Due(options_), waiting.sequence}; }
  std::vector<WaitingRequest> Front() {
    std::vector<WaitingRequest> front;
    queue_.AppendFront({.batch = options_, .now = now_, .own = {}}, turns_, front);
    return front;
  }
  std::vector<WaitingRequest> All() const {
    std::vector<WaitingRequest> all;
    for (const WaitingQueue::Pending& pending : queue_.pending()) {
      all.push_back(pending.entry->waiting);
      all.back().turn_time = turns_.time(pending.entry->waiting.caller);
    }
    return all;
  }
  static std::vector<uint64_t> Sequences(const std::vector<WaitingRequest>& waiting, const std::vector<size_t>& batch) {
    std::vector<uint64_t> sequences;
    for (const size_t i : batch) sequences.push_back(waiting[i].sequence);
    return sequences;
  }
  void Run(const WaitingRequest& waiting) {
    queue_.Take(waiting, OrderOf(waiting));
    turns_.Run(waiting.caller, waiting.cost);
  }

  BatchOptions options_ = {.max_batch_tokens = 300, .max_batch_images = 8};
  absl::Time now_ = absl::UnixEpoch();
  CallerTurns turns_;
  WaitingQueue queue_;
  uint64_t sequence_ = 0;
};

TEST_F(WaitingQueueTest, RequestsSentTogetherRunTogether) {
  options_.max_batch_images = 3;
  const auto wait = [this](const std::string& caller) {
    for (int i = 0; i < 3; ++i) Wait(caller, {.cost = absl::Microseconds(300)});
  };
  wait("a");
  wait("b");
  for (int round = 0; round < 20; ++round) {
    const std::vector<WaitingRequest> front = Front();
    ASSERT_EQ(front.size(), 3);
    for (const WaitingRequest& waiting : front) {
      EXPECT_EQ(waiting.caller, front[0].caller) << "in round " << round;
      Run(waiting);
    }
    wait(round % 2 == 0 ? "a" : "b");
  }
}

TEST_F(WaitingQueueTest, FrontIsOneBatchForManyCallers) {
  for (int i = 0; i < 1000; ++i) {
    for (int k = 0; k < 3; ++k) Wait(absl::StrCat(i));
  }
  for (int batches = 0; batches < 300; ++batches) {
    const std::vector<WaitingRequest> front = Front();
    ASSERT_EQ(front.size(), 8);
    for (const WaitingRequest& waiting : front) Run(waiting);
  }
  std::map<CallerTurns::Id, int> left;
  for (const WaitingRequest& waiting : All()) ++left[waiting.caller];
  EXPECT_EQ(left.size(), 600) << "2,400 requests ran: two of each caller, then a third of 400 callers";
}

// Tests requests that one caller sent together. If they need little time, they run before the requests of later
// callers.
TEST_F(WaitingQueueTest, CallersWithinAMillisecondOfWorkAreOrderedByAge) {
  const auto callers = [&](absl::Duration cost) {
    for (const char* caller : {"a", "a", "a", "b", "b", "b"}) {
      Wait(caller, {.cost = cost});
      now_ += absl::Microseconds(1);
    }
    std::string order;
    for (const WaitingRequest& waiting : Front()) {
      order += waiting.sequence % 6 < 3 ? 'a' : 'b';
      Run(waiting);
    }
    return order;
  };
  EXPECT_EQ(callers(absl::Microseconds(100)), "aaabbb");
  EXPECT_EQ(callers(absl::Milliseconds(1)), "ababab");
}

// Tests that Front contains expired and slow requests in addition to a batch, because these requests share no batch
// with other requests.
TEST_F(WaitingQueueTest, FrontSkipsRequestsThatShareNoBatch) {
  Wait("late", {.deadline = now_});
  Wait("slow", {.is_slow = true});
  for (int i = 0; i < 10; ++i) Wait("quick");
  EXPECT_EQ(Front().size(), 2 + 8);
  for (const auto& [work, size] : {std::pair{BatchKind::kQuick, 1 + 8}, {BatchKind::kSlow, 1}}) {
    std::vector<WaitingRequest> front;
    queue_.AppendFront({.batch = options_, .now = now_, .own = {}, .work = work}, turns_, front);
    EXPECT_EQ(front.size(), static_cast<size_t>(size));
  }
}

TEST_F(WaitingQueueTest, ARequestThatIsDueSoonerMovesItsCallerForward) {
  for (const char* caller : {"a", "b", "c"}) {
    Wait(caller, {.deadline = now_ + absl::Seconds(1)});
  }
  Wait("c", {.deadline = now_ + absl::Milliseconds(1)});
  options_.max_batch_images = 1;
  EXPECT_THAT(Sequences(Front(), {0}), ElementsAre(3));
}

// Compares the batches that Decide chooses from Front with the batches that it chooses from the whole queue.
TEST_F(WaitingQueueTest, GivesTheBatchesOfTheWholeQueue) {
  std::mt19937 random(7);
  const auto draw = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  int batches = 0;
  for (int step = 0; step < 3000; ++step) {
    now_ += absl::Milliseconds(draw(1, 5));
    if (step < 2500) {
      Wait(absl::StrCat(draw(0, 30)), {.tokens = draw(1, 120),
                                       .cost = absl::Nanoseconds(draw(1'000'000, 9'000'000)),
                                       .deadline = now_ + absl::Milliseconds(draw(1, 4000)),
                                       .is_slow = draw(0, 20) == 0});
    }
    if (draw(0, 2) > 0 || queue_.empty()) continue;
    const std::vector<WaitingRequest> all = All(), front = Front();
    const BatchDecision of_all = Decide(all, now_, options_), decision = Decide(front, now_, options_);
    ASSERT_EQ(Sequences(front, decision.batch), Sequences(all, of_all.batch)) << step;
    for (const size_t i : decision.batch) Run(front[i]);
    ++batches;
  }
  EXPECT_GT(batches, 700);
}

}  // namespace
}  // namespace vitrine
