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
#include "common/mutex.h"
#include "server/observe/metrics.h"
#include "server/pages/status.h"
#include "server/process/clock.h"
#include "server/process/ticker.h"
#include "server/registry/device.h"
#include "server/registry/version/version_status.h"

namespace vitrine {

// Rates of counters over a recent window, from periodic samples. Thread-safe.
class RateWindow {
 public:
  using Totals = std::map<std::string, double>;  // counters by name; a counter only rises, or restarts from 0

  // `span`: length of the window. The window is shorter until the samples cover this length.
  explicit RateWindow(absl::Duration span) : span_(span) {}

  // Adds a sample. `now` comes from a monotonic clock and must be later than the previous sample.
  void Sample(absl::Time now, Totals totals);
  // Returns the increase per second. A counter that an earlier sample lacks counts as 0 in that sample. Returns 0
  // before the second sample, and for a counter that the last sample lacks.
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

// Collects the contents of /statusz, mostly from Metrics. Thread-safe except Start and Stop.
class StatusReader {
 public:
  static constexpr absl::Duration kPeriod = absl::Seconds(2);
  static constexpr absl::Duration kWindow = absl::Minutes(1);

  struct Sources {
    std::function<std::string()> not_ready;                // "" if the server is ready, otherwise the reason
    std::function<absl::Status()> repository;              // result of the last scan of the repository
    std::function<std::vector<VersionStatus>()> versions;  // result of Registry::List
    std::string version, revision;                         // version and revision of the program
    Compute compute;
    std::vector<std::pair<std::string, std::string>> flags;
  };

  // `metrics` and `clock` must outlive the reader. Rates need Start, or periodic calls of Sample.
  StatusReader(const Metrics& metrics, Sources sources, const Clock& clock);

  // Samples every kPeriod on its own thread, until Stop is called. Stop waits for a sample that is being taken.
  void Start();
  void Stop() { ticker_.reset(); }
  // Samples the counters.
  void Sample();
  // Does not set ServerStatus::connections.
  ServerStatus Read() const;
  // Returns the share of time in which the executors were busy, as a mean over all executors. The share covers the last
  // kWindow, or the time since the server's start if this time is shorter. Autoscalers can use this number: it follows
  // the load at any level, while the queue time stays near zero until all executors are busy.
  double ExecutorsBusyRatio() const { return BusyRatio(Executors()); }

 private:
  std::vector<ServerStatus::Executor> Executors() const;
  void AddModels(ServerStatus& status) const;
  void AddVersions(ServerStatus& status) const;

  const Metrics& metrics_;
  const Sources sources_;
  const Clock& clock_;
  const absl::Time started_ = absl::Now();  // wall clock
  RateWindow rates_{kWindow};
  std::optional<Ticker> ticker_;  // last member: its thread uses the members above
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_PAGES_STATUS_READER_H_
