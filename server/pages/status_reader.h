// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PAGES_STATUS_READER_H_
#define VITRINE_SERVER_PAGES_STATUS_READER_H_

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/models/registry/device.h"
#include "server/models/registry/version_status.h"
#include "server/observe/metrics.h"
#include "server/pages/status.h"
#include "server/process/clock.h"
#include "server/process/ticker.h"

namespace vitrine {

// How fast counters rose over the last while, from samples that somebody takes now and then. Thread-safe.
class RateWindow {
 public:
  using Totals = std::map<std::string, double>;  // counters by name; they rise, or begin at 0 anew

  // Rates are over the last `span`, or since the first sample where that is shorter.
  explicit RateWindow(absl::Duration span) : span_(span) {}

  // `now` is on a clock that never jumps and later than that of the last sample.
  void Sample(absl::Time now, Totals totals);
  // Rise per second. A counter that was not there at the beginning was 0. 0 before the second sample, and for a counter
  // that is gone.
  double PerSecond(const std::string& counter) const;

 private:
  struct Sampled {
    absl::Time time;
    Totals totals;
  };
  const absl::Duration span_;
  mutable Mutex mutex_;
  std::deque<Sampled> samples_ ABSL_GUARDED_BY(mutex_);
};

// Puts together what /statusz shows, mostly from what Metrics reads. Thread-safe.
class StatusReader {
 public:
  static constexpr absl::Duration kPeriod = absl::Seconds(2);
  static constexpr absl::Duration kWindow = absl::Minutes(1);

  struct Sources {
    std::function<std::string()> not_ready;                // empty when ready, else the reason
    std::function<absl::Status()> repository;              // as it was at the last look
    std::function<std::vector<VersionStatus>()> versions;  // those of Registry::List
    std::string version, revision;                         // of the program
    Compute compute;
    std::vector<std::pair<std::string, std::string>> flags;
  };

  // `metrics` and `clock` outlive the reader. Rates need Sample, or Start.
  StatusReader(const Metrics& metrics, Sources sources, const Clock& clock);

  // Samples every kPeriod on a thread of its own, until Stop, which waits for a sample that is being taken.
  void Start();
  void Stop() { ticker_.reset(); }
  // Notes where the counters are.
  void Sample();
  ServerStatus Read() const;
  // What asks for more servers, or fewer: the share of the last kWindow, or since the start, that what computes was
  // busy. It follows the load where the time in the queue does not: that is next to nothing until nothing is idle any
  // more.
  double LanesBusyRatio() const { return BusyRatio(Executors()); }

 private:
  std::vector<ServerStatus::Executor> Executors() const;
  void AddModels(ServerStatus& status) const;
  void AddVersions(ServerStatus& status) const;

  const Metrics& metrics_;
  const Sources sources_;
  const Clock& clock_;
  const absl::Time started_ = absl::Now();  // wall clock
  RateWindow rates_{kWindow};
  std::optional<Ticker> ticker_;  // last: it uses everything above
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_PAGES_STATUS_READER_H_
