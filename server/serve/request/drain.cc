// SPDX-License-Identifier: Apache-2.0
#include "server/serve/request/drain.h"

#include <algorithm>
#include <utility>

#include "server/observe/log.h"

namespace vitrine {
namespace {

// Interval at which WaitFor checks its condition.
constexpr absl::Duration kStep = absl::Milliseconds(2);
// Draining ends after kQuiet without new requests, or at the latest after kMaxQuietWait.
constexpr absl::Duration kQuiet = absl::Milliseconds(250);
constexpr absl::Duration kMaxQuietWait = absl::Milliseconds(500);

}  // namespace

void Drain::Run(const Ledger& ledger, const std::function<void()>& refuse,
                const std::function<Unanswered()>& unanswered) {
  Log(LogLevel::kInfo, "draining",
      {{"in_flight", int64_t{ledger.in_flight()}}, {"lame_duck", absl::FormatDuration(options_.lame_duck)}});
  WaitFor(options_.lame_duck, absl::ZeroDuration(), [] { return false; });
  refuse();
  const bool all = AwaitAnswers(unanswered);
  AwaitSilence(ledger);
  if (all) AwaitAnswers(unanswered);  // waits for requests that were in transit when the rejection began
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

// Waits for the answers. Gives up on clients that do not read: see kUnreadGrace.
bool Drain::AwaitAnswers(const std::function<Unanswered()>& unanswered) {
  bool all = false;
  // `least_unsent`: number of unsent bytes when clients last made progress. The number of the previous check is not
  // used, because rejections of new requests briefly increase this number.
  int64_t unread = 0, least_unsent = 0;
  absl::Time moved = clock_.Now();
  WaitFor(options_.deadline, kHurriedDeadline, [&] {
    const absl::Time now = clock_.Now();
    const Unanswered left = unanswered();
    const int64_t before = std::exchange(unread, left.answer_bytes);
    if (unread != before || left.computing || left.unsent_bytes < least_unsent) {
      moved = now;
      least_unsent = left.unsent_bytes;
    }
    all = !left.computing && unread == 0;
    if (all) return true;
    if (now - moved < kUnreadGrace) return false;
    Log(LogLevel::kWarning, "answers that clients did not read are dropped", {{"bytes", unread}});
    return true;
  });
  return all;
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
