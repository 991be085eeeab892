// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PAGES_KEPT_TEXT_H_
#define VITRINE_SERVER_PAGES_KEPT_TEXT_H_

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/process/clock.h"

namespace vitrine {

// Caches a text that is costly to make, with a rate limit: rare readers get a fresh text; on average at most one is
// made per period, and more frequent readers get the last one. One thread makes it, the others wait. Thread-safe.
class RateLimitedText {
 public:
  // `clock` must outlive it. Get calls `make` on its thread; `make` must not call Get.
  RateLimitedText(const Clock& clock, absl::Duration period, std::function<std::string()> make)
      : clock_(clock), period_(period), make_(std::move(make)) {}

  std::string Get() {
    const absl::Time now = clock_.Now();
    MutexLock lock(mutex_);
    if (due_ > now + (kAtOnce - 1) * period_) return text_;
    text_ = make_();
    due_ = std::max(due_, now) + period_;
    return text_;
  }

 private:
  // Burst of fresh texts after a quiet period, so that a reader before and after an event sees the difference.
  static constexpr int kAtOnce = 8;

  const Clock& clock_;
  const absl::Duration period_;
  const std::function<std::string()> make_;

  Mutex mutex_;
  std::string text_ ABSL_GUARDED_BY(mutex_);
  // Time at which all texts made so far would have been due at one per period.
  absl::Time due_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_PAGES_KEPT_TEXT_H_
