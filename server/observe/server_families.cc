// SPDX-License-Identifier: Apache-2.0
// The metrics of models in memory, queue, executors, listeners and process.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/observe/families.h"
#include "server/observe/metrics.h"
#include "server/observe/process_stats.h"
#include "server/observe/stderr_sink.h"
#include "server/process/out_of_memory.h"

namespace vitrine {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

void AddVersions(std::vector<MetricFamily>& families, const std::vector<ShownVersion>& versions) {
  MetricFamily info{"vitrine_model_info", "Versions in memory; the value is 1.", MetricType::Gauge, {}};
  MetricFamily bytes{"vitrine_model_device_bytes", "Weights of a version on its device.", MetricType::Gauge, {}};
  MetricFamily states{
      "vitrine_model_state", "1 for the state that a version is in, 0 for the others.", MetricType::Gauge, {}};
  MetricFamily traffic{"vitrine_version_traffic_ratio",
                       "Share of the requests without version or label that a READY version gets.",
                       MetricType::Gauge,
                       {}};
  MetricFamily labelled{
      "vitrine_version_label_info", "Labels that requests may name; the value is 1.", MetricType::Gauge, {}};
  for (const ShownVersion& facts : versions) {
    const MetricLabels id = {{"model", facts.model}, {"version", absl::StrCat(facts.version)}};
    for (const v1::ModelState state : {v1::LOADING, v1::READY, v1::RETIRING, v1::FAILED}) {
      MetricLabels labels = id;
      labels.push_back({"state", v1::ModelState_Name(state)});
      AddValue(states, std::move(labels), facts.state == state ? 1 : 0);
    }
    if (facts.state == v1::READY) AddValue(traffic, id, facts.traffic_percent / 100);
    for (const std::string& label : facts.labels) {
      MetricLabels labels = id;
      labels.push_back({"label", label});
      AddValue(labelled, std::move(labels), 1);
    }
    if (!facts.loaded.has_value()) continue;
    AddValue(bytes, id, static_cast<double>(facts.loaded->device_bytes));
    MetricLabels labels = id;
    labels.push_back({"sha256", facts.loaded->sha256});
    labels.push_back({"precision", facts.loaded->precision});
    labels.push_back({"device", facts.loaded->device});
    AddValue(info, std::move(labels), 1);
  }
  for (MetricFamily* family : {&info, &bytes, &states, &traffic, &labelled}) families.push_back(std::move(*family));
}

void AddProcess(std::vector<MetricFamily>& families) {
  const ProcessStats stats = ReadProcessStats();
  AddCounter(families, "process_cpu_seconds_total", "User and system time of the process.", stats.cpu_seconds);
  AddGauge(families, "process_resident_memory_bytes", "Resident memory.", stats.resident_bytes);
  AddGauge(families, "process_virtual_memory_bytes", "Virtual memory.", stats.virtual_bytes);
  AddGauge(families, "process_open_fds", "Open file descriptors.", stats.open_files);
  AddGauge(families, "process_max_fds", "Limit of open file descriptors.", stats.max_files);
  AddGauge(families, "process_threads", "Threads.", stats.threads);
  AddGauge(families, "process_start_time_seconds", "Start of the process, in seconds since 1970.", stats.start_seconds);
}

}  // namespace

