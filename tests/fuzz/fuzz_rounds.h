// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_FUZZ_FUZZ_ROUNDS_H_
#define VITRINE_TESTS_FUZZ_FUZZ_ROUNDS_H_

#include <sys/epoll.h>

#include <chrono>

#include "common/http/event_loop.h"

namespace vitrine {

// During the object's lifetime, an event loop on this thread never waits. The loop's time is Now(), which advances only
// between rounds, so a run does not depend on the speed of the machine. Only one object may exist per thread.
class FuzzRounds {
 public:
  // Period for EventLoop::Run: Run then calls `tick` after every round.
  static constexpr std::chrono::milliseconds kShortest{1};

  FuzzRounds();
  ~FuzzRounds();
  FuzzRounds(const FuzzRounds&) = delete;
  FuzzRounds& operator=(const FuzzRounds&) = delete;

  // Clock for EventLoop::Make.
  static EventLoop::Time Now();

  // Sets the duration of the next rounds.
  void SetLength(std::chrono::milliseconds length) { length_ = length; }
  // Returns true if the loop had nothing to do in its last round, and would have waited.
  bool was_idle() const { return was_idle_; }

  // Does the work of epoll_wait, for the function that replaces it.
  int Wait(int epoll, epoll_event* events, int most, int timeout);

 private:
  EventLoop::Time now_ = EventLoop::Time(std::chrono::hours(1));
  std::chrono::milliseconds length_ = kShortest;
  bool was_idle_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_FUZZ_FUZZ_ROUNDS_H_
