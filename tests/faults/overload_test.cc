// Far more than the server can do: it stays up, answers what it admits and refuses the rest at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/e2e/published.h"
#include "tests/e2e/running_server.h"

namespace vitrine::testing {
namespace {

struct Call {
  grpc::ClientContext context;
  grpc::Status status;
  v1::ClassifyResponse response;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::ClassifyResponse>> reader;
};

struct Outcome {
  int ok = 0, refused = 0, other = 0;
};

// Sends `calls` at once, each on the shared connection, and waits for all.
Outcome Burst(RunningServer& running, const v1::ClassifyRequest& request, int calls) {
  grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<Call>> all;
  for (int i = 0; i < calls; ++i) {
    all.push_back(std::make_unique<Call>());
    Call& call = *all.back();
    call.reader = running.classifier().AsyncClassify(&call.context, request, &queue);
    call.reader->Finish(&call.response, &call.status, &call);
  }
  Outcome outcome;
  for (int i = 0; i < calls; ++i) {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    const grpc::Status& status = static_cast<Call*>(tag)->status;
    if (status.ok()) {
      ++outcome.ok;
    } else if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED && !status.error_details().empty()) {
      ++outcome.refused;
    } else {
      ++outcome.other;
      ADD_FAILURE() << status.error_code() << " " << status.error_message();
    }
  }
  queue.Shutdown();
  return outcome;
}

TEST(Overload, TheQueueIsBoundedByRequestsAndEveryRefusalIsTyped) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  ServerOptions options = TestOptions(folder.path());
  options.admission.max_requests = 16;
  RunningServer running(options);
  const v1::ClassifyRequest request = PictureRequest("mixed", NoiseJpeg(200, 200, 1));
  const Outcome outcome = Burst(running, request, 1500);
  EXPECT_GE(outcome.ok, 16);
  EXPECT_GT(outcome.refused, 0) << "the burst did not overload the server: the test proved nothing";
  EXPECT_EQ(outcome.other, 0);
  EXPECT_EQ(running.Metric("vitrine_in_flight "), 0);
  EXPECT_EQ(running.Metric("vitrine_queue_depth "), 0);
  EXPECT_EQ(Burst(running, request, 8).ok, 8) << "afterwards it serves as before";
}

TEST(Overload, TheQueueIsBoundedByBytes) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "slow", SlowConfig());
  ServerOptions options = TestOptions(folder.path());
  options.executor.threads = 1;
  const std::string picture = SlowPicture();
  options.admission.max_bytes = static_cast<int64_t>(picture.size()) * 3;
  RunningServer running(options);
  const Outcome outcome = Burst(running, PictureRequest("slow", picture), 12);
  EXPECT_GE(outcome.ok, 3);
  EXPECT_GT(outcome.refused, 0);
  EXPECT_EQ(outcome.other, 0);
}

// Answers per second when callers wait for their answers: what the server can do.
double Capacity(RunningServer& running, const v1::ClassifyRequest& request, absl::Duration time) {
  std::atomic<int> answered = 0;
  const absl::Time end = absl::Now() + time;
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 4; ++i) {
      callers.emplace_back([&] {
        v1::ClassifyResponse response;
        while (absl::Now() < end) answered += running.Classify(request, &response).ok();
      });
    }
  }
  return answered / absl::ToDoubleSeconds(time);
}

// Calls leave when their time has come, whether those before are answered or not: waiting is the load, not luck.
std::vector<std::unique_ptr<Call>> OpenLoop(RunningServer& running, const v1::ClassifyRequest& request, int calls,
                                            double rate, absl::Duration deadline) {
  grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<Call>> all;
  const absl::Time begin = absl::Now();
  for (int i = 0; i < calls; ++i) {
    absl::SleepFor(begin + absl::Seconds(i / rate) - absl::Now());
    all.push_back(std::make_unique<Call>());
    Call& call = *all.back();
    call.context.set_deadline(absl::ToChronoTime(absl::Now() + deadline));
    call.reader = running.classifier().AsyncClassify(&call.context, request, &queue);
    call.reader->Finish(&call.response, &call.status, &call);
  }
  for (int i = 0; i < calls; ++i) {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
  }
  queue.Shutdown();
  return all;
}

