// SPDX-License-Identifier: Apache-2.0
#include "client/load/load.h"

#include <algorithm>
#include <deque>
#include <thread>
#include <utility>

#include "absl/strings/str_format.h"
#include "client/load/lane.h"
#include "client/load/load_record.h"
#include "client/load/processor_time.h"
#include "client/load/workload/pacer.h"

namespace vitrine {
namespace {

constexpr int64_t kLongestSleep = 100'000'000;
// Limits of the send delay. A point is invalid if the send delay exceeds both limits at the quantile of a latency
// bound, for example at p99 for the bound "p99=50ms".
constexpr int64_t kLatest = 1'000'000;  // nanoseconds, for every bound
constexpr double kOwnShare = 0.1;       // relative to the bound
// Minimum number of late requests that make a point invalid. A single late request could determine the p99 of 100
// requests.
constexpr uint64_t kFewestLate = 3;
constexpr double kBusiest = 0.9;

MeasuredInterval IntervalOf(const LoadSettings& settings) {
  const auto bounded = [](absl::Duration duration) {
    return absl::ToInt64Nanoseconds(std::clamp(duration, absl::ZeroDuration(), kLongestLoad));
  };
  const int64_t from = bounded(settings.warm_up);
  return {from, from + bounded(settings.duration)};
}

// Observes a running load. Reports progress, and measures processor time at both ends of the measured interval.
class Watch {
 public:
  Watch(const LoadConnections& connections, const LoadSettings& settings, const LoadHooks& hooks,
        const SteadyLoadClock& clock, const MeasuredInterval& interval, std::deque<Lane>& lanes)
      : connections_(connections),
        settings_(settings),
        hooks_(hooks),
        clock_(clock),
        interval_(interval),
        lanes_(lanes) {}

  // Runs until the interval ends or `over` is true.
  void Run(const std::atomic<bool>& over) {
    SleepUntil(interval_.from, over);
    const double own = OwnProcessorSeconds(), server = ProcessorSecondsOf(settings_.server_process);
    for (size_t second = 0; !over.load() && clock_.Now() < interval_.to; ++second) {
      SleepUntil(std::min(interval_.to, interval_.from + static_cast<int64_t>(second + 1) * kSecond), over);
      generator_seconds = OwnProcessorSeconds() - own;
      server_seconds = ProcessorSecondsOf(settings_.server_process) - server;
      if (!over.load()) Tell(second);
    }
  }

  double generator_seconds = 0;
  double server_seconds = 0;

 private:
  void SleepUntil(int64_t time, const std::atomic<bool>& over) {
    for (int64_t now = clock_.Now(); now < time && !over.load(); now = clock_.Now()) {
      clock_.SleepUntil(std::min(time, now + kLongestSleep));
      FindLostServers();
    }
  }

  // Resolves names on this thread, because name resolution on a lane's thread would delay its requests.
  void FindLostServers() {
    for (const std::shared_ptr<Servers>& servers : connections_) {
      const grpc_connectivity_state state = servers->channel()->GetState(/*try_to_connect=*/false);
      if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_CONNECTING) servers->Look();
    }
  }

  void Tell(size_t number) {
    if (hooks_.progress == nullptr) return;
    LoadRecord::Second sum;
    LoadProgress progress;
    for (Lane& lane : lanes_) {
      sum.Add(lane.SecondSoFar(number));
      progress.outstanding += lane.outstanding();
    }
    progress.seconds = static_cast<double>(clock_.Now() - interval_.from) / 1e9;
    progress.due = static_cast<double>(sum.due);
    progress.answered = static_cast<double>(sum.answered);
    progress.failed = static_cast<double>(sum.failed + sum.not_sent);
    progress.p50_ms = static_cast<double>(sum.latency.Quantile(0.5)) / 1e6;
    progress.p99_ms = static_cast<double>(sum.latency.Quantile(0.99)) / 1e6;
    hooks_.progress(progress);
  }

