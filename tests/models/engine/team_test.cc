// SPDX-License-Identifier: Apache-2.0
// Tests teams of threads. company.cc checks that a team computes the same bits as one thread.
#include "models/engine/cpu/team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "models/engine/cpu/frame_memory.h"
#include "tests/models/engine/gathered.h"

namespace vitrine::engine {
namespace {

class Does : public Step {
 public:
  explicit Does(std::function<void(const Frame&)> what) : what_(std::move(what)) {}
  void Run(const Frame& frame) const override { what_(frame); }

 private:
  const std::function<void(const Frame&)> what_;
};

// A fixture with a plan whose steps call the given functions and use no buffers. Each member gets a Frame for one
// image.
class TeamTest : public ::testing::Test {
 protected:
  void Then(std::function<void(const Frame&)> what) { plan_.steps.push_back(std::make_unique<Does>(std::move(what))); }
  std::span<Frame> Frames(int members) { return memory_.Prepare(plan_, kernels_, {&image_, 1}, 0, members); }

  Plan plan_;
  const Kernels kernels_ = {};
  const ImagePlanes image_ = {.data = nullptr, .channels = 1, .height = 1, .width = 1};
  FrameMemory memory_;
};

TEST_F(TeamTest, SharesAreAdjacentAndCoverAllItems) {
  for (const int members : {1, 2, 3, 7}) {
    for (const int64_t items : {0, 1, 6, 197}) {
      int64_t next = 0;
      for (const Frame& frame : Frames(members)) {
        const Segment share = frame.Share(items);
        EXPECT_EQ(share.first, next);
        EXPECT_LE(share.count, items / members + 1) << "nobody does more than one more than the others";
        next += share.count;
      }
      EXPECT_EQ(next, items);
    }
  }
}

TEST_F(TeamTest, MembersRunEveryStepTogether) {
  constexpr int kMembers = 3, kSteps = 20;
  std::atomic<int> done[kSteps] = {};
  std::atomic<bool> ahead = false;
  for (int step = 0; step < kSteps; ++step) {
    Then([&, step](const Frame&) {
      if (step > 0 && done[step - 1] % kMembers != 0) ahead = true;
      ++done[step];
    });
  }
  testing::Gathered gathered(kMembers);
  for (int pass = 0; pass < 50; ++pass) gathered.team().Run(plan_, Frames(kMembers));
  for (const std::atomic<int>& count : done) EXPECT_EQ(count, 50 * kMembers);
  EXPECT_FALSE(ahead);
}

TEST_F(TeamTest, FramesHaveTheirOwnMemberAndScratch) {
  std::set<const float*> scratch;
  int leaders = 0;
  for (const Frame& frame : Frames(4)) {
    scratch.insert(frame.scratch());
    leaders += frame.Leads();
    EXPECT_EQ(frame.members(), 4);
    EXPECT_EQ(frame.inputs().data(), &image_);
  }
  EXPECT_EQ(leaders, 1);
}

// Each member would need so much scratch memory that two members exceed the limit of the team.
TEST_F(TeamTest, MembersWithoutScratchMemoryGetNoShare) {
  class Wants : public Step {
   public:
    void Run(const Frame&) const override {}
    int64_t Scratch(const Frame&) const override { return int64_t{10} << 20; }
  };
  plan_.steps.push_back(std::make_unique<Wants>());
  const std::span<Frame> frames = Frames(3);
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0].Share(197).count, 197);
  EXPECT_NE(frames[0].scratch(), nullptr);
  for (const int idle : {1, 2}) {
    EXPECT_EQ(frames[static_cast<size_t>(idle)].Share(197).count, 0);
    EXPECT_FALSE(frames[static_cast<size_t>(idle)].Leads());
  }
}

// When recalled members leave, the remaining members take over their shares from the next step on.
TEST_F(TeamTest, RecalledMembersLeaveBetweenTwoSteps) {
  constexpr int kMembers = 4, kItems = 100;
  std::atomic<int64_t> recalls = 0;
  std::atomic<int64_t> done[4] = {};
  std::atomic<int> present[4] = {};
  for (int step = 0; step < 4; ++step) {
    Then([&, step](const Frame& frame) {
      done[step] += frame.Share(kItems).count;
      ++present[step];
      if (frame.Leads() && step == 0) recalls = 1;
      if (frame.Leads() && step == 2) recalls = 9;
    });
  }
  testing::Gathered gathered(kMembers, &recalls);
  gathered.team().Run(plan_, Frames(kMembers));
  for (const std::atomic<int64_t>& items : done) EXPECT_EQ(items, kItems) << "each is done once, whoever left";
  EXPECT_EQ(present[0], 4);
  EXPECT_EQ(present[1], 3);
  EXPECT_EQ(present[2], 3);
  EXPECT_EQ(present[3], 1) << "the leader stays";
  EXPECT_EQ(recalls, 7) << "two left";
  EXPECT_EQ(gathered.team().members(), 1);
  gathered.team().Run(plan_, Frames(1));
  EXPECT_EQ(present[3], 2);
}

TEST_F(TeamTest, MembersRecalledBetweenTwoPlansLeave) {
  std::atomic<int64_t> recalls = 0;
  std::atomic<int> runs = 0;
  Then([&](const Frame& frame) {
    ++runs;
    EXPECT_EQ(frame.members(), 1);
  });
  testing::Gathered gathered(3, &recalls);
  recalls = 2;
  gathered.team().Run(plan_, Frames(3));
  EXPECT_EQ(runs, 1);
}

TEST_F(TeamTest, TheTeamDoesNotWaitForLateMembers) {
  Team team;
  EXPECT_EQ(team.Gather(3, absl::Milliseconds(1)), 1);
  EXPECT_FALSE(team.Join());
  std::atomic<int> runs = 0;
  Then([&](const Frame&) { ++runs; });
  team.Run(plan_, Frames(1));
  EXPECT_EQ(runs, 1);
  team.Dismiss();
}

}  // namespace
}  // namespace vitrine::engine
