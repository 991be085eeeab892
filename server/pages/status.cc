// SPDX-License-Identifier: Apache-2.0
#include "server/pages/status.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/registry/settings/serving_rules.h"
#include "server/registry/version/version_status.h"

namespace vitrine {
namespace {

using nlohmann::ordered_json;

constexpr absl::Duration kCertificateWarning = absl::Hours(14 * 24);
// Minimum age of a running batch that is reported as a problem. On a healthy machine a batch takes far less time.
constexpr absl::Duration kLongBatch = absl::Seconds(10);
constexpr absl::Duration kLongWait = absl::Seconds(1);
constexpr double kSaturated = 0.95;
// Rates up to this value count as zero; one event in the last minute gives 0.017 per second.
constexpr double kRateFloor = 0.001;
// A model is reported if the rejected share of its requests is at least this value; a few rejections in a burst are
// normal.
constexpr double kShedShare = 0.005;

// Formats a rate with three significant digits, or as a whole number from 100: "0.0125", "12.5", "1264".
std::string RateText(double per_second) {
  return per_second >= 100 ? absl::StrFormat("%.0f", per_second) : absl::StrFormat("%.3g", per_second);
}

class Problems {
 public:
  void Down(std::string sentence) { list_.push_back({Severity::kDown, std::move(sentence)}); }
  void Degraded(std::string sentence) { list_.push_back({Severity::kDegraded, std::move(sentence)}); }
  std::vector<Problem> Take() {
    std::stable_sort(list_.begin(), list_.end(),
                     [](const Problem& a, const Problem& b) { return a.severity > b.severity; });
    return std::move(list_);
  }