void Metrics::AddLoads(Families& families) const {
  MetricFamily durations{
      "vitrine_model_load_duration_seconds", "Time of a load, golden run included.", MetricType::Histogram, {}};
  MetricFamily failures{"vitrine_model_load_failures_total", "Loads that ended in refusal.", MetricType::Counter, {}};
  MetricFamily rollbacks{
      "vitrine_canary_rollbacks_total", "Canaries that the guard took out of traffic.", MetricType::Counter, {}};
  std::map<std::string, Rollbacks> rolled_back;
  if (sources_.rollbacks) rolled_back = sources_.rollbacks();
  for (const auto& [model, metrics] : Models()) {
    for (const auto& [outcome, histogram] :
         {std::pair("ok", &metrics->ok_loads_), std::pair("error", &metrics->failed_loads_)}) {
      HistogramTotals totals;
      histogram->AddTo(totals);
      AddHistogram(durations, {{"model", model}, {"outcome", outcome}}, LoadSecondBounds(), totals);
    }
    AddValue(failures, {{"model", model}}, Read(metrics->load_failures_));
    const Rollbacks& of = rolled_back[model];
    for (const auto& [reason, count] :
         {std::pair("errors", of.errors), std::pair("drift", of.drift), std::pair("slow", of.slow)}) {
      AddValue(rollbacks, {{"model", model}, {"reason", reason}}, static_cast<double>(count));
    }
  }
  families.push_back(std::move(durations));
  families.push_back(std::move(failures));
  families.push_back(std::move(rollbacks));
  if (sources_.versions) AddVersions(families, sources_.versions());
  if (sources_.repository_readable) {
    AddGauge(families, "vitrine_repository_readable", "1 if the repository could be read at the last look.",
             sources_.repository_readable() ? 1 : 0);
  }
}

void Metrics::AddQueue(Families& families) const {
  const auto gauge = [&](const char* name, const char* help, double value) { AddGauge(families, name, help, value); };
  if (sources_.queue) {
    const QueueStatus queue = sources_.queue();
    gauge("vitrine_queue_depth", "Requests that wait for an executor.", queue.requests);
    gauge("vitrine_queue_bytes", "Bytes of the pictures and tensors that wait.", queue.bytes);
    gauge("vitrine_queue_tokens", "Tokens of the pictures that wait.", queue.tokens);
    gauge("vitrine_queue_oldest_seconds", "Age of the request that waits longest.",
          absl::ToDoubleSeconds(queue.oldest));
  }
  if (sources_.admission) {
    const AdmissionStatus admission = sources_.admission();
    gauge("vitrine_in_flight", "Requests admitted and not yet answered.", admission.requests);
    gauge("vitrine_in_flight_bytes", "Bytes of their pictures and tensors.", admission.bytes);
    gauge("vitrine_in_flight_limit", "Most requests admitted and not yet answered.", admission.limit_requests);
    gauge("vitrine_in_flight_limit_bytes", "Most bytes of their pictures and tensors.", admission.limit_bytes);
    gauge("vitrine_predicted_work_seconds", "Executor time that they will take, as predicted.",
          absl::ToDoubleSeconds(admission.work));
  }
  if (sources_.answers) {
    const AnswerStatus answers = sources_.answers();
    gauge("vitrine_answer_bytes", "Bytes reserved for answers that their clients have not taken yet.", answers.bytes);
    gauge("vitrine_answer_limit_bytes", "Most bytes that may be reserved for them.", answers.limit);
  }
}

void Metrics::AddExecutors(Families& families) const {
  if (!sources_.executors) return;
  const std::vector<ExecutorStatus> executors = sources_.executors();
  AddGauge(families, "vitrine_executors", "Threads that decode and compute.", static_cast<double>(executors.size()));
  MetricFamily busy{"vitrine_executor_busy_seconds_total",
                    "Time spent on batches, the running one included.",
                    MetricType::Counter,
                    {}};
  MetricFamily batches{"vitrine_executor_batches_total", "Batches begun.", MetricType::Counter, {}};
  MetricFamily ages{"vitrine_executor_batch_age_seconds",
                    "Age of the running batch; 0 while the executor waits.",
                    MetricType::Gauge,
                    {}};
  for (size_t i = 0; i < executors.size(); ++i) {
    const MetricLabels labels = {{"executor", absl::StrCat(i)}};
    AddValue(busy, labels, absl::ToDoubleSeconds(executors[i].busy));
    AddValue(batches, labels, static_cast<double>(executors[i].batches));
    AddValue(ages, labels, absl::ToDoubleSeconds(executors[i].batch_age));
  }
  if (sources_.lanes_busy_ratio) {
    AddGauge(families, "vitrine_lanes_busy_ratio", "Share of the last minute that what computes was busy.",
             sources_.lanes_busy_ratio());
  }
  families.push_back(std::move(busy));
  families.push_back(std::move(batches));
  families.push_back(std::move(ages));
}

