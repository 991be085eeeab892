// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_TEAM_H_
#define VITRINE_ENGINE_CPU_TEAM_H_

#include <atomic>
#include <cstdint>
#include <exception>
#include <span>

#include "absl/time/time.h"
#include "engine/cpu/frame.h"
#include "engine/cpu/plan.h"

namespace vitrine::engine {

// Threads that pass one frame through the steps of a plan together: each does its share of every step (Frame::Share),
// and none begins the next before all have done the last. What they make are the bits that one would make alone.
//
// One thread leads: it gathers the others, runs plans with them and dismisses them. They are on cores of their own, or
// each step waits for whoever is without one.
class Team {
 public:
  // `recalls` says how many are wanted elsewhere: between two steps as many members leave, never the leader, and are
  // taken off it. Null: all stay. It outlives the team.
  explicit Team(std::atomic<int64_t>* recalls = nullptr) : recalls_(recalls) {}

  // Another thread takes part until it is dismissed or recalled. False: the team had been gathered without it.
  bool Join();

  // The leader waits so long for so many others and returns how many members there are now, itself included. Nobody
  // joins from then on.
  int Gather(int others, absl::Duration patience);
  // One frame for each member, the leader's first, which differ in member and scratch alone. Throws what a step threw.
  // A plan has at least one step.
  void Run(const Plan& plan, std::span<Frame> frames);
  // Ends every member's Join. Nothing else may follow.
  void Dismiss();

  // The leader's to ask, between runs.
  int members() const { return members_.load(std::memory_order_relaxed); }

 private:
  static constexpr int kGathered = 1 << 16;  // added to joined_: the door is closed

  bool IsMember(int member) const { return member < members(); }
  void Pass(int member);
  void AwaitOthers();
  // The last to arrive: nobody else looks at anything meanwhile.
  void LetGo();

  std::atomic<int> joined_ = 0;
  std::atomic<bool> gathered_ = false;
  std::atomic<int64_t>* const recalls_;
  std::atomic<int> members_ = 1;  // changed by one thread while all the others wait

  // What is run, from the leader; null where the team is dismissed. Written between the barriers.
  const Plan* plan_ = nullptr;
  std::span<Frame> frames_;

  std::atomic<int> arrived_ = 0;
  std::atomic<uint32_t> phase_ = 0;
  std::atomic<bool> failed_ = false;
  std::exception_ptr failure_;  // of whoever set failed_
};

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_TEAM_H_
