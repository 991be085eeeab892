// SPDX-License-Identifier: Apache-2.0
#include "server/serve/execution/executor.h"

#include <pthread.h>
#include <sched.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/machine/machine.h"
#include "common/simd/float_mode.h"
#include "server/process/crash_stack.h"

namespace vitrine {
namespace {

// Returns at least one core.
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

int ExecutorOptions::StandInCount() const {
  return device.kind == Device::Kind::kCuda ? 0 : ThreadCount();
}

// Reads the clock under the lock, so that the reported time never decreases.
ExecutorStatus ExecutorPool::Worker::Status(const Clock& clock) const {
  MutexLock lock(mutex);
  const absl::Duration age = busy_since.has_value() ? clock.Now() - *busy_since : absl::ZeroDuration();
  return {.busy = busy + age, .batches = batches, .batch_age = std::max(age - paused, absl::ZeroDuration())};
}

// Marks a worker as busy, for the watchdog and Status.
class ExecutorPool::Busy {
 public:
  Busy(Worker& worker, const Clock& clock, bool is_batch) : worker_(worker), clock_(clock) {
    MutexLock lock(worker_.mutex);
    worker_.busy_since = clock_.Now();
    worker_.paused = absl::ZeroDuration();
    if (is_batch) ++worker_.batches;
  }
  ~Busy() {
    MutexLock lock(worker_.mutex);
    worker_.busy += clock_.Now() - *worker_.busy_since;
    worker_.busy_since.reset();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Worker& worker_;
  const Clock& clock_;
};

ExecutorPool::ExecutorPool(const ExecutorOptions& options, Scheduler& scheduler, Responder responder,
                           const Clock& clock, Watchdog watchdog)
    : options_(options), scheduler_(scheduler), responder_(std::move(responder)), clock_(clock) {
  const std::vector<int> cores = CoresOf(options_);
  const int threads = options_.ThreadCount(), stand_ins = options_.StandInCount();
  for (int i = 0; i < threads; ++i) places_.push_back(std::make_unique<Place>(clock_));
  try {
    for (int i = 0; i < threads; ++i) {
      const int core = cores[i % cores.size()];
      places_[i]->executor.thread = std::thread([this, i, core] { Run(i, core); });
      if (i < stand_ins) places_[i]->stand_in.thread = std::thread([this, i, core] { StandIn(i, core); });
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
    if (place->executor.thread.joinable()) place->executor.thread.join();
  }
  for (const auto& place : places_) {
    place->seat.End();
    if (place->stand_in.thread.joinable()) place->stand_in.thread.join();
  }
}

absl::Duration ExecutorPool::LongestRunning() const {
  absl::Duration longest;
  for (const auto& place : places_) {
    for (const Worker* worker : {&place->executor, &place->stand_in}) {
      longest = std::max(longest, worker->Status(clock_).batch_age);
    }
  }
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
    for (Worker* worker : {&place->executor, &place->stand_in}) {
      MutexLock lock(worker->mutex);
      worker->paused += pause;
    }
  }
}

std::vector<ExecutorStatus> ExecutorPool::Status() const {
  std::vector<ExecutorStatus> statuses;
  for (const auto& place : places_) {
    ExecutorStatus& status = statuses.emplace_back(place->executor.Status(clock_));
    status.batches += place->stand_in.Status(clock_).batches;
  }
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
  Worker& worker = places_[index]->executor;
  Seat& seat = places_[index]->seat;
  // A CUDA device computes by itself, so there is no work for helpers.
  const bool computes = options_.device.kind == Device::Kind::kCpu;
  const int most = options_.lane_width == 0 ? threads() : std::min(options_.lane_width, threads());
  const int width = computes ? most : 1;
  const BatchContext context{workspace, responder_, clock_, options_.log_batches, &scheduler_, &help_, width - 1};
  const bool has_stand_in = index < options_.StandInCount();
  while (std::optional<Batch> batch = scheduler_.NextBatch()) {
    const Busy busy(worker, clock_, /*is_batch=*/batch->team == nullptr);
    if (batch->team != nullptr) {
      batch->team->Join();
      continue;
    }
    if (!batch->is_slow || !has_stand_in) {
      ExecuteBatch(*std::move(batch), context);
      continue;
    }
    seat.Lend();
    {
      const GivingWay giving_way(seat);
      ExecuteBatch(*std::move(batch), context);
    }
    seat.TakeBack();
    scheduler_.WakeStandIns();
  }
}

void ExecutorPool::StandIn(int index, int core) {
  const CrashHandlerStack crash_stack;
  Settle("stand-in-", index, core);
  const cpu::FloatMode mode;
  engine::Workspace workspace;  // allocates nothing until there is a batch
  Worker& worker = places_[index]->stand_in;
  Seat& seat = places_[index]->seat;
  const BatchContext context{
      .workspace = workspace, .responder = responder_, .clock = clock_, .log_batches = options_.log_batches};
  while (seat.AwaitLent()) {
    while (std::optional<Batch> batch = scheduler_.NextQuickBatch(seat.lent())) {
      const Busy busy(worker, clock_, /*is_batch=*/true);
      seat.Begin();
      ExecuteBatch(*std::move(batch), context);
      seat.Finish();
    }
  }
}

}  // namespace vitrine
