// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_EXECUTION_EXECUTOR_H_
#define VITRINE_SERVER_SERVE_EXECUTION_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/models/registry/device.h"
#include "server/observe/metrics.h"
#include "server/process/clock.h"
#include "server/process/ticker.h"
#include "server/serve/execution/execute_batch.h"
#include "server/serve/execution/seat.h"
#include "server/serve/scheduling/scheduler.h"

namespace vitrine {

// Threads that feed a CUDA device unless the options say how many: more answer little more, and cuDNN prepares the
// convolutions of each of them anew.
inline constexpr int kDeviceExecutors = 8;

struct ExecutorOptions {
  Device device;
  // Threads; 0 takes one for every core this process may use. On a CPU each computes on its core. On a CUDA device each
  // decodes on its core and gives its batch to the device, which runs one after the other.
  int threads = 0;
  // Cores to run on; empty takes those that this process may use.
  std::vector<int> cores = {};
  // Pin each thread to one of these cores. Only where nobody else runs on them: a pinned thread cannot step aside.
  bool pin = false;
  // Most threads that compute one batch together, while the others wait for work; 0: all of them.
  int lane_width = 0;
  // A line for each batch at level info instead of debug: images, tokens and grids.
  bool log_batches = false;

  absl::Status Validate() const;  // names the field, the value and the allowed range
  int ThreadCount() const;        // what `threads` comes to; at least 1
  // Threads that take what is quick while those are at slow pictures: as many on the CPU, none on a CUDA device.
  int StandInCount() const;
};

// The threads that decode and compute. Each takes a batch from the scheduler, decodes its pictures, runs the model once
// and answers every request. A damaged picture fails its own request; an exception or a broken logit fails its batch
// with INTERNAL and a fixed text, the details go to the log, and the thread lives on. While one is at a slow picture
// its stand-in takes what is quick, see Seat.
class ExecutorPool {
 public:
  // Hears again and again for how long the longest running batch has been at it; zero if every thread waits. Time in
  // which the whole process did not run (SIGSTOP, a frozen control group) does not count.
  using Watchdog = std::function<void(absl::Duration longest)>;
  static constexpr absl::Duration kWatchPeriod = absl::Milliseconds(100);
  // A look that comes later than this after the last one says that the process did not run meanwhile.
  static constexpr absl::Duration kLongestLook = absl::Seconds(1);

  // Starts the threads. `scheduler` and `clock` outlive the pool. `watchdog` has a thread of its own and is called
  // every kWatchPeriod until the threads have ended; null watches nothing.
  ExecutorPool(const ExecutorOptions& options, Scheduler& scheduler, Responder responder, const Clock& clock,
               Watchdog watchdog = nullptr);
  // Joins. Requires that the scheduler was stopped, or it waits forever.
  ~ExecutorPool();
  ExecutorPool(const ExecutorPool&) = delete;
  ExecutorPool& operator=(const ExecutorPool&) = delete;

  int threads() const { return static_cast<int>(places_.size()); }
  // Each executor as it stands, its stand-in's batches with it. Any thread; never blocks beyond a short lock.
  std::vector<ExecutorStatus> Status() const;

 private:
  // A thread, and what it tells of itself.
  struct Worker {
    std::thread thread;
    mutable Mutex mutex;
    std::optional<absl::Time> busy_since ABSL_GUARDED_BY(mutex);  // nothing while it waits
    absl::Duration paused ABSL_GUARDED_BY(mutex);                 // since then: the process did not run
    absl::Duration busy ABSL_GUARDED_BY(mutex);                   // with what has ended
    uint64_t batches ABSL_GUARDED_BY(mutex) = 0;                  // begun

    ExecutorStatus Status(const Clock& clock) const;
  };
  // One executor and its stand-in, if it has one.
  struct Place {
    explicit Place(const Clock& clock) : seat(clock) {}
    Worker executor;
    Worker stand_in;
    Seat seat;
  };
  class Busy;
  void Run(int index, int core);
  void StandIn(int index, int core);
  // What a thread begins with.
  void Settle(const char* name, int index, int core) const;
  absl::Duration LongestRunning() const;
  // Notes how long the process did not run since the last call, one period after which this one should have come.
  void NotePause();

  const ExecutorOptions options_;
  Scheduler& scheduler_;
  const Responder responder_;
  const Clock& clock_;
  HelpRecord help_{clock_};
  std::vector<std::unique_ptr<Place>> places_;
  absl::Time last_look_ = absl::InfiniteFuture();  // of the steady clock; touched by the thread of `watch_` alone
  std::optional<Ticker> watch_;                    // last: it looks at the places
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_EXECUTION_EXECUTOR_H_
