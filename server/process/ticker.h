// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_TICKER_H_
#define VITRINE_SERVER_PROCESS_TICKER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "absl/time/time.h"
#include "common/mutex.h"

namespace vitrine {

// Calls a function periodically on a separate thread. The first call comes at once. Each later call comes `period` (on
// the steady clock) after the previous call has returned, or earlier because of TickIn. An infinite period means that
// only TickIn causes later calls. The destructor waits for a running call and joins the thread.
class Ticker {
 public:
  Ticker(absl::Duration period, std::function<void()> tick);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // Makes the next call come after `delay` at the latest. Thread-safe; the called function may use TickIn, too.
  void TickIn(absl::Duration delay);

 private:
  void Loop();

  const absl::Duration period_;
  const std::function<void()> tick_;
  Mutex mutex_;
  CondVar changed_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point next_ ABSL_GUARDED_BY(mutex_) =
      std::chrono::steady_clock::time_point::max();  // time of the next call
  std::thread thread_;                               // last member: it uses the members above
};

// Returns a running ticker, or null if the system allows the process no more threads.
std::unique_ptr<Ticker> TryToTick(absl::Duration period, std::function<void()> tick);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_TICKER_H_