 private:
  std::vector<Problem> list_;
};

void CheckModels(const ServerStatus& status, Problems& problems) {
  for (const ServerStatus::Model& model : status.models) {
    if (model.shed_per_second > kRateFloor && model.shed_per_second >= kShedShare * model.requests_per_second) {
      problems.Degraded(absl::StrFormat("%s requests per second to %s are rejected because of load, of %s per second",
                                        RateText(model.shed_per_second), model.name,
                                        RateText(model.requests_per_second)));
    }
    // A rollback is reported for one minute only, because the stable version then serves the canary's requests, so the
    // problem is over.
    if (model.rollbacks_per_second > kRateFloor) {
      problems.Degraded(absl::StrCat("a canary of ", model.name, " was just taken out of traffic (", model.rollbacks,
                                     model.rollbacks == 1 ? " time" : " times", " since the start)"));
    }
  }
}

// Returns, by model, the READY version that is labelled `stable`, otherwise the newest READY version.
std::map<std::string, int64_t> ServingVersions(const ServerStatus& status) {
  std::map<std::string, int64_t> stable, newest;
  for (const ServerStatus::Version& version : status.versions) {
    if (version.state != "READY") continue;
    if (std::count(version.labels.begin(), version.labels.end(), kStableLabel) > 0) {
      stable[version.model] = version.version;
    }
    newest[version.model] = std::max(newest[version.model], version.version);
  }
  stable.merge(newest);
  return stable;
}

void CheckVersions(const ServerStatus& status, Problems& problems) {
  const std::map<std::string, int64_t> serving = ServingVersions(status);
  for (const ServerStatus::Version& version : status.versions) {
    const std::string name = absl::StrCat(version.model, " version ", version.version);
    // Failures of whole models (kWholeModel) are reported with repository_fault.
    if (version.state == "FAILED" && version.version != kWholeModel) {
      const auto other = serving.find(version.model);
      problems.Degraded(absl::StrCat(name, " was rejected: ", version.reason, "; ",
                                     other == serving.end() ? "no version of this model serves"
                                                            : absl::StrCat("version ", other->second, " serves")));
    }
    if (version.faults_per_second > kRateFloor) {
      problems.Degraded(absl::StrFormat("%s failed %s requests per second because of server faults, of %s per second",
                                        name, RateText(version.faults_per_second),
                                        RateText(version.requests_per_second)));
    }
  }
}

void CheckExecutors(const ServerStatus& status, Problems& problems) {
  for (size_t i = 0; i < status.executors.size(); ++i) {
    if (status.executors[i].batch_age < kLongBatch) continue;
    problems.Degraded(absl::StrCat("executor ", i, " has been busy with one batch for ",
                                   absl::FormatDuration(absl::Trunc(status.executors[i].batch_age, absl::Seconds(1)))));
  }
  if (const double busy = BusyRatio(status.executors); busy >= kSaturated) {
    problems.Degraded(absl::StrFormat("the executors are %.0f %% busy; more load is rejected or waits", busy * 100));
  }
  if (status.queue.oldest >= kLongWait) {
    problems.Degraded(absl::StrCat("the oldest of ", status.queue.requests, " waiting requests has waited for ",
                                   absl::FormatDuration(absl::Trunc(status.queue.oldest, absl::Milliseconds(100)))));
  }
}

void CheckCertificates(const ServerStatus& status, Problems& problems) {
  for (const auto& [listener, expires] : status.certificates) {
    const absl::Duration left = expires - status.now;
    const std::string date = absl::FormatTime("%Y-%m-%d %H:%M UTC", expires, absl::UTCTimeZone());
    const std::string subject =
        absl::StrCat("the certificate chain of the ", listener, " listener, or a CA of --tls-client-ca,");
    if (left <= absl::ZeroDuration()) {
      problems.Down(absl::StrCat(subject, " expired at ", date));
    } else if (left < kCertificateWarning) {
      problems.Degraded(absl::StrCat(subject, " expires at ", date));
    }
  }
}

std::string RfcSeconds(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

const char* SeverityName(Severity severity) {
  return severity == Severity::kDown ? "down" : severity == Severity::kDegraded ? "degraded" : "ok";
}

ordered_json VersionsJson(const ServerStatus& status) {
  ordered_json versions = ordered_json::array();
  for (const ServerStatus::Version& version : status.versions) {
    versions.push_back({{"model", version.model},
                        {"version", version.version},
                        {"state", version.state},
                        {"reason", version.reason},
                        {"traffic_percent", version.traffic_percent},
                        {"labels", version.labels},
                        {"device_bytes", version.bytes},
                        {"requests_per_second", version.requests_per_second},
                        {"errors_per_second", version.errors_per_second},
                        {"faults_per_second", version.faults_per_second}});
  }
  return versions;
}

ordered_json DeviceJson(const DeviceStatus& device) {
  return {{"memory_bytes", device.total_bytes},
          {"memory_used_bytes", device.total_bytes - device.free_bytes},
          {"busy_seconds", absl::ToDoubleSeconds(device.busy)},
          {"batches", device.batches},
          {"images", device.images},
          {"uploaded_bytes", device.uploaded_bytes}};
}

ordered_json LoadJson(const ServerStatus& status) {
  ordered_json executors = ordered_json::array();
  for (const ServerStatus::Executor& executor : status.executors) {
    executors.push_back(
        {{"busy_ratio", executor.busy_ratio}, {"batch_age_seconds", absl::ToDoubleSeconds(executor.batch_age)}});
  }
  return {{"executors", std::move(executors)},
          {"queue_requests", status.queue.requests},
          {"queue_bytes", status.queue.bytes},
          {"queue_tokens", status.queue.tokens},
          {"queue_oldest_seconds", absl::ToDoubleSeconds(status.queue.oldest)},
          {"in_flight", status.admission.requests},
          {"in_flight_limit", status.admission.limit_requests},
          {"in_flight_bytes", status.admission.bytes},
          {"in_flight_limit_bytes", status.admission.limit_bytes},
          {"predicted_work_seconds", absl::ToDoubleSeconds(status.admission.work)},
          {"answer_bytes", status.answers.bytes},
          {"answer_limit_bytes", status.answers.limit}};
}

ordered_json ConnectionsJson(const ServerStatus& status) {
  ordered_json largest = ordered_json::array();
  for (const auto& [listener, state] : status.connections) {
    largest.push_back({{"listener", listener},
                       {"peer", state.peer},
                       {"protocol", state.protocol},
                       {"age_seconds", absl::ToDoubleSeconds(state.age)},
                       {"requests", state.requests},
                       {"streams", state.streams},
                       {"received_bytes", state.received_bytes},
                       {"unsent_bytes", state.unsent_bytes}});
  }
  return {{"open", status.open_connections}, {"largest", std::move(largest)}};
}

}  // namespace

double BusyRatio(const std::vector<ServerStatus::Executor>& executors) {
  double busy = 0;
  for (const ServerStatus::Executor& executor : executors) {
    busy += executor.busy_ratio / static_cast<double>(executors.size());
  }
  return busy;
}

std::vector<Problem> FindProblems(const ServerStatus& status) {
  Problems problems;
  if (!status.not_ready.empty()) problems.Down(absl::StrCat("requests are not served: ", status.not_ready));
  CheckCertificates(status, problems);
  CheckExecutors(status, problems);
  CheckModels(status, problems);
  if (!status.repository_fault.empty()) {
    problems.Degraded(absl::StrCat("the ", status.repository_fault));
  }
  for (const std::string& fault : status.rejected_settings) {
    problems.Degraded(absl::StrCat("a settings file is rejected: ", fault,
                                   "; its previous content stays in effect, and a restart would fail"));
  }
  CheckVersions(status, problems);
  return problems.Take();
}

Problem Verdict(const ServerStatus& status) {
  const std::vector<Problem> problems = FindProblems(status);
  if (problems.empty()) {
    double rate = 0;
    for (const ServerStatus::Model& model : status.models) rate += model.requests_per_second;
    const auto ready = std::count_if(status.versions.begin(), status.versions.end(),
                                     [](const ServerStatus::Version& v) { return v.state == "READY"; });
    return {Severity::kOk, absl::StrFormat("Ready: %d %s, %s requests per second; no problems.", ready,
                                           ready == 1 ? "version serves" : "versions serve", RateText(rate))};
  }
  const std::string more = problems.size() == 1 ? "." : absl::StrCat("; and ", problems.size() - 1, " more, below.");
  const char* const head = problems.front().severity == Severity::kDown ? "Unhealthy: " : "Ready, but ";
  return {problems.front().severity, absl::StrCat(head, problems.front().sentence, more)};
}

ServerStatus ShownTo(const Caller& caller, ServerStatus status) {
  std::erase_if(status.models, [&](const ServerStatus::Model& model) { return !caller.MayUse(model.name); });
  std::erase_if(status.versions, [&](const ServerStatus::Version& version) { return !caller.MayUse(version.model); });
  if (caller.models != nullptr) status.repository_fault.clear();
  status.rejected_settings.clear();
  status.connections.clear();
  status.certificates.clear();
  status.log.clear();
  status.flags.clear();
  return status;
}

std::string StatusJson(const ServerStatus& status) {
  const Problem verdict = Verdict(status);
  ordered_json page = {{"verdict", verdict.sentence}, {"severity", SeverityName(verdict.severity)}};
  page["problems"] = ordered_json::array();
  for (const Problem& problem : FindProblems(status)) {
    page["problems"].push_back({{"severity", SeverityName(problem.severity)}, {"sentence", problem.sentence}});
  }
  page["ready"] = status.not_ready.empty();
  page["not_ready"] = status.not_ready;
  page["repository_fault"] = status.repository_fault;
  page["rejected_settings"] = status.rejected_settings;
  page["time"] = RfcSeconds(status.now);
  page["started"] = RfcSeconds(status.started);
  page["version"] = status.version;
  page["revision"] = status.revision;
  page["device"] = status.compute.device;
  page["compute"] = {{"cpu", status.compute.cpu},
                     {"path", status.compute.path},
                     {"precision", status.compute.precision},
                     {"lanes", status.executors.size()}};
  if (status.device.has_value()) page["gpu"] = DeviceJson(*status.device);
  page["cpu_limit_cores"] = status.machine.cores;
  page["memory_limit_bytes"] = status.machine.memory_bytes;
  page["models"] = ordered_json::array();
  for (const ServerStatus::Model& model : status.models) {
    page["models"].push_back({{"model", model.name},
                              {"requests", model.requests},
                              {"batches", model.batches},
                              {"requests_per_second", model.requests_per_second},
                              {"shed_per_second", model.shed_per_second},
                              {"rollbacks", model.rollbacks},
                              {"operator_rollbacks", model.operator_rollbacks}});
  }
  page["versions"] = VersionsJson(status);
  page["load"] = LoadJson(status);
  page["connections"] = ConnectionsJson(status);
  page["certificates"] = ordered_json::object();
  for (const auto& [listener, expires] : status.certificates) page["certificates"][listener] = RfcSeconds(expires);
  page["log"] = ordered_json::array();
  for (const LogLine& line : status.log) {
    page["log"].push_back({{"time", RfcSeconds(line.time)},
                           {"level", line.level == spdlog::level::warn ? "warning" : "error"},
                           {"text", line.text}});
  }
  page["flags"] = ordered_json::object();
  for (const auto& [flag, value] : status.flags) page["flags"][flag] = value;
  return page.dump(2, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace vitrine
