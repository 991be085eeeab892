// SPDX-License-Identifier: Apache-2.0
// Deadlines, cancellation and overload: expired and cancelled requests are not computed; a full server rejects at once.
#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

constexpr char kComputed[] = "vitrine_batch_images_sum{model=\"slow\"}";
constexpr char kExpired[] = "vitrine_requests_total{model=\"slow\",method=\"Classify\",code=\"DEADLINE_EXCEEDED\"}";
constexpr char kCancelled[] = "vitrine_requests_total{model=\"slow\",method=\"Classify\",code=\"CANCELLED\"}";

// A server whose only executor is busy with a slow image.
class BusyServer : public ::testing::Test {
 protected:
  BusyServer() {
    PublishModel(folder_.path(), "slow", VerySlowConfig());
    ServerOptions options = TestOptions(folder_.path());
    options.executor.threads = 1;
    options.batch.max_batch_images = 1;
    options.admission.max_requests = 4;
    running_.emplace(options);
    before_ = running_->Metric(kComputed);
    busy_ = std::jthread([this] {
      v1::ClassifyResponse response;
      first_ = running_->Classify(PictureRequest("slow", SlowPicture()), &response);
    });
    EXPECT_TRUE(Eventually(
        [&] { return running_->Metric("vitrine_in_flight ") == 1 && running_->Metric("vitrine_queue_depth ") == 0; }));
  }
  ~BusyServer() override { JoinFirst(); }

  void JoinFirst() {
    if (busy_.joinable()) busy_.join();
  }

  ScratchFolder folder_;
  std::optional<RunningServer> running_;
  std::jthread busy_;
  double before_ = 0;  // the picture that the server sends itself
  grpc::Status first_;
};

// A server with one executor, and high-priority clients that admission does not predict yet.
class UrgentCallers : public ::testing::Test {
 protected:
  UrgentCallers() {
    PublishModel(folder_.path(), "slow", SlowConfig());
    ServerOptions options = TestOptions(folder_.path());
    options.executor.threads = 1;
    options.batch.max_batch_images = 1;
    options.batch.patience[kLow] = absl::Hours(1);
    running_.emplace(options);
  }

  void AskUntil(const std::atomic<bool>& stop) {
    v1::ClassifyRequest mine = PictureRequest("slow", SlowPicture());
    mine.set_priority(v1::HIGH);
    do {
      v1::ClassifyResponse response;
      EXPECT_TRUE(running_->Classify(mine, &response).ok());
      ++urgent_;
    } while (!stop);
  }

  // Sends a low-priority request while one high-priority request is computed; from then on another high-priority
  // request is always waiting. Returns the status of the low-priority request.
  grpc::Status AskBehindThem(absl::Duration patience) {
    std::atomic<bool> answered = false, stop = false;
    std::vector<std::jthread> callers;
    const auto add_caller = [&] { callers.emplace_back([&] { AskUntil(stop); }); };
    add_caller();
    EXPECT_TRUE(Eventually([&] { return running_->Metric("vitrine_in_flight ") == 1; }));
    grpc::Status status;
    std::jthread late([&] {
      v1::ClassifyRequest request = PictureRequest("slow", SlowPicture());
      request.set_priority(v1::LOW);
      v1::ClassifyResponse response;
      status = running_->Classify(request, &response, patience);
      answered = true;
    });
    EXPECT_TRUE(Eventually([&] { return running_->Metric("vitrine_queue_depth ") == 1 || answered; }));
    for (int i = 0; i < 3; ++i) add_caller();
    late.join();
    stop = true;
    callers.clear();
    return status;
  }

  const ScratchFolder folder_;
  std::optional<RunningServer> running_;
  std::atomic<int> urgent_ = 0;
};

TEST_F(UrgentCallers, WhatExpiresInTheQueueIsNeverComputed) {
  v1::ClassifyResponse alone;
  ASSERT_TRUE(running_->Classify(PictureRequest("slow", SlowPicture()), &alone).ok());
  const absl::Duration one = absl::Seconds(alone.timings().total());
  const double before = running_->Metric(kComputed);  // with the picture that the server sends itself
  grpc::Status status;
  int in_time = 0;
  for (int tries = 0; tries < 5; ++tries) {
    // Admission rejects the request if the machine has become slower meanwhile. The request is answered in time if the
    // first high-priority request ends before the others arrive. Either way: try again.
    status = AskBehindThem(std::max(12 * one, absl::Seconds(1)) * (1 << tries));
    in_time += status.ok() ? 1 : 0;
    if (!status.ok() && status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED) break;
    absl::SleepFor(absl::Seconds(3));  // in which admission forgets how many urgent ones there were
  }
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << status.error_message();
  // The client's own clock may end the call a moment before the server's, which the server reads as a cancellation.
  EXPECT_TRUE(Eventually([&] { return running_->Metric(kExpired) + running_->Metric(kCancelled) == 1; }));
  EXPECT_EQ(running_->Metric(kComputed), before + urgent_ + in_time) << "the late one was computed";
}

TEST_F(BusyServer, ACancelledCallFreesItsSlotBeforeCompute) {
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 3; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    callers.emplace_back([&, context = contexts.back().get()] {
      v1::ClassifyResponse response;
      EXPECT_EQ(running_->classifier().Classify(context, PictureRequest("slow", SlowPicture()), &response).error_code(),
                grpc::StatusCode::CANCELLED);
    });
  }
  ASSERT_TRUE(Eventually([&] { return running_->Metric("vitrine_queue_depth ") == 3; }));
  for (const auto& context : contexts) context->TryCancel();
  for (std::jthread& caller : callers) caller.join();
  EXPECT_TRUE(Eventually([&] { return running_->Metric("vitrine_queue_depth ") == 0; }));
  JoinFirst();
  EXPECT_TRUE(first_.ok()) << first_.error_message();
  EXPECT_EQ(running_->Metric(kCancelled), 3);
  EXPECT_EQ(running_->Metric(kComputed), before_ + 1) << "a cancelled picture was computed";
}

TEST_F(BusyServer, AFullServerRefusesAtOnceAndSaysWhenToComeBack) {
  std::vector<std::jthread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      v1::ClassifyResponse response;
      const grpc::Status status = running_->Classify(PictureRequest("slow", SlowPicture()), &response);
      EXPECT_TRUE(status.ok()) << status.error_message();
    });
  }
  ASSERT_TRUE(Eventually([&] { return running_->Metric("vitrine_queue_depth ") == 3; }));
  v1::ClassifyResponse response;
  const grpc::Status status = running_->Classify(PictureRequest("slow", SlowPicture()), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_FALSE(status.error_message().empty());
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details())) << "grpc-status-details-bin is missing";
  ASSERT_EQ(details.details_size(), 1);
  google::rpc::RetryInfo retry;
  ASSERT_TRUE(details.details(0).UnpackTo(&retry));
  EXPECT_GT(retry.retry_delay().seconds() + retry.retry_delay().nanos(), 0);
  EXPECT_EQ(details.code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(running_->Classify(PictureRequest("slow", "no picture"), &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED)
      << "the picture was looked at though nothing could come of it";
  for (std::jthread& caller : callers) caller.join();
}

}  // namespace
}  // namespace vitrine::testing
