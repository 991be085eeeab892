// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu/team.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "common/simd/float_mode.h"

namespace vitrine::engine {
namespace {

// Number of times SpinUntil tests its condition before it yields the core.
constexpr int kLooks = 2000;

template <typename Condition>
void SpinUntil(Condition condition) {
  for (int looks = 0; !condition();) {
    if (looks < kLooks) {
      ++looks;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      asm volatile("isb");  // waits some tens of cycles; `yield` does nothing on most CPUs
#endif
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace

bool Team::Join() {
  const int member = 1 + joined_.fetch_add(1, std::memory_order_acq_rel);
  if (member > kGathered) return false;
  SpinUntil([&] { return gathered_.load(std::memory_order_acquire); });
  const cpu::FloatMode mode;
  for (;;) {
    AwaitOthers();  // waits until the leader has a plan to run
    if (!IsMember(member) || plan_ == nullptr) return true;
    Pass(member);
    if (!IsMember(member)) return true;
  }
}

int Team::Gather(int others, absl::Duration patience) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + absl::ToChronoNanoseconds(patience);
  while (joined_.load(std::memory_order_acquire) < others && Clock::now() < end) std::this_thread::yield();
  const int members = 1 + joined_.fetch_add(kGathered, std::memory_order_acq_rel);
  members_.store(members, std::memory_order_relaxed);
  gathered_.store(true, std::memory_order_release);
  return members;
}

void Team::Run(const Plan& plan, std::span<Frame> frames) {
  plan_ = &plan;
  frames_ = frames;
  AwaitOthers();
  Pass(0);
}

void Team::Dismiss() {
  plan_ = nullptr;
  AwaitOthers();
}

void Team::Pass(int member) {
  Frame& frame = frames_[static_cast<size_t>(member)];
  for (const auto& step : plan_->steps) {
    frame.ShareWithin(members());
    step->Run(frame);
    AwaitOthers();
    if (!IsMember(member)) return;
  }
}

void Team::AwaitOthers() {
  // Reads phase_ and the number of members before this thread counts as arrived, because the last thread to arrive
  // changes both values.
  const uint32_t phase = phase_.load(std::memory_order_relaxed);
  const int members = this->members();
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members) {
    LetGo();
    arrived_.store(0, std::memory_order_relaxed);
    phase_.store(phase + 1, std::memory_order_release);
    return;
  }
  SpinUntil([&] { return phase_.load(std::memory_order_acquire) != phase; });
}

void Team::LetGo() {
  const int members = this->members();
  if (recalls_ == nullptr || members == 1) return;
  int64_t wanted = recalls_->load(std::memory_order_relaxed);
  int64_t leaving = 0;
  do {  // other teams decrement *recalls_ concurrently
    leaving = std::clamp<int64_t>(wanted, 0, members - 1);
    if (leaving == 0) return;
  } while (!recalls_->compare_exchange_weak(wanted, wanted - leaving, std::memory_order_relaxed));
  members_.store(members - static_cast<int>(leaving), std::memory_order_relaxed);
}

}  // namespace vitrine::engine
