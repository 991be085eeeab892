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

// Caches a text that is costly to make. On average at most one text per period is made: occasional readers get a fresh
// text, and frequent readers get the last text. While one thread makes the text, other threads that need it wait.
// Thread-safe.
class RateLimitedText {
 public:
  // `clock` must outlive the object. Get calls `make` on the thread that called Get; `make` must not call Get.
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
  // Maximum number of fresh texts in a burst after a quiet period. It is above 1, so that a reader can get one text
  // before an event and another text after it.
  static constexpr int kAtOnce = 8;

  const Clock& clock_;
  const absl::Duration period_;
  const std::function<std::string()> make_;

  Mutex mutex_;
  std::string text_ ABSL_GUARDED_BY(mutex_);
  // Earliest time for the next text if at most one text were made per period. A fresh text sets this time to one period
  // after the present or after the previous value, whichever is later.
  absl::Time due_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_PAGES_KEPT_TEXT_H_
