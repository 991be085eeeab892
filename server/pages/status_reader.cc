// SPDX-License-Identifier: Apache-2.0
#include "server/pages/status_reader.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

// Return names of counters in the RateWindow.
std::string Of(const char* what, const std::string& model) {
  return absl::StrCat(what, " ", model);
}
std::string Of(const char* what, const std::string& model, int64_t version) {
  return absl::StrCat(what, " ", model, "/", version);
}
std::string BusyOf(size_t executor) {
  return absl::StrCat("busy ", executor);
}

uint64_t GuardRollbacks(const ModelMetrics& metrics) {
  return metrics.Rollbacks(RollbackCause::kErrorRate) + metrics.Rollbacks(RollbackCause::kGoldenDrift) +
         metrics.Rollbacks(RollbackCause::kSlow) + metrics.Rollbacks(RollbackCause::kAnswers) +
         metrics.Rollbacks(RollbackCause::kLabels);
}

}  // namespace

void RateWindow::Sample(absl::Time now, Totals totals) {
  MutexLock lock(mutex_);
  samples_.push_back({now, std::move(totals)});
  // Keeps the first sample until the second sample is at least `span_` old.
  while (samples_.size() > 2 && now - samples_[1].time >= span_) samples_.pop_front();
}

double RateWindow::PerSecond(const std::string& counter) const {
  MutexLock lock(mutex_);
  if (samples_.size() < 2) return 0;
  const Sampled& first = samples_.front();
  const Sampled& last = samples_.back();
  const auto end = last.totals.find(counter);
  const double seconds = absl::ToDoubleSeconds(last.time - first.time);
  if (end == last.totals.end() || seconds <= 0) return 0;
  const auto value = [&](const Sampled& sample) {
    const auto found = sample.totals.find(counter);
    return found == sample.totals.end() ? 0 : found->second;
  };
  double rise = 0;
  for (size_t i = 1; i < samples_.size(); ++i) {
    const double before = value(samples_[i - 1]), now = value(samples_[i]);
    // A counter of a reloaded version starts from 0 again.
    rise += now < before ? now : now - before;
  }
  return rise / seconds;
}

StatusReader::StatusReader(const Metrics& metrics, Sources sources, const Clock& clock)
    : metrics_(metrics), sources_(std::move(sources)), clock_(clock) {}

void StatusReader::Start() {
  ticker_.emplace(kPeriod, [this] { Sample(); });
}

void StatusReader::Sample() {
  RateWindow::Totals totals;
  for (const auto& [model, metrics] : metrics_.Models()) {
    const RequestTotals of_model = metrics->Requests();
    totals[Of("requests", model)] = static_cast<double>(of_model.All());
    totals[Of("rollbacks", model)] = static_cast<double>(GuardRollbacks(*metrics));
    totals[Of("shed", model)] = static_cast<double>(of_model.Shed());
    for (const auto& [version, counts] : metrics->Versions()) {
      const RequestTotals of_version = counts->Requests();
      totals[Of("requests", model, version)] = static_cast<double>(of_version.All());
      totals[Of("errors", model, version)] = static_cast<double>(of_version.Errors());
      totals[Of("faults", model, version)] = static_cast<double>(of_version.Faults());
    }
  }
  if (metrics_.sources().executors) {
    const std::vector<ExecutorStatus> executors = metrics_.sources().executors();
    for (size_t i = 0; i < executors.size(); ++i) totals[BusyOf(i)] = absl::ToDoubleSeconds(executors[i].busy);
  }
  rates_.Sample(clock_.Now(), std::move(totals));
}

std::vector<ServerStatus::Executor> StatusReader::Executors() const {
  std::vector<ServerStatus::Executor> executors;
  if (!metrics_.sources().executors) return executors;
  for (const ExecutorStatus& executor : metrics_.sources().executors()) {
    executors.push_back({std::min(rates_.PerSecond(BusyOf(executors.size())), 1.0), executor.batch_age});
  }
  return executors;
}

void StatusReader::AddModels(ServerStatus& status) const {
  for (const auto& [model, counts] : metrics_.Models()) {
    status.models.push_back({.name = model,
                             .requests = counts->Requests().All(),
                             .batches = counts->Totals().batches,
                             .requests_per_second = rates_.PerSecond(Of("requests", model)),
                             .shed_per_second = rates_.PerSecond(Of("shed", model)),
                             .rollbacks = GuardRollbacks(*counts),
                             .operator_rollbacks = counts->Rollbacks(RollbackCause::kOperator),
                             .rollbacks_per_second = rates_.PerSecond(Of("rollbacks", model))});
  }
}

void StatusReader::AddVersions(ServerStatus& status) const {
  for (const VersionStatus& known : sources_.versions()) {
    const std::string& model = known.id.model;
    const int64_t version = known.id.version;
    status.versions.push_back({.model = model,
                               .version = version,
                               .state = v1::ModelState_Name(known.state),
                               .reason = known.reason,
                               .traffic_percent = known.traffic_percent,
                               .labels = known.labels,
                               .bytes = known.model == nullptr ? 0 : known.model->device_bytes,
                               .requests_per_second = rates_.PerSecond(Of("requests", model, version)),
                               .errors_per_second = rates_.PerSecond(Of("errors", model, version)),
                               .faults_per_second = rates_.PerSecond(Of("faults", model, version))});
  }
}

ServerStatus StatusReader::Read() const {
  const Metrics::Sources& sources = metrics_.sources();
  ServerStatus status;
  status.not_ready = sources_.not_ready();
  status.repository_fault = std::string(sources_.repository().message());
  status.now = absl::Now();
  status.started = started_;
  status.version = sources_.version;
  status.revision = sources_.revision;
  status.compute = sources_.compute;
  status.flags = sources_.flags;
  if (sources.machine) status.machine = sources.machine();
  if (sources.queue) status.queue = sources.queue();
  if (sources.admission) status.admission = sources.admission();
  if (sources.answers) status.answers = sources.answers();
  if (sources.rejected_settings) status.rejected_settings = sources.rejected_settings();
  if (sources.certificates) status.certificates = sources.certificates();
  status.executors = Executors();
  if (sources.connections) status.open_connections = sources.connections();
  if (sources.device) status.device = sources.device();
  AddModels(status);
  AddVersions(status);
  status.log = History().Lines();
  return status;
}

}  // namespace vitrine