  const LoadConnections& connections_;
  const LoadSettings& settings_;
  const LoadHooks& hooks_;
  const SteadyLoadClock& clock_;
  const MeasuredInterval interval_;
  std::deque<Lane>& lanes_;
};

}  // namespace

double LoadResult::GeneratorShare() const {
  return record.interval().Seconds() > 0 ? generator_seconds / record.interval().Seconds() : 0;
}

double LoadResult::ServerShare() const {
  return record.interval().Seconds() > 0 ? server_seconds / record.interval().Seconds() : 0;
}

double LoadResult::GeneratorMicrosecondsARequest() const {
  return record.started() == 0 ? 0 : generator_seconds * 1e6 / static_cast<double>(record.started());
}

double LoadResult::RequestsPerProcessorSecond() const {
  return generator_seconds <= 0 ? 0 : static_cast<double>(record.started()) / generator_seconds;
}

double LoadResult::SlipShare() const {
  const double latency = record.latency().Mean();
  return latency > 0 ? std::min(1.0, record.slip().Mean() / latency) : 0;
}

std::string LoadResult::VoidReason() const {
  std::vector<LatencyBound> most = bounds;
  if (most.empty()) {
    const std::optional<int64_t> p99 = record.due() > 0 ? record.QuantileOfDue(0.99) : 0;
    most.push_back({0.99, p99.has_value() ? absl::Nanoseconds(*p99) : absl::InfiniteDuration()});
  }
  const LatencyHistogram& slip = record.slip();
  for (const LatencyBound& bound : most) {
    const int64_t latest = std::max(kLatest, absl::ToInt64Nanoseconds(kOwnShare * bound.most));
    const int64_t late = slip.Quantile(bound.quantile);
    if (late <= latest || slip.CountAbove(latest) < kFewestLate) continue;
    return absl::StrFormat("the generator itself was late, by %.1f ms at p%g", static_cast<double>(late) / 1e6,
                           100 * bound.quantile);
  }
  if (receiver_share > kBusiest) {
    return absl::StrFormat("the generator's receiving thread was busy %.0f %% of the time, and answers waited for it",
                           100 * receiver_share);
  }
  return "";
}

LoadResult RunLoad(const LoadConnections& connections, const Workload& workload, const LoadSettings& settings,
                   const LoadHooks& hooks) {
  const std::vector<grpc::ByteBuffer> requests = SharedRequests(workload);
  const SteadyLoadClock clock;
  const MeasuredInterval interval = IntervalOf(settings);
  const Lane::Plan plan{workload, requests, settings, hooks, clock, interval, settings.threads};
  std::deque<Lane> lanes;
  for (int i = 0; i < settings.threads; ++i) lanes.emplace_back(plan, connections, i);
  Watch watch(connections, settings, hooks, clock, interval, lanes);
  std::atomic<bool> over = false;
  std::thread watching([&] { watch.Run(over); });
  std::vector<std::thread> senders, receivers;
  for (Lane& lane : lanes) {
    receivers.emplace_back([&lane] { lane.Receive(); });
    if (settings.arrivals) senders.emplace_back([&lane] { lane.Send(); });
  }
  for (std::thread& thread : senders) thread.join();
  for (std::thread& thread : receivers) thread.join();
  over = true;
  watching.join();

  LoadResult result{lanes.front().Record()};
  int64_t ended_at = interval.from, end = interval.from;
  for (Lane& lane : lanes) {
    if (&lane != &lanes.front()) result.record.Add(lane.Record());
    result.interrupted |= lane.interrupted();
    result.receiver_share = std::max(result.receiver_share, lane.receiver_share());
    ended_at = std::max(ended_at, lane.ended_at());
    end = std::max(end, lane.interval_end());
  }
  if (!result.interrupted && settings.max_requests > 0) end = std::min(end, std::max(ended_at, interval.from + 1));
  result.record.EndAt(end);
  result.generator_seconds = watch.generator_seconds;
  result.server_seconds = watch.server_seconds;
  result.bounds = settings.bounds;
  return result;
}

}  // namespace vitrine
