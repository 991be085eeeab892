// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PAGES_KEPT_TEXT_H_
#define VITRINE_SERVER_PAGES_KEPT_TEXT_H_

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/process/clock.h"

namespace vitrine {

// A text that takes time to make, for readers who may ask for it more often than anybody should. It is made anew for
// whoever asks now and then, and on the average not more often than once in a period: those who ask faster are given
// the last one. One thread at a time makes it, the others wait for that. Thread-safe.
class KeptText {
 public:
  // `clock` outlives it. `make` is called by whoever asks, and does not ask itself.
  KeptText(const Clock& clock, absl::Duration period, std::function<std::string()> make)
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
  // Texts that may be made at once after a quiet time: whoever looks before and after something sees the difference.
  static constexpr int kAtOnce = 8;

  const Clock& clock_;
  const absl::Duration period_;
  const std::function<std::string()> make_;

  Mutex mutex_;
  std::string text_ ABSL_GUARDED_BY(mutex_);
  // When every text made so far would have been due, had they been made one a period.
  absl::Time due_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_PAGES_KEPT_TEXT_H_
