// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_LINE_LIMIT_H_
#define VITRINE_SERVER_OBSERVE_LINE_LIMIT_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/process/clock.h"

namespace vitrine {

// Limits the rate of log lines that any client can cause. Thread-safe.
class LineLimit {
 public:
  // `clock` must outlive the limit.
  LineLimit(int lines_per_second, const Clock& clock) : limit_(lines_per_second), clock_(clock) {}

  // Returns the number of lines suppressed since the last admitted line; nullopt if this line must be suppressed.
  std::optional<int64_t> Admit() {
    MutexLock lock(mutex_);
    const absl::Time now = clock_.Now();
    if (now - second_ >= absl::Seconds(1)) {
      second_ = now;
      lines_ = 0;
    }
    if (++lines_ <= limit_) return std::exchange(left_out_, 0);
    ++left_out_;
    return std::nullopt;
  }

 private:
  const int limit_;
  const Clock& clock_;
  Mutex mutex_;
  absl::Time second_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  int lines_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_LINE_LIMIT_H_