void Metrics::AddIdentity(Families& families) const {
  MetricFamily& refusals =
      AddFamily(families, "vitrine_authorization_refusals_total", "Calls refused for who calls.", MetricType::Counter);
  AddValue(refusals, {{"code", "UNAUTHENTICATED"}}, Read(server_.unauthenticated));
  AddValue(refusals, {{"code", "PERMISSION_DENIED"}}, Read(server_.permission_denied));
  MetricFamily& actions =
      AddFamily(families, "vitrine_admin_actions_total", "Calls of the Admin service.", MetricType::Counter);
  {
    MutexLock lock(mutex_);
    for (const auto& [key, count] : admin_actions_) {
      AddValue(actions, {{"action", key.first}, {"code", CodeName(static_cast<int>(key.second))}},
               static_cast<double>(count));
    }
  }
  if (!sources_.certificates) return;
  MetricFamily expiry{"vitrine_tls_certificate_expiry_timestamp_seconds",
                      "End of the certificate in use, in seconds since 1970.",
                      MetricType::Gauge,
                      {}};
  for (const auto& [listener, expires] : sources_.certificates()) {
    AddValue(expiry, {{"listener", listener}}, absl::ToDoubleSeconds(expires - absl::UnixEpoch()));
  }
  if (!expiry.metric.empty()) families.push_back(std::move(expiry));
}

void Metrics::AddServer(Families& families) const {
  AddValue(AddFamily(families, "vitrine_build_info", "The program; the value is 1.", MetricType::Gauge),
           {{"version", version_}, {"revision", revision_}}, 1);
  if (sources_.ready) AddGauge(families, "vitrine_ready", "1 while requests are served.", sources_.ready() ? 1 : 0);
  AddCounter(families, "vitrine_connections_total", "Connections accepted by the gRPC listener.",
             Read(server_.connections));
  AddCounter(families, "vitrine_connections_refused_total", "Connections closed at once for want of file descriptors.",
             Read(server_.connections_refused));
  if (sources_.connections) {
    AddGauge(families, "vitrine_connections", "Connections open on the gRPC listener.",
             static_cast<double>(sources_.connections()));
  }
  if (sources_.open_streams) {
    AddGauge(families, "vitrine_open_streams", "Calls that last until their clients end them.",
             static_cast<double>(sources_.open_streams()));
  }
  if (sources_.machine) {
    const MachineLimits machine = sources_.machine();
    AddGauge(families, "vitrine_cpu_limit_cores", "Cores that cpuset and quota leave to this process.", machine.cores);
    AddGauge(families, "vitrine_memory_limit_bytes", "The control group's limit, else the machine's memory.",
             static_cast<double>(machine.memory_bytes));
  }
  if (sources_.log_lines) {
    const auto [warnings, errors] = sources_.log_lines();
    MetricFamily& lines =
        AddFamily(families, "vitrine_log_messages_total",
                  "Log lines of that level, lost ones included; critical counts as error.", MetricType::Counter);
    AddValue(lines, {{"level", "warning"}}, static_cast<double>(warnings));
    AddValue(lines, {{"level", "error"}}, static_cast<double>(errors));
  }
  AddCounter(families, "vitrine_log_lines_lost_total",
             "Log lines that could not be written to stderr: its disk is full, or nobody reads it.",
             Read(LostLogLines()));
  AddCounter(families, "vitrine_out_of_memory_total", "Times that a request found no memory.",
             static_cast<double>(TimesOutOfMemory()));
  if (sources_.spans) {
    const SpanTotals spans = sources_.spans();
    AddCounter(families, "vitrine_spans_exported_total", "Spans that the collector took.",
               static_cast<double>(spans.exported));
    MetricFamily& dropped =
        AddFamily(families, "vitrine_spans_dropped_total", "Spans that no collector will see.", MetricType::Counter);
    AddValue(dropped, {{"reason", "full"}}, static_cast<double>(spans.full));
    AddValue(dropped, {{"reason", "failed"}}, static_cast<double>(spans.failed));
  }
  AddProcess(families);
}

}  // namespace vitrine
