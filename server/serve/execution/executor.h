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

// Returns the default number of executors for a number of cores: one per core; for a CUDA device, two per core. While
// one of the two waits for its images to be computed, the other decodes images for the next batch on the same core.
int DefaultExecutors(const Device& device, int cores);

struct ExecutorOptions {
  Device device;
  // Number of executor threads; 0: DefaultExecutors for the number of `cores`. On a CPU, each computes its own batches.
  // For a CUDA device, each decodes images and adds them to a batch that it shares with other executors.
  int threads = 0;
  // Cores to run on; empty: all cores that this process may use.
  std::vector<int> cores = {};
  // Pins each thread to one of these cores (CPU device only). Use it only for cores without other load.
  bool pin = false;
  // Maximum number of threads that compute one batch together while the others are idle; 0: all threads.
  int lane_width = 0;
  // Logs a line per batch (images, tokens and grids) at level info instead of debug.
  bool log_batches = false;

  absl::Status Validate() const;  // an error names the flag or field, the value and the allowed range
  int ThreadCount() const;        // resolved value of `threads`; at least 1
  // Returns the number of threads for slow images: one per executor on a CPU. None for a CUDA device, whose executors
  // decode while others wait for it.
  int SlowThreadCount() const;
};

// The threads that decode and compute. Each takes a batch from the scheduler, decodes its images, runs the model and
// answers every request. A damaged image or a logit that is not finite fails only its own request. An exception fails
// its batch with INTERNAL and a fixed text; the details are logged, and the thread continues. On a CPU, slow images
// have threads of their own, of lower priority (kSlowNiceness), so that quick requests do not wait for them.
class ExecutorPool {
 public:
  // Called periodically with the run time of the longest running batch, or zero if every thread waits. Time in which
  // the whole process was stopped (SIGSTOP, a frozen control group) does not count.
  using Watchdog = std::function<void(absl::Duration longest)>;
  static constexpr absl::Duration kWatchPeriod = absl::Milliseconds(100);
  // If two watchdog calls are further apart, the process is assumed to have been stopped.
  static constexpr absl::Duration kLongestLook = absl::Seconds(1);
  // Niceness of the threads for slow images, relative to the executors': beside one busy executor, one such thread gets
  // a quarter of the core that they share.
  static constexpr int kSlowNiceness = 5;

  // Starts the threads. `scheduler` and `clock` must outlive the pool. `watchdog` is called every kWatchPeriod on a
  // separate thread until the executors have ended; may be null. Throws std::system_error if a thread cannot be
  // started; the scheduler is stopped then.
  ExecutorPool(const ExecutorOptions& options, Scheduler& scheduler, Responder responder, const Clock& clock,
               Watchdog watchdog = nullptr);
  // Joins the threads. The scheduler must be stopped first; otherwise the destructor waits forever.
  ~ExecutorPool();
  ExecutorPool(const ExecutorPool&) = delete;
  ExecutorPool& operator=(const ExecutorPool&) = delete;

  int threads() const { return static_cast<int>(places_.size()); }
  // Returns the state of each executor together with its thread for slow images: `busy` is the time in which at least
  // one of the two worked, `batch_age` the age of the older batch. Thread-safe; takes only short locks.
  std::vector<ExecutorStatus> Status() const;

 private:
  // A thread and its batch; guarded by its Place's mutex.
  struct Worker {
    std::thread thread;
    std::optional<absl::Time> busy_since = {};  // start of the running batch; unset while the thread waits
    absl::Duration paused = {};                 // time since `busy_since` in which the process was stopped
  };
  // One executor, and its thread for slow images if it has one.
  struct Place {
    Worker executor, slow;  // their threads are set before others use them
    mutable Mutex mutex;
    int at_work ABSL_GUARDED_BY(mutex) = 0;        // workers with a batch
    absl::Time busy_since ABSL_GUARDED_BY(mutex);  // start of the time in which at_work > 0
    absl::Duration busy ABSL_GUARDED_BY(mutex);    // total of such times before
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
  // Adds to `paused` the time since the last call in which the process was stopped: the delay beyond kWatchPeriod.
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
