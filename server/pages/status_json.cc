// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "server/pages/status.h"

namespace vitrine {
namespace {

using nlohmann::ordered_json;

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

}  // namespace

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
  page["time"] = RfcSeconds(status.now);
  page["started"] = RfcSeconds(status.started);
  page["version"] = status.version;
  page["revision"] = status.revision;
  page["device"] = status.compute.device;
  page["compute"] = {{"cpu", status.compute.cpu},
                     {"path", status.compute.path},
                     {"precision", status.compute.precision},
                     {"lanes", status.executors.size()}};
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
