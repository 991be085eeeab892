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
#include "common/mutex.h"
#include "server/observe/metrics.h"
#include "server/process/clock.h"
#include "server/process/ticker.h"
#include "server/registry/device.h"
#include "server/serve/execution/execute_batch.h"
#include "server/serve/scheduling/scheduler.h"

namespace vitrine {

// Returns the default number of executors. On a CPU the default is one executor per core. For a CUDA device it is two
// executors per core: while one executor waits for the device, the other executor decodes images for the next batch.
int DefaultExecutors(const Device& device, int cores);

struct ExecutorOptions {
  Device device;
  // Number of executor threads; 0: DefaultExecutors for the number of `cores`. On a CPU, each executor computes its own
  // batches. For a CUDA device, each executor decodes images and adds them to a batch that it shares with other
  // executors.
  int threads = 0;
  // Cores to run on; empty: all cores that this process may use.
  std::vector<int> cores = {};
  // Pins each thread to one of `cores` (CPU device only). Use it only for cores without other load.
  bool pin = false;
  // Maximum number of executors that compute one batch together, if enough of them are idle; 0: all executors.
  int lane_width = 0;
  // Logs a line per batch (images, tokens and grids) at level info instead of debug.
  bool log_batches = false;

  absl::Status Validate() const;  // an error names the flag or field, the value and the allowed range
  int ThreadCount() const;        // resolved value of `threads`; at least 1
  // Returns the number of threads for slow images. On a CPU it is one per executor. For a CUDA device it is zero,
  // because executors decode images while other executors wait for the device.
  int SlowThreadCount() const;
};

// The threads that decode and compute. Each thread takes a batch from the scheduler, decodes its images, runs the model
// and answers every request. A damaged image or a logit that is not finite fails only its own request. If a thread
// throws an exception, the requests of its batch get INTERNAL, the details are only logged, and the thread continues.
// On a CPU, separate threads of lower priority (kSlowNiceness) run slow requests (WaitingRequest::is_slow), so that
// quick requests do not wait for slow requests.
class ExecutorPool {
 public:
  // Called periodically with the run time of the longest running batch, or zero if every thread waits. The run time
  // does not include time in which the whole process was stopped (SIGSTOP, a frozen control group).
  using Watchdog = std::function<void(absl::Duration longest)>;
  static constexpr absl::Duration kWatchPeriod = absl::Milliseconds(100);
  // If a call of the watchdog is late by this time or more, the pool concludes that the process was stopped.
  static constexpr absl::Duration kLongestLook = absl::Seconds(1);
  // Niceness of the threads for slow images, relative to the niceness of the executors. Such a thread gets a quarter of
  // a core that it shares with a busy executor.
  static constexpr int kSlowNiceness = 5;

  // Starts the threads. `scheduler` and `clock` must outlive the pool. `watchdog` is called every kWatchPeriod on a
  // separate thread until the executors have ended; may be null. The constructor throws std::system_error if a thread
  // cannot be started; in this case it has stopped the scheduler.
  ExecutorPool(const ExecutorOptions& options, Scheduler& scheduler, Responder responder, const Clock& clock,
               Watchdog watchdog = nullptr);
  // Joins the threads. The scheduler must be stopped first; otherwise the destructor waits forever.
  ~ExecutorPool();
  ExecutorPool(const ExecutorPool&) = delete;
  ExecutorPool& operator=(const ExecutorPool&) = delete;

  int threads() const { return static_cast<int>(places_.size()); }
  // Returns the state of each executor together with its thread for slow images. `busy` is the time in which at least
  // one of the two threads worked. `batch_age` is the age of the older batch of the two threads. Thread-safe; takes
  // only short locks.
  std::vector<ExecutorStatus> Status() const;

 private:
  // A thread and the state of its batch. The mutex of the thread's Place guards the state.
  struct Worker {
    std::thread thread;
    std::optional<absl::Time> busy_since = {};  // start of the current work (a batch, or help with one); unset if idle
    absl::Duration paused = {};                 // time since `busy_since` in which the process was stopped
  };
  // One executor, and its thread for slow images if it has one.
  struct Place {
    Worker executor, slow;  // only the constructor and Join use their threads
    mutable Mutex mutex;
    int at_work ABSL_GUARDED_BY(mutex) = 0;        // number of workers that compute a batch or help with one
    absl::Time busy_since ABSL_GUARDED_BY(mutex);  // time since which at_work has been above 0
    absl::Duration busy ABSL_GUARDED_BY(mutex);    // total of the ended periods with at_work above 0
    uint64_t batches ABSL_GUARDED_BY(mutex) = 0;   // number of started batches

    ExecutorStatus Status(const Clock& clock) const;
  };
  class Busy;
  void Join();  // the scheduler must be stopped
  void Run(int index, int core);
  void RunSlow(int index, int core);
  // Sets the name and affinity of the calling thread.
  void Settle(const char* name, int index, int core) const;
  absl::Duration LongestRunning() const;
  // Called every kWatchPeriod. If a call is so late that the process must have been stopped, adds the delay beyond
  // kWatchPeriod to the field `paused` of each worker.
  void NotePause();

  const ExecutorOptions options_;
  Scheduler& scheduler_;
  const Responder responder_;
  const Clock& clock_;
  HelpRecord help_{clock_};
  std::vector<std::unique_ptr<Place>> places_;
  absl::Time last_look_ = absl::InfiniteFuture();  // on the steady clock; used only by the thread of `watch_`
  std::optional<Ticker> watch_;                    // last member: its thread uses `places_`
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_EXECUTION_EXECUTOR_H_
