// SPDX-License-Identifier: Apache-2.0
// Tests idle executors that are sent to a team, to compute one batch together.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <utility>

#include "models/engine/cpu/frame_memory.h"
#include "server/serve/execution/helpers.h"
#include "tests/server/serve/scheduling/idle_executors.h"

namespace vitrine {
namespace {

class Nothing : public engine::Step {
 public:
  void Run(const engine::Frame&) const override {}
};

InferenceRequest Request() {
  InferenceRequest request;
  request.model = std::make_shared<LoadedModel>();
  request.tokens = 10;
  request.done = [](const absl::StatusOr<v1::ClassifyResponse>&) {};
  return request;
}

TEST(SendToTeam, SendsIdleExecutorsUpToTheNumberRequested) {
  Scheduler scheduler({}, SteadyClock(), /*sweep=*/false);
  IdleExecutors executors(scheduler, 3);
  const auto team = std::make_shared<engine::Team>();
  EXPECT_EQ(scheduler.SendToTeam(team, 2), 2);
  EXPECT_LE(scheduler.idle(), 1) << "an executor that was sent is not idle";
  EXPECT_EQ(team->Gather(2, absl::Minutes(1)), 3);
  executors.AwaitIdle(1);
  const auto other = std::make_shared<engine::Team>();
  EXPECT_EQ(scheduler.SendToTeam(other, 5), 1) << "one idle executor is left";
  EXPECT_EQ(other->Gather(1, absl::Minutes(1)), 2);
  EXPECT_EQ(scheduler.SendToTeam(std::make_shared<engine::Team>(), 5), 0);
  other->Dismiss();
  team->Dismiss();
  executors.AwaitIdle(3);
}

TEST(SendToTeam, RequestsHavePrecedence) {
  Scheduler scheduler({}, SteadyClock(), /*sweep=*/false);
  scheduler.Submit(Request());
  EXPECT_EQ(scheduler.SendToTeam(std::make_shared<engine::Team>(), 1), 0);
  scheduler.NextBatch()->requests.front()->Finish(v1::ClassifyResponse());
}

TEST(SendToTeam, AnExecutorTakesBatchesAfterItLeavesATeam) {
  Scheduler scheduler({}, SteadyClock(), /*sweep=*/false);
  IdleExecutors executors(scheduler, 1);
  engine::Workspace workspace;
  for (bool came = false; !came;) {  // the first attempt succeeds on an idle machine
    executors.AwaitIdle(1);
    const Helpers helpers(workspace, scheduler, 4);
    came = helpers.members() == 2;
    EXPECT_EQ(workspace.team != nullptr, came);
  }
  EXPECT_EQ(workspace.team, nullptr);
  executors.AwaitIdle(1);
  std::atomic<bool> answered = false;
  InferenceRequest request = Request();
  request.done = [&](const absl::StatusOr<v1::ClassifyResponse>& answer) { answered = answer.ok(); };
  scheduler.Submit(std::move(request));
  while (!answered) std::this_thread::yield();
}

TEST(SendToTeam, ARequestWithoutAnIdleExecutorCallsOneHelperBack) {
  Scheduler scheduler({}, SteadyClock(), /*sweep=*/false);
  IdleExecutors executors(scheduler, 2);
  const auto team = std::make_shared<engine::Team>(&scheduler.recalls());
  ASSERT_EQ(scheduler.SendToTeam(team, 2), 2);
  ASSERT_EQ(team->Gather(2, absl::Minutes(1)), 3);
  std::atomic<bool> answered = false;
  InferenceRequest request = Request();
  request.done = [&](const absl::StatusOr<v1::ClassifyResponse>& answer) { answered = answer.ok(); };
  scheduler.Submit(std::move(request));
  engine::FrameMemory memory;
  const engine::Kernels kernels = {};
  const engine::ImagePlanes image = {.data = nullptr, .channels = 1, .height = 1, .width = 1};
  engine::Plan plan;
  plan.steps.push_back(std::make_unique<Nothing>());
  team->Run(plan, memory.Prepare(plan, kernels, {&image, 1}, 0, 3));
  EXPECT_EQ(team->members(), 2) << "one request calls back one helper";
  while (!answered) std::this_thread::yield();
  EXPECT_EQ(scheduler.recalls(), 0);
  team->Dismiss();
}

TEST(SendToTeam, ARequestWithAnIdleExecutorCallsNoHelperBack) {
  Scheduler scheduler({}, SteadyClock(), /*sweep=*/false);
  IdleExecutors executors(scheduler, 2);
  const auto team = std::make_shared<engine::Team>(&scheduler.recalls());
  ASSERT_EQ(scheduler.SendToTeam(team, 1), 1);
  ASSERT_EQ(team->Gather(1, absl::Minutes(1)), 2);
  executors.AwaitIdle(1);
  scheduler.Submit(Request());
  EXPECT_EQ(scheduler.recalls(), 0);
  team->Dismiss();
}

TEST(SendToTeam, TakingTheLastRequestEndsTheRecall) {
  Scheduler scheduler({}, SteadyClock(), /*sweep=*/false);
  scheduler.Submit(Request());
  scheduler.Submit(Request());
  EXPECT_EQ(scheduler.recalls(), 2);
  for (int model = 0; model < 2; ++model) {
    scheduler.NextBatch()->requests.front()->Finish(v1::ClassifyResponse());
  }
  EXPECT_EQ(scheduler.recalls(), 0);
}

int64_t MembersWorth(double milliseconds, int64_t tokens, int64_t largest) {
  return 1 + HelpersWorth(absl::Milliseconds(milliseconds), tokens, largest);
}

TEST(HelpersWorth, FollowsThePredictedTimeOfOneImage) {
  EXPECT_EQ(MembersWorth(0, 197, 197), 1) << "no time is known yet";
  EXPECT_EQ(MembersWorth(0.99, 197, 197), 1);
  EXPECT_EQ(MembersWorth(1, 197, 197), 4);
  EXPECT_EQ(MembersWorth(2.6, 197, 197), 10);
  EXPECT_EQ(MembersWorth(337, 197, 197), 16) << "an image of a ViT-B has work for sixteen cores";
  EXPECT_EQ(MembersWorth(337, 1025, 1025), 85);
  EXPECT_EQ(MembersWorth(337, 23, 23), 1) << "each member needs at least twelve rows";
  EXPECT_EQ(MembersWorth(337, 24, 24), 2);
}

// The engine computes a batch in groups of images. The members of a team wait for each other after each group, so the
// time of one group determines the number of members.
TEST(HelpersWorth, FollowsTheTimeOfABatchGroup) {
  EXPECT_EQ(MembersWorth(8, 1576, 197), 5) << "256 tokens take 1.3 ms";
  EXPECT_EQ(MembersWorth(2, 1576, 197), 1) << "256 tokens take 0.3 ms";
  EXPECT_EQ(MembersWorth(8, 1576, 788), 16) << "the largest image is a group that takes 4 ms";
}

TEST(HelpRecord, HelpThatDidNotPayOffIsNotRetriedSoon) {
  FakeClock clock;
  HelpRecord record(clock);
  EXPECT_TRUE(record.IsWorthwhile());
  record.Note(absl::Milliseconds(90), absl::Milliseconds(100));
  EXPECT_TRUE(record.IsWorthwhile());
  for (const int pause : {100, 200, 400, 800, 1600, 3200, 6400, 12800, 12800}) {
    record.Note(absl::Milliseconds(91), absl::Milliseconds(100));
    clock.Advance(absl::Milliseconds(pause) - absl::Nanoseconds(1));
    EXPECT_FALSE(record.IsWorthwhile()) << pause;
    clock.Advance(absl::Nanoseconds(1));
    EXPECT_TRUE(record.IsWorthwhile()) << pause;
  }
  record.Note(absl::Milliseconds(50), absl::Milliseconds(100));
  record.Note(absl::Milliseconds(100), absl::Milliseconds(100));
  clock.Advance(absl::Milliseconds(100));
  EXPECT_TRUE(record.IsWorthwhile()) << "one success resets the delay";
}

TEST(SendToTeam, AnExecutorWithoutHelpersHasNoTeam) {
  Scheduler scheduler({}, SteadyClock(), /*sweep=*/false);
  engine::Workspace workspace;
  const Helpers none(workspace, scheduler, 4), unwanted(workspace, scheduler, 0);
  EXPECT_EQ(none.members(), 1);
  EXPECT_EQ(unwanted.members(), 1);
  EXPECT_EQ(workspace.team, nullptr);
}

}  // namespace
}  // namespace vitrine
