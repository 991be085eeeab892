// SPDX-License-Identifier: Apache-2.0
#include "server/trace/tracer.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace vitrine {
namespace {

const TraceContext kSampled{"4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", true};
const TraceContext kUnsampled{"4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", false};
const absl::Time kBegun = absl::UnixEpoch() + absl::Hours(1);

class TracerTest : public ::testing::Test {
 protected:
  std::unique_ptr<RequestTrace> Begin(double ratio, const std::optional<TraceContext>& caller) {
    return Tracer(ratio, queue_, counters_).Begin(caller, Method::kClassify, kBegun);
  }

  SpanQueue queue_;
  SpanCounters counters_;
};

TEST_F(TracerTest, TheCallersFlagOverridesTheRatio) {
  for (const double ratio : {0.0, 1.0}) {
    EXPECT_EQ(Begin(ratio, kUnsampled), nullptr);
    const std::unique_ptr<RequestTrace> trace = Begin(ratio, kSampled);
    ASSERT_NE(trace, nullptr);
    EXPECT_EQ(Hex(trace->trace_id), kSampled.trace_id);
    ASSERT_TRUE(trace->parent.has_value());
    EXPECT_EQ(Hex(*trace->parent), kSampled.span_id);
    EXPECT_NE(Hex(trace->span_id), kSampled.span_id);
  }
}

TEST_F(TracerTest, TheRatioDecidesWithoutAParentTrace) {
  EXPECT_EQ(Begin(0, std::nullopt), nullptr);
  const std::unique_ptr<RequestTrace> first = Begin(1, std::nullopt), second = Begin(1, std::nullopt);
  ASSERT_NE(first, nullptr);
  EXPECT_FALSE(first->parent.has_value());
  EXPECT_NE(first->trace_id, second->trace_id);
}

// Sampling is decided once per call, because separate decisions per image would start separate traces.
TEST_F(TracerTest, AnImageIsTracedOnlyIfItsCallIs) {
  Tracer tracer(1, queue_, counters_);
  EXPECT_EQ(tracer.BeginPart(std::nullopt, Method::kModelInfer, kBegun, 0), nullptr);
  EXPECT_EQ(tracer.BeginPart(kUnsampled, Method::kModelInfer, kBegun, 0), nullptr);
  const std::unique_ptr<RequestTrace> part = tracer.BeginPart(kSampled, Method::kModelInfer, kBegun, 7);
  ASSERT_NE(part, nullptr);
  EXPECT_EQ(part->part, 7);
  EXPECT_EQ(Hex(part->trace_id), kSampled.trace_id);
  EXPECT_EQ(Hex(*part->parent), kSampled.span_id);
  EXPECT_FALSE(Begin(0, kSampled)->part.has_value());
}

TEST_F(TracerTest, EndedTracesAreQueuedWithTruncatedText) {
  Tracer tracer(1, queue_, counters_);
  std::unique_ptr<RequestTrace> trace = tracer.Begin(std::nullopt, Method::kClassify, kBegun);
  trace->request_id = std::string(1000, 'x');
  tracer.End(std::move(trace), absl::InternalError(std::string(1000, 'y')), kBegun + absl::Seconds(2));
  queue_.Close();
  const SpanQueue::Traces queued = queue_.Take();
  ASSERT_EQ(queued.size(), 1U);
  EXPECT_EQ(queued[0]->code, absl::StatusCode::kInternal);
  EXPECT_EQ(queued[0]->message, std::string(256, 'y'));
  EXPECT_EQ(queued[0]->request_id, std::string(256, 'x')) << "the caller's words are cut";
  EXPECT_EQ(queued[0]->whole.end - queued[0]->whole.begin, absl::Seconds(2));
  EXPECT_EQ(counters_.full, 0U);
}

// One text that is not UTF-8 would make the whole export unreadable.
TEST_F(TracerTest, QueuedTextIsValidUtf8) {
  Tracer tracer(1, queue_, counters_);
  std::unique_ptr<RequestTrace> trace = tracer.Begin(std::nullopt, Method::kClassify, kBegun);
  std::string words = "a";
  for (int i = 0; i < 200; ++i) words += "\xC3\xA9";
  trace->request_id = words;
  trace->model = "\xFF";
  tracer.End(std::move(trace), absl::InternalError(words), kBegun);
  queue_.Close();
  const SpanQueue::Traces queued = queue_.Take();
  ASSERT_EQ(queued.size(), 1U);
  EXPECT_EQ(queued[0]->request_id, words.substr(0, 255));
  EXPECT_EQ(queued[0]->message, words.substr(0, 255));
  EXPECT_EQ(queued[0]->model, "");
}

TEST_F(TracerTest, TracesThatFindNoPlaceAreCountedBySpans) {
  Tracer tracer(1, queue_, counters_);
  queue_.Close();
  std::unique_ptr<RequestTrace> trace = tracer.Begin(std::nullopt, Method::kClassify, kBegun);
  trace->Note(Stage::kQueue, kBegun, kBegun);
  trace->Note(Stage::kDecode, kBegun, kBegun);
  tracer.End(std::move(trace), absl::OkStatus(), kBegun);
  EXPECT_EQ(counters_.full, 3U);
}

}  // namespace
}  // namespace vitrine
