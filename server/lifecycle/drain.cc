// SPDX-License-Identifier: Apache-2.0
#include "server/lifecycle/drain.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace vitrine {
namespace {

// How often the condition is looked at.
constexpr absl::Duration kStep = absl::Milliseconds(2);
// Draining ends when nothing new came for this long; it waits for such silence no longer than the second duration.
constexpr absl::Duration kQuiet = absl::Milliseconds(250);
constexpr absl::Duration kMaxQuietWait = absl::Seconds(2);

}  // namespace

void Drain::Run(const Ledger& ledger, const std::function<void()>& refuse, const std::function<bool()>& computing) {
  spdlog::info("draining in_flight={} lame_duck={}", ledger.in_flight(), absl::FormatDuration(options_.lame_duck));
  WaitFor(options_.lame_duck, absl::ZeroDuration(), [] { return false; });
  refuse();
  AwaitAnswers(ledger, computing);
  AwaitSilence(ledger);
}

void Drain::Hurry() {
  MutexLock lock(mutex_);
  hurried_ = true;
  changed_.NotifyAll();
}

void Drain::WaitFor(absl::Duration longest, absl::Duration hurried, const std::function<bool()>& done) {
  const absl::Time start = clock_.Now();
  while (!done()) {
    MutexLock lock(mutex_);
    if (clock_.Now() - start >= (hurried_ ? std::min(hurried, longest) : longest)) return;
    changed_.WaitFor(mutex_, kStep);
  }
}

// A client that does not read cannot hold this up: see kUnreadGrace.
void Drain::AwaitAnswers(const Ledger& ledger, const std::function<bool()>& computing) {
  int64_t taken = ledger.answered();
  absl::Time moved = clock_.Now();
  WaitFor(options_.deadline, kHurriedDeadline, [&] {
    const absl::Time now = clock_.Now();
    const int64_t before = std::exchange(taken, ledger.answered());
    if (taken != before || computing()) moved = now;
    if (ledger.in_flight() == 0) return true;
    if (now - moved < kUnreadGrace) return false;
    spdlog::warn("draining: {} answers are not read by their clients and are given up", ledger.in_flight());
    return true;
  });
}

void Drain::AwaitSilence(const Ledger& ledger) {
  int64_t seen = ledger.accepted();
  absl::Time quiet_since = clock_.Now();
  WaitFor(kMaxQuietWait, absl::ZeroDuration(), [&] {
    const absl::Time now = clock_.Now();
    const int64_t before = std::exchange(seen, ledger.accepted());
    if (seen != before) quiet_since = now;
    return now - quiet_since >= kQuiet;
  });
}

}  // namespace vitrine