// One budget for the answers of all callers. One answer alone is always admitted, so that a budget of a byte serves one
// call at a time; what it took is free again once the client has its answer.
TEST(Overload, AnswersThatAreNotTakenAreBoundedOverTheProcess) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "slow", SlowConfig());
  ServerOptions options = TestOptions(folder.path());
  options.admission.max_answer_bytes = 1;
  RunningServer running(options);
  const Outcome outcome = Burst(running, PictureRequest("slow", SlowPicture()), 10);
  EXPECT_GE(outcome.ok, 1);
  EXPECT_GE(outcome.refused, 1);
  EXPECT_GE(running.Metric("vitrine_requests_shed_total{model=\"slow\",reason=\"answers\"}"), 1);
  EXPECT_TRUE(Eventually([&] { return running.Metric("vitrine_answer_bytes ") == 0; }));
  EXPECT_TRUE(
      running.Classify(PictureRequest("slow", SlowPicture()), std::make_unique<v1::ClassifyResponse>().get()).ok());
}

struct Goodput {
  double capacity = 0, afterwards = 0;  // requests/s
  absl::Duration time;
  int calls = 0, ok = 0, refused = 0, late = 0;
};

// Five times the capacity, with deadlines that leave room for ten in the queue.
Goodput OverloadFiveTimes(RunningServer& running, const v1::ClassifyRequest& request) {
  Goodput result;
  const double before = result.capacity = Capacity(running, request, absl::Seconds(2));
  EXPECT_GT(before, 0);
  if (before == 0) return result;
  const absl::Duration deadline = std::max(absl::Seconds(10 / before), absl::Milliseconds(100));
  result.time = std::max(absl::Seconds(3), 3 * deadline);
  result.calls = static_cast<int>(5 * before * absl::ToDoubleSeconds(result.time));
  for (const auto& call : OpenLoop(running, request, result.calls, 5 * before, deadline)) {
    switch (call->status.error_code()) {
      case grpc::StatusCode::OK:
        ++result.ok;
        break;
      case grpc::StatusCode::RESOURCE_EXHAUSTED:
        ++result.refused;
        EXPECT_FALSE(call->status.error_details().empty()) << "no RetryInfo";
        break;
      case grpc::StatusCode::DEADLINE_EXCEEDED:
        ++result.late;
        break;
      default:
        ADD_FAILURE() << call->status.error_code() << " " << call->status.error_message();
    }
  }
  result.afterwards = Capacity(running, request, absl::Seconds(1));
  return result;
}

// It goes on doing what it can, and says no to the rest at once.
TEST(Overload, FiveTimesTheCapacityIsRefusedAtOnceAndTheAdmittedMeetTheirDeadlines) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "slow", SlowConfig());
  RunningServer running(folder.path());
  const v1::ClassifyRequest request = PictureRequest("slow", NoiseJpeg(80, 80, 1));
  Goodput seen;
  bool steady = false;
  int slower = 0;
  for (int attempt = 0; attempt < 3 && !steady; ++attempt) {
    seen = OverloadFiveTimes(running, request);
    ASSERT_GT(seen.capacity, 0);
    steady = std::max(seen.capacity, seen.afterwards) < 1.5 * std::min(seen.capacity, seen.afterwards);
    slower += !steady && seen.afterwards < seen.capacity;
  }
  EXPECT_LT(slower, 3) << "that is not the machine: what it can do is gone after an overload";
  EXPECT_TRUE(Eventually([&] { return running.Metric("vitrine_in_flight ") == 0; }));
  const Server::Counts counts = running.server().Drain();
  EXPECT_EQ(counts.accepted, counts.answered);
  if (!steady) GTEST_SKIP() << "this machine is now fast, now slow: no load is five times what it can do";
  // Four fifths cannot be served. Without admission they would be late; here they are refused, and of those admitted
  // few are late, although the machine may do other things meanwhile.
  const std::string ledger =
      absl::StrCat(seen.ok, " answered, ", seen.refused, " refused, ", seen.late, " late of ", seen.calls);
  EXPECT_GT(seen.refused, seen.calls / 2) << ledger;
  EXPECT_LT(seen.late, seen.calls / 10) << ledger;
  // At a steady speed it is more than nine tenths.
  EXPECT_GT(seen.ok, 0.4 * seen.capacity * absl::ToDoubleSeconds(seen.time)) << ledger;
}

}  // namespace
}  // namespace vitrine::testing
