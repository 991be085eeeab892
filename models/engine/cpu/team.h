// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_TEAM_H_
#define VITRINE_MODELS_ENGINE_CPU_TEAM_H_

#include <atomic>
#include <cstdint>
#include <span>

#include "absl/time/time.h"
#include "models/engine/cpu/frame.h"
#include "models/engine/cpu/plan.h"

namespace vitrine::engine {

// Threads that run the steps of a plan on one frame together. Each thread computes its share of every step
// (Frame::Share). There is a barrier after each step. The results have the same bits as on one thread.
//
// The leader gathers the other threads, runs plans with them and dismisses them. Each thread needs its own core;
// otherwise every step waits for the thread without a core.
class Team {
 public:
  // `recalls` is the number of threads that other work needs. Between two steps, this number of members leaves the
  // team, and `recalls` decreases by one for each of them. The leader never leaves. If `recalls` is null, no member
  // leaves early. `recalls` must outlive the team.
  explicit Team(std::atomic<int64_t>* recalls = nullptr) : recalls_(recalls) {}

  // Adds the calling thread to the team and runs its share of steps. Returns true when the thread is dismissed or
  // recalled. Returns false at once if the team is already gathered.
  bool Join();

  // Waits for `others` threads to join, for at most `patience`, then closes the team. Returns the number of members,
  // including the leader. Only the leader may call Gather.
  int Gather(int others, absl::Duration patience);
  // Runs the plan with one frame per member. The first frame belongs to the leader. The frames differ only in member
  // index and scratch. The plan must have at least one step, and no step may throw.
  void Run(const Plan& plan, std::span<Frame> frames);
  // Makes Join return in every member. Must be the last call of the leader.
  void Dismiss();

  // Returns the number of members. The leader may call this function between runs.
  int members() const { return members_.load(std::memory_order_relaxed); }

 private:
  static constexpr int kGathered = 1 << 16;  // added to joined_ when the team is closed

  bool IsMember(int member) const { return member < members(); }
  void Pass(int member);
  void AwaitOthers();
  // Removes recalled members. Called by the last thread to arrive at the barrier, while all others wait there.
  void LetGo();

  std::atomic<int> joined_ = 0;
  std::atomic<bool> gathered_ = false;
  std::atomic<int64_t>* const recalls_;
  std::atomic<int> members_ = 1;  // changed by one thread while all others wait

  // Plan that the leader runs; null once the team is dismissed. Written while the other members wait at a barrier.
  const Plan* plan_ = nullptr;
  std::span<Frame> frames_;

  std::atomic<int> arrived_ = 0;
  std::atomic<uint32_t> phase_ = 0;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_TEAM_H_
