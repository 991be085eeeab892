// SPDX-License-Identifier: Apache-2.0
// Metrics of the server as a whole: loads, queue, executors, device, listeners, settings and process.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/observe/families.h"
#include "server/observe/metric_table.h"
#include "server/observe/metrics.h"
#include "server/observe/process_stats.h"
#include "server/observe/stderr_sink.h"
#include "server/process/shed.h"

namespace vitrine {
namespace {

using prometheus::MetricFamily;

void AddProcess(MetricFamilies& families) {
  const ProcessStats stats = ReadProcessStats();
  AddSingle(families, MetricOf("process_cpu_seconds_total"), stats.cpu_seconds);
  AddSingle(families, MetricOf("process_resident_memory_bytes"), stats.resident_bytes);
  AddSingle(families, MetricOf("process_virtual_memory_bytes"), stats.virtual_bytes);
  AddSingle(families, MetricOf("process_open_fds"), stats.open_files);
  AddSingle(families, MetricOf("process_max_fds"), stats.max_files);
  AddSingle(families, MetricOf("process_threads"), stats.threads);
  AddSingle(families, MetricOf("process_start_time_seconds"), stats.start_seconds);
}

}  // namespace

void Metrics::AddLoads(MetricFamilies& families) const {
  MetricFamily& durations = AddFamily(families, MetricOf("vitrine_model_load_duration_seconds"));
  MetricFamily& failures = AddFamily(families, MetricOf("vitrine_model_load_failures_total"));
  MetricFamily& rollbacks = AddFamily(families, MetricOf("vitrine_canary_rollbacks_total"));
  for (const auto& [model, metrics] : Models()) {
    AddHistogram(durations, {{"model", model}, {"outcome", "ok"}}, metrics->ok_loads_.Totals());
    AddHistogram(durations, {{"model", model}, {"outcome", "error"}}, metrics->failed_loads_.Totals());
    AddValue(failures, {{"model", model}}, Read(metrics->load_failures_));
    for (const auto& [reason, cause] :
         {std::pair("errors", RollbackCause::kErrorRate), std::pair("drift", RollbackCause::kGoldenDrift),
          std::pair("slow", RollbackCause::kSlow), std::pair("answers", RollbackCause::kAnswers),
          std::pair("labels", RollbackCause::kLabels)}) {
      AddValue(rollbacks, {{"model", model}, {"reason", reason}}, static_cast<double>(metrics->Rollbacks(cause)));
    }
  }
  if (sources_.versions) sources_.versions(families);
  if (sources_.repository_readable) {
    AddSingle(families, MetricOf("vitrine_repository_readable"), sources_.repository_readable() ? 1 : 0);
  }
}

void Metrics::AddQueue(MetricFamilies& families) const {
  if (sources_.queue) {
    const QueueStatus queue = sources_.queue();
    AddSingle(families, MetricOf("vitrine_queue_depth"), queue.requests);
    AddSingle(families, MetricOf("vitrine_queue_bytes"), queue.bytes);
    AddSingle(families, MetricOf("vitrine_queue_tokens"), queue.tokens);
    AddSingle(families, MetricOf("vitrine_queue_oldest_seconds"), absl::ToDoubleSeconds(queue.oldest));
  }
  if (sources_.admission) {
    const AdmissionStatus admission = sources_.admission();
    AddSingle(families, MetricOf("vitrine_in_flight"), admission.requests);
    AddSingle(families, MetricOf("vitrine_in_flight_bytes"), admission.bytes);
    AddSingle(families, MetricOf("vitrine_in_flight_limit"), admission.limit_requests);
    AddSingle(families, MetricOf("vitrine_in_flight_limit_bytes"), admission.limit_bytes);
    AddSingle(families, MetricOf("vitrine_predicted_work_seconds"), absl::ToDoubleSeconds(admission.work));
  }
  if (sources_.answers) {
    const AnswerStatus answers = sources_.answers();
    AddSingle(families, MetricOf("vitrine_answer_bytes"), answers.bytes);
    AddSingle(families, MetricOf("vitrine_answer_limit_bytes"), answers.limit);
  }
  if (sources_.received) {
    const ReceivedStatus received = sources_.received();
    AddSingle(families, MetricOf("vitrine_received_bytes"), received.bytes);
    AddSingle(families, MetricOf("vitrine_received_limit_bytes"), received.limit);
  }
  if (sources_.unsent_bytes) {
    AddSingle(families, MetricOf("vitrine_unsent_bytes"), static_cast<double>(sources_.unsent_bytes()));
  }
}

void Metrics::AddExecutors(MetricFamilies& families) const {
  if (!sources_.executors) return;
  const std::vector<ExecutorStatus> executors = sources_.executors();
  AddSingle(families, MetricOf("vitrine_executors"), static_cast<double>(executors.size()));
  if (sources_.lanes_busy_ratio) {
    AddSingle(families, MetricOf("vitrine_lanes_busy_ratio"), sources_.lanes_busy_ratio());
  }
  MetricFamily& busy = AddFamily(families, MetricOf("vitrine_executor_busy_seconds_total"));
  MetricFamily& batches = AddFamily(families, MetricOf("vitrine_executor_batches_total"));
  MetricFamily& ages = AddFamily(families, MetricOf("vitrine_executor_batch_age_seconds"));
  for (size_t i = 0; i < executors.size(); ++i) {
    const MetricLabels labels = {{"executor", absl::StrCat(i)}};
    AddValue(busy, labels, absl::ToDoubleSeconds(executors[i].busy));
    AddValue(batches, labels, static_cast<double>(executors[i].batches));
    AddValue(ages, labels, absl::ToDoubleSeconds(executors[i].batch_age));
  }
}

void Metrics::AddDevice(MetricFamilies& families) const {
  if (!sources_.device) return;
  const std::optional<DeviceStatus> device = sources_.device();
  if (!device.has_value()) return;
  AddSingle(families, MetricOf("vitrine_device_memory_bytes"), static_cast<double>(device->total_bytes));
  AddSingle(families, MetricOf("vitrine_device_memory_used_bytes"),
            static_cast<double>(device->total_bytes - device->free_bytes));
  AddSingle(families, MetricOf("vitrine_device_busy_seconds_total"), absl::ToDoubleSeconds(device->busy));
  AddSingle(families, MetricOf("vitrine_device_batches_total"), static_cast<double>(device->batches));
  AddSingle(families, MetricOf("vitrine_device_images_total"), static_cast<double>(device->images));
  AddSingle(families, MetricOf("vitrine_device_uploaded_bytes_total"), static_cast<double>(device->uploaded_bytes));
}

void Metrics::AddIdentity(MetricFamilies& families) const {
  MetricFamily& refusals = AddFamily(families, MetricOf("vitrine_authorization_refusals_total"));
  AddValue(refusals, {{"code", "UNAUTHENTICATED"}}, Read(server_.unauthenticated));
  AddValue(refusals, {{"code", "PERMISSION_DENIED"}}, Read(server_.permission_denied));
  MetricFamily& actions = AddFamily(families, MetricOf("vitrine_admin_actions_total"));
  {
    MutexLock lock(mutex_);
    for (const auto& [key, count] : admin_actions_) {
      AddValue(actions, {{"action", key.first}, {"code", CodeName(static_cast<int>(key.second))}},
               static_cast<double>(count));
    }
  }
  if (sources_.rejected_settings) {
    AddSingle(families, MetricOf("vitrine_rejected_settings"),
              static_cast<double>(sources_.rejected_settings().size()));
  }
  if (!sources_.certificates) return;
  const std::vector<std::pair<std::string, absl::Time>> certificates = sources_.certificates();
  if (certificates.empty()) return;
  MetricFamily& expiry = AddFamily(families, MetricOf("vitrine_tls_certificate_expiry_timestamp_seconds"));
  for (const auto& [listener, expires] : certificates) {
    AddValue(expiry, {{"listener", listener}}, absl::ToDoubleSeconds(expires - absl::UnixEpoch()));
  }
}

void Metrics::AddConnections(MetricFamilies& families) const {
  const auto& [grpc, http, admin, health, metrics] = server_.listeners;
  AddSingle(families, MetricOf("vitrine_connections_total"), Read(grpc.accepted) + Read(http.accepted));
  AddSingle(families, MetricOf("vitrine_connections_refused_total"), Read(grpc.refused) + Read(http.refused));
  MetricFamily& closed = AddFamily(families, MetricOf("vitrine_connections_closed_total"));
  MetricFamily& cut_off = AddFamily(families, MetricOf("vitrine_streams_cut_off_total"));
  for (int each = 0; each < kListeners; ++each) {
    const char* const listener = kListenerNames[each];
    for (int reason = 0; reason < kCloseReasons; ++reason) {
      AddValue(closed, {{"listener", listener}, {"reason", CloseReasonName(static_cast<CloseReason>(reason))}},
               Read(server_.listeners[each].closed[reason]));
    }
    for (int reason = 0; reason < kStreamCutOffs; ++reason) {
      AddValue(cut_off, {{"listener", listener}, {"reason", CloseReasonName(static_cast<StreamCutOff>(reason))}},
               Read(server_.listeners[each].streams_cut_off[reason]));
    }
  }
}

void Metrics::AddServer(MetricFamilies& families) const {
  AddValue(AddFamily(families, MetricOf("vitrine_build_info")), {{"version", version_}, {"revision", revision_}}, 1);
  if (sources_.repository_refreshed) {
    const absl::Time refreshed = sources_.repository_refreshed();
    AddSingle(families, MetricOf("vitrine_repository_refresh_timestamp_seconds"),
              std::max(0.0, absl::ToDoubleSeconds(refreshed - absl::UnixEpoch())));
  }
  if (sources_.ready) AddSingle(families, MetricOf("vitrine_ready"), sources_.ready() ? 1 : 0);
  AddConnections(families);
  if (sources_.connections) {
    AddSingle(families, MetricOf("vitrine_connections"), static_cast<double>(sources_.connections()));
  }
  if (sources_.open_streams) {
    AddSingle(families, MetricOf("vitrine_open_streams"), static_cast<double>(sources_.open_streams()));
  }
  if (sources_.machine) {
    const MachineLimits machine = sources_.machine();
    AddSingle(families, MetricOf("vitrine_cpu_limit_cores"), machine.cores);
    AddSingle(families, MetricOf("vitrine_memory_limit_bytes"), static_cast<double>(machine.memory_bytes));
  }
  if (sources_.log_lines) {
    const auto [warnings, errors] = sources_.log_lines();
    MetricFamily& lines = AddFamily(families, MetricOf("vitrine_log_messages_total"));
    AddValue(lines, {{"level", "warning"}}, static_cast<double>(warnings));
    AddValue(lines, {{"level", "error"}}, static_cast<double>(errors));
  }
  AddSingle(families, MetricOf("vitrine_log_lines_lost_total"), Read(LostLogLines()));
  uint64_t out_of_memory = 0;
  for (const auto& [model, metrics] : Models()) {
    out_of_memory += metrics->Requests().shed[static_cast<int>(ShedReason::kMemory)];
  }
  AddSingle(families, MetricOf("vitrine_out_of_memory_total"), static_cast<double>(out_of_memory));
  if (sources_.spans) {
    const SpanTotals spans = sources_.spans();
    AddSingle(families, MetricOf("vitrine_spans_exported_total"), static_cast<double>(spans.exported));
    MetricFamily& dropped = AddFamily(families, MetricOf("vitrine_spans_dropped_total"));
    AddValue(dropped, {{"reason", "full"}}, static_cast<double>(spans.full));
    AddValue(dropped, {{"reason", "failed"}}, static_cast<double>(spans.failed));
  }
  AddProcess(families);
}

}  // namespace vitrine
