// SPDX-License-Identifier: Apache-2.0
#include "server/trace/span_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace vitrine {
namespace {

std::unique_ptr<RequestTrace> Numbered(int64_t number) {
  auto trace = std::make_unique<RequestTrace>();
  trace->tokens = number;
  return trace;
}

TEST(SpanQueue, ReturnsFullBatchesInOrder) {
  SpanQueue queue;
  const auto count = static_cast<int64_t>(2 * SpanQueue::kBatch);
  for (int64_t i = 0; i < count; ++i) ASSERT_TRUE(queue.Push(Numbered(i)));
  for (int64_t next = 0; next < count;) {
    const SpanQueue::Traces batch = queue.Take();
    ASSERT_EQ(batch.size(), SpanQueue::kBatch);
    for (const auto& trace : batch) EXPECT_EQ(trace->tokens, next++);
  }
}

TEST(SpanQueue, RefusesSpansWhileItIsFull) {
  SpanQueue queue;
  for (size_t i = 0; i < SpanQueue::kCapacity; ++i) ASSERT_TRUE(queue.Push(Numbered(0)));
  EXPECT_FALSE(queue.Push(Numbered(1)));
  (void)queue.Take();
  for (size_t i = 0; i < SpanQueue::kBatch; ++i) EXPECT_TRUE(queue.Push(Numbered(2)));
  EXPECT_FALSE(queue.Push(Numbered(3)));
}

TEST(SpanQueue, ReturnsTheRestAfterClose) {
  SpanQueue queue;
  ASSERT_TRUE(queue.Push(Numbered(7)));
  queue.Close();
  EXPECT_FALSE(queue.Push(Numbered(8)));
  const SpanQueue::Traces rest = queue.Take();
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0]->tokens, 7);
  EXPECT_TRUE(queue.Take().empty());
}

TEST(SpanQueue, ReturnsAPartialBatchAfterATimeout) {
  SpanQueue queue;
  const absl::Time begin = absl::Now();
  ASSERT_TRUE(queue.Push(Numbered(7)));
  EXPECT_EQ(queue.Take().size(), 1U);
  EXPECT_GE(absl::Now() - begin, SpanQueue::kPatience * 0.9) << "company was not waited for";
}

TEST(SpanQueue, WakesWaitingReaders) {
  SpanQueue queue;
  std::thread pusher([&queue] {
    for (size_t i = 0; i < SpanQueue::kBatch; ++i) EXPECT_TRUE(queue.Push(Numbered(0)));
    queue.Close();
  });
  size_t taken = 0;
  for (SpanQueue::Traces batch = queue.Take(); !batch.empty(); batch = queue.Take()) taken += batch.size();
  pusher.join();
  EXPECT_EQ(taken, SpanQueue::kBatch);
}

}  // namespace
}  // namespace vitrine
