// SPDX-License-Identifier: Apache-2.0
#include "server/trace/otlp_exporter.h"

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "server/wire/http/refusal.h"
#include "tests/server/logged.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SpansSent Away() {
  return {.status = absl::UnavailableError("away"), .may_pass = true};
}

SpansSent Refused() {
  return {.status = absl::InvalidArgumentError("of another kind")};
}

SpansSent Taken() {
  return {.status = absl::OkStatus()};
}

TEST(RetryDelay, DoublesUpToTheLastAttempt) {
  EXPECT_EQ(RetryDelay(Away(), 1), absl::Milliseconds(500));
  EXPECT_EQ(RetryDelay(Away(), 2), absl::Seconds(1));
  EXPECT_EQ(RetryDelay(Away(), 4), absl::Seconds(4));
  EXPECT_EQ(RetryDelay(Away(), kMostSends), std::nullopt);
}

TEST(RetryDelay, ExistsOnlyForRetryableErrors) {
  EXPECT_EQ(RetryDelay(Refused(), 1), std::nullopt);
  SpansSent refused = Refused();
  refused.retry_after = absl::Seconds(3);
  EXPECT_EQ(RetryDelay(refused, 1), std::nullopt);
}

TEST(RetryDelay, UsesTheCollectorsDelayUpToAMaximum) {
  SpansSent away = Away();
  away.retry_after = absl::Seconds(7);
  EXPECT_EQ(RetryDelay(away, 1), absl::Seconds(7));
  EXPECT_EQ(RetryDelay(away, kMostSends), std::nullopt);
  away.retry_after = absl::Seconds(86'400);
  EXPECT_EQ(RetryDelay(away, 1), absl::Seconds(30)) << "not for a day";
}

// A collector with scripted answers; Cancel ends a blocked call.
class FakeSink : public SpanSink {
 public:
  using Answer = std::function<SpansSent(int call, OtlpResponse& response)>;
  explicit FakeSink(Answer answer) : answer_(std::move(answer)) {}

  SpansSent Send(const OtlpRequest& request, OtlpResponse& response, absl::Duration timeout) override {
    {
      MutexLock lock(mutex_);
      EXPECT_LE(timeout, OtlpExporter::kTimeout);
      spans_.push_back(request.resource_spans(0).scope_spans(0).spans_size());
      changed_.NotifyAll();
    }
    return answer_(Calls(), response);
  }
  void Cancel() override {
    MutexLock lock(mutex_);
    is_cancelled_ = true;
    changed_.NotifyAll();
  }

  // Blocks until Cancel, like a collector that does not answer.
  SpansSent Hang() {
    MutexLock lock(mutex_);
    while (!is_cancelled_) changed_.Wait(mutex_);
    return {.status = absl::CancelledError("cancelled")};
  }
  void AwaitCalls(int calls) {
    MutexLock lock(mutex_);
    while (static_cast<int>(spans_.size()) < calls) changed_.Wait(mutex_);
  }
  int Calls() {
    MutexLock lock(mutex_);
    return static_cast<int>(spans_.size());
  }
  std::vector<int> Spans() {
    MutexLock lock(mutex_);
    return spans_;
  }

 private:
  const Answer answer_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<int> spans_ ABSL_GUARDED_BY(mutex_);
  bool is_cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

class OtlpExporterTest : public ::testing::Test {
 protected:
  void Push(size_t traces) {
    for (size_t i = 0; i < traces; ++i) ASSERT_TRUE(queue_.Push(std::make_unique<RequestTrace>()));
  }
  std::unique_ptr<OtlpExporter> Start(FakeSink& sink) {
    return std::make_unique<OtlpExporter>(OtlpExporter::Parts{.queue = queue_,
                                                              .sink = sink,
                                                              .counters = counters_,
                                                              .clock = SteadyClock(),
                                                              .http_code = HttpCode,
                                                              .version = "1.2.3"});
  }

  SpanQueue queue_;
  SpanCounters counters_;
};

TEST_F(OtlpExporterTest, SendsQueuedSpansBeforeItStops) {
  FakeSink sink([](int, OtlpResponse&) { return Taken(); });
  const auto exporter = Start(sink);
  Push(SpanQueue::kBatch + 3);
  exporter->Stop(absl::Seconds(60));
  EXPECT_EQ(sink.Spans(), (std::vector<int>{static_cast<int>(SpanQueue::kBatch), 3}));
  EXPECT_EQ(counters_.exported, SpanQueue::kBatch + 3);
  EXPECT_EQ(counters_.failed, 0U);
}

TEST_F(OtlpExporterTest, RetriesRetryableErrors) {
  FakeSink sink([](int call, OtlpResponse&) { return call == 1 ? Away() : Taken(); });
  const auto exporter = Start(sink);
  Push(SpanQueue::kBatch);
  sink.AwaitCalls(2);
  exporter->Stop(absl::Seconds(60));
  EXPECT_EQ(sink.Calls(), 2);
  EXPECT_EQ(counters_.exported, SpanQueue::kBatch);
  EXPECT_EQ(counters_.failed, 0U);
}

TEST_F(OtlpExporterTest, CountsRejectedAndPartlyAcceptedSpans) {
  FakeSink sink([](int call, OtlpResponse& response) {
    response.mutable_partial_success()->set_rejected_spans(10);
    return call == 1 ? Refused() : Taken();
  });
  const auto exporter = Start(sink);
  Push(2 * SpanQueue::kBatch);
  exporter->Stop(absl::Seconds(60));
  EXPECT_EQ(sink.Calls(), 2);
  EXPECT_EQ(counters_.failed, SpanQueue::kBatch + 10);
  EXPECT_EQ(counters_.exported, SpanQueue::kBatch - 10);
}

// The collector is first unreachable, then rejects two batches, then accepts one.
TEST_F(OtlpExporterTest, LogsRetriesAndLostSpansOnceEach) {
  FakeSink sink([](int call, OtlpResponse&) {
    if (call == 1) return Away();
    return call < 4 ? Refused() : Taken();
  });
  const std::string log = Logged("info", "text", [&] {
    const auto exporter = Start(sink);
    for (const int calls : {2, 3, 4}) {
      Push(SpanQueue::kBatch);
      sink.AwaitCalls(calls);
    }
    exporter->Stop(absl::Seconds(60));
  });
  std::vector<std::string> told;
  for (const absl::string_view line : absl::StrSplit(log, '\n', absl::SkipEmpty())) {
    told.emplace_back(line.substr(line.find(' ') + 1));  // without the time
  }
  EXPECT_THAT(told, ElementsAre(HasSubstr("spans not exported code=UNAVAILABLE reason=away"),
                                HasSubstr("spans not exported code=INVALID_ARGUMENT reason=\"of another kind\""),
                                HasSubstr("spans exported again")));
}

TEST_F(OtlpExporterTest, AHangingCollectorDoesNotDelayTheEnd) {
  FakeSink* hanging = nullptr;
  FakeSink sink([&hanging](int, OtlpResponse&) { return hanging->Hang(); });
  hanging = &sink;
  const auto exporter = Start(sink);
  Push(SpanQueue::kBatch + 1);
  sink.AwaitCalls(1);
  exporter->Stop(absl::Milliseconds(50));  // without the cancellation, Stop would never return
  EXPECT_EQ(sink.Calls(), 1) << "the end has passed, so the rest is not tried";
  EXPECT_EQ(counters_.failed, SpanQueue::kBatch + 1);
  EXPECT_EQ(counters_.exported, 0U);
}

TEST_F(OtlpExporterTest, StopInterruptsTheWaitForARetry) {
  FakeSink sink([](int, OtlpResponse&) { return Away(); });
  const auto exporter = Start(sink);
  Push(SpanQueue::kBatch);
  sink.AwaitCalls(4);  // the exporter now waits four seconds for the next attempt
  exporter->Stop(absl::Seconds(60));
  EXPECT_EQ(sink.Calls(), 4);
  EXPECT_EQ(counters_.failed, SpanQueue::kBatch);
}

}  // namespace
}  // namespace vitrine
