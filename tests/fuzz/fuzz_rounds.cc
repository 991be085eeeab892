// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/fuzz_rounds.h"

#include "tests/fuzz/require.h"

namespace vitrine {
namespace {

thread_local FuzzRounds* current = nullptr;

}  // namespace

FuzzRounds::FuzzRounds() {
  Require(current == nullptr);
  current = this;
}

FuzzRounds::~FuzzRounds() {
  current = nullptr;
}

EventLoop::Time FuzzRounds::Now() {
  return current == nullptr ? EventLoop::Time() : current->now_;
}

int FuzzRounds::Wait(int epoll, epoll_event* events, int most, int timeout) {
  const int count = epoll_pwait(epoll, events, most, 0, nullptr);
  was_idle_ = count <= 0 && timeout > 0;
  now_ += length_;
  return count;
}

}  // namespace vitrine

// Replaces the C library's epoll_wait.
extern "C" int epoll_wait(int epoll, epoll_event* events, int most, int timeout) {
  if (vitrine::current == nullptr) return epoll_pwait(epoll, events, most, timeout, nullptr);
  return vitrine::current->Wait(epoll, events, most, timeout);
}
