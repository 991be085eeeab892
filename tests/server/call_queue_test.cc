// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/call_queue.h"

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <deque>
#include <future>
#include <memory>

namespace vitrine {
namespace {

// Tells how the thread that runs the event is scheduled.
class Scheduled final : public CompletionTag {
 public:
  void Complete(bool) override { policy.set_value(sched_getscheduler(0) & ~SCHED_RESET_ON_FORK); }
  std::promise<int> policy;
};

class CallQueueTest : public testing::Test {
 protected:
  CallQueueTest() : queue_(builder_.AddCompletionQueue(), [this] { return crowded_.load(); }) {
    server_ = builder_.BuildAndStart();
    queue_.Start();
  }

  ~CallQueueTest() override {
    server_->Shutdown();
    queue_.Close();
  }

  int PolicyAtAnEvent() {
    Scheduled& tag = tags_.emplace_back();
    grpc::Alarm alarm;
    queue_.Post([&](grpc::ServerCompletionQueue* of) { alarm.Set(of, gpr_now(GPR_CLOCK_MONOTONIC), &tag); });
    return tag.policy.get_future().get();
  }

  std::atomic<bool> crowded_ = false;
  grpc::ServerBuilder builder_;
  CallQueue queue_;
  std::unique_ptr<grpc::Server> server_;
  std::deque<Scheduled> tags_;  // until the queue's thread is gone
};

// The queue looks after an event whether more comes than can be done, so that the next one tells what it found.
TEST_F(CallQueueTest, InterruptsNobodyWhileMoreComesThanCanBeDone) {
  const int usual = sched_getscheduler(0);
  const int standing_back = usual == SCHED_OTHER ? SCHED_BATCH : usual;  // another was chosen for all of the process
  for (const bool now : {false, true, false}) {
    crowded_ = now;
    PolicyAtAnEvent();
    for (int event = 0; event < 2; ++event) EXPECT_EQ(PolicyAtAnEvent(), now ? standing_back : usual);
  }
}

}  // namespace
}  // namespace vitrine
