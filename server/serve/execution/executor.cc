// SPDX-License-Identifier: Apache-2.0
#include "server/serve/execution/executor.h"

#include <pthread.h>
#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/machine/machine.h"
#include "common/simd/float_mode.h"
#include "server/process/crash_stack.h"

namespace vitrine {
namespace {

// Returns the cores of the options, or all cores of this process; at least one core.
std::vector<int> CoresOf(const ExecutorOptions& options) {
  return options.cores.empty() ? FindMachine().cores : options.cores;
}

void PinTo(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0) {
    spdlog::warn("an executor could not be pinned to core {}; it runs unpinned", core);
  }
}

}  // namespace

int DefaultExecutors(const Device& device, int cores) {
  return device.kind == Device::Kind::kCuda ? 2 * cores : cores;
}

absl::Status ExecutorOptions::Validate() const {
  if (threads < 0 || threads > 1024) {
    return absl::InvalidArgumentError(
        absl::StrCat("--executors is ", threads, "; it must be 0 (by the number of cores) to 1024"));
  }
  if (lane_width < 0 || lane_width > 1024) {
    return absl::InvalidArgumentError(
        absl::StrCat("--lane-width is ", lane_width, "; it must be 0 (all executors) to 1024"));
  }
  return absl::OkStatus();
}

int ExecutorOptions::ThreadCount() const {
  return threads > 0 ? threads : DefaultExecutors(device, static_cast<int>(CoresOf(*this).size()));
}

int ExecutorOptions::SlowThreadCount() const {
  return device.kind == Device::Kind::kCuda ? 0 : ThreadCount();
}

// Reads the clock under the lock, so that the reported time never decreases.
ExecutorStatus ExecutorPool::Place::Status(const Clock& clock) const {
  MutexLock lock(mutex);
  const absl::Time now = clock.Now();
  ExecutorStatus status{.busy = busy, .batches = batches, .batch_age = {}};
  if (at_work > 0) status.busy += now - busy_since;
  for (const Worker* worker : {&executor, &slow}) {
    if (!worker->busy_since.has_value()) continue;
    status.batch_age = std::max(status.batch_age, now - *worker->busy_since - worker->paused);
  }
  return status;
}

// Marks a worker as busy while this object exists; the watchdog and Status read the mark.
class ExecutorPool::Busy {
 public:
  Busy(Place& place, Worker& worker, const Clock& clock, bool is_batch)
      : place_(place), worker_(worker), clock_(clock) {
    MutexLock lock(place_.mutex);
    worker_.busy_since = clock_.Now();
    worker_.paused = absl::ZeroDuration();
    if (place_.at_work++ == 0) place_.busy_since = *worker_.busy_since;
    if (is_batch) ++place_.batches;
  }
  ~Busy() {
    MutexLock lock(place_.mutex);
    worker_.busy_since.reset();
    if (--place_.at_work == 0) place_.busy += clock_.Now() - place_.busy_since;
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Place& place_;
  Worker& worker_;
  const Clock& clock_;
};

ExecutorPool::ExecutorPool(const ExecutorOptions& options, Scheduler& scheduler, Responder responder,
                           const Clock& clock, Watchdog watchdog)
    : options_(options), scheduler_(scheduler), responder_(std::move(responder)), clock_(clock) {
  const std::vector<int> cores = CoresOf(options_);
  const int threads = options_.ThreadCount(), slow_threads = options_.SlowThreadCount();
  for (int i = 0; i < threads; ++i) places_.push_back(std::make_unique<Place>());
  try {
    for (int i = 0; i < threads; ++i) {
      const int core = cores[i % cores.size()];
      places_[i]->executor.thread = std::thread([this, i, core] { Run(i, core); });
      if (i < slow_threads) places_[i]->slow.thread = std::thread([this, i, core] { RunSlow(i, core); });
    }
  } catch (const std::system_error&) {
    scheduler_.Stop(absl::ZeroDuration());
    Join();
    throw;
  }
  if (watchdog != nullptr) {
    watch_.emplace(kWatchPeriod, [this, watchdog = std::move(watchdog)] {
      NotePause();
      watchdog(LongestRunning());
    });
  }
}

ExecutorPool::~ExecutorPool() {
  Join();
}

void ExecutorPool::Join() {
  for (const auto& place : places_) {
    for (Worker* worker : {&place->executor, &place->slow}) {
      if (worker->thread.joinable()) worker->thread.join();
    }
  }
}

absl::Duration ExecutorPool::LongestRunning() const {
  absl::Duration longest;
  for (const auto& place : places_) longest = std::max(longest, place->Status(clock_).batch_age);
  return longest;
}

void ExecutorPool::NotePause() {
  const absl::Time now = SteadyClock().Now();
  const absl::Duration pause = now - last_look_ - kWatchPeriod;
  last_look_ = now;
  if (pause < kLongestLook) return;
  spdlog::warn("the process did not run for {}, which does not count as time of a running batch",
               absl::FormatDuration(absl::Trunc(pause, absl::Milliseconds(1))));
  for (const auto& place : places_) {
    MutexLock lock(place->mutex);
    for (Worker* worker : {&place->executor, &place->slow}) worker->paused += pause;
  }
}

std::vector<ExecutorStatus> ExecutorPool::Status() const {
  std::vector<ExecutorStatus> statuses;
  for (const auto& place : places_) statuses.push_back(place->Status(clock_));
  return statuses;
}

void ExecutorPool::Settle(const char* name, int index, int core) const {
  pthread_setname_np(pthread_self(), absl::StrCat(name, index).c_str());
  if (options_.pin && options_.device.kind == Device::Kind::kCpu) PinTo(core);
}

void ExecutorPool::Run(int index, int core) {
  const CrashHandlerStack crash_stack;
  Settle("executor-", index, core);
  const cpu::FloatMode mode;
  engine::Workspace workspace;
  Place& place = *places_[index];
  // A CUDA device computes without the threads of this process, so there is no work for helpers.
  const bool computes = options_.device.kind == Device::Kind::kCpu;
  const int most = options_.lane_width == 0 ? threads() : std::min(options_.lane_width, threads());
  const int width = computes ? most : 1;
  const BatchContext context{workspace, responder_, clock_, options_.log_batches, &scheduler_, &help_, width - 1};
  const BatchKind work = options_.SlowThreadCount() > 0 ? BatchKind::kQuick : BatchKind::kAll;
  while (std::optional<Batch> batch = scheduler_.NextBatch(work)) {
    const Busy busy(place, place.executor, clock_, /*is_batch=*/batch->team == nullptr);
    if (batch->team != nullptr) {
      batch->team->Join();
    } else {
      ExecuteBatch(*std::move(batch), context);
    }
  }
}

void ExecutorPool::RunSlow(int index, int core) {
  const CrashHandlerStack crash_stack;
  Settle("slow-", index, core);
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), getpriority(PRIO_PROCESS, 0) + kSlowNiceness);
  const cpu::FloatMode mode;
  engine::Workspace workspace;  // allocates nothing until there is a batch
  Place& place = *places_[index];
  const BatchContext context{.workspace = workspace,
                             .responder = responder_,
                             .clock = clock_,
                             .log_batches = options_.log_batches,
                             .has_core = false};
  while (std::optional<Batch> batch = scheduler_.NextBatch(BatchKind::kSlow)) {
    const Busy busy(place, place.slow, clock_, /*is_batch=*/true);
    ExecuteBatch(*std::move(batch), context);
  }
}

}  // namespace vitrine
