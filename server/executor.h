#ifndef VITRINE_SERVER_EXECUTOR_H_
#define VITRINE_SERVER_EXECUTOR_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/clock.h"
#include "server/device.h"
#include "server/execute_batch.h"
#include "server/scheduler.h"
#include "server/ticker.h"

namespace vitrine {

struct ExecutorOptions {
  Device device;
  // Threads on the CPU, each with one core and one single-threaded instance; 0 takes one for every core this process
  // may use. A CUDA device has one.
  int threads = 0;
  // Pin each thread to a core of the process's affinity mask.
  bool pin = true;
  // A line for each batch at level info instead of debug: images, tokens and grids.
  bool log_batches = false;

  absl::Status Validate() const;  // names the field, the value and the allowed range
  int ThreadCount() const;        // what `threads` comes to; at least 1
};

// The threads that decode and compute. Each takes a batch from the scheduler, decodes its pictures, runs the model once
// and answers every request. A damaged picture fails its own request; an exception or a broken logit fails its batch
// with INTERNAL and a fixed text, the details go to the log, and the thread lives on.
class ExecutorPool {
 public:
  // Hears again and again for how long the longest running batch has been at it; zero if every thread waits.
  using Watchdog = std::function<void(absl::Duration longest)>;
  static constexpr absl::Duration kWatchPeriod = absl::Milliseconds(100);

  // Starts the threads. `scheduler` and `clock` outlive the pool. `watchdog` has a thread of its own and is called
  // every kWatchPeriod until the threads have ended; null watches nothing.
  ExecutorPool(const ExecutorOptions& options, Scheduler& scheduler, Responder responder, const Clock& clock,
               Watchdog watchdog = nullptr);
  // Joins. Requires that the scheduler was stopped, or it waits forever.
  ~ExecutorPool();
  ExecutorPool(const ExecutorPool&) = delete;
  ExecutorPool& operator=(const ExecutorPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()); }

 private:
  struct Worker {
    std::atomic<int64_t> busy_since = 0;  // nanoseconds of the clock; 0 while waiting
    std::thread thread;
  };
  void Run(int index, int core);
  absl::Duration LongestRunning() const;

  const ExecutorOptions options_;
  Scheduler& scheduler_;
  const Responder responder_;
  const Clock& clock_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::optional<Ticker> watch_;  // last: it looks at the workers
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_EXECUTOR_H_
