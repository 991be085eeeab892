// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_METRIC_TABLE_H_
#define VITRINE_SERVER_OBSERVE_METRIC_TABLE_H_

#include <prometheus/metric_type.h>

#include <string_view>

namespace vitrine {

// Description of one metric family of /metrics.
struct MetricRow {
  std::string_view name;
  prometheus::MetricType type;
  std::string_view unit;    // text for people: "s", "0 to 1"
  std::string_view labels;  // with their values if there are few: "`model`, `outcome` = `ok`, `error`"
  std::string_view help;    // one sentence, with names of code and flags in backticks
};

// All metric families of the server. A scrape gets the name, type and help of each family from its row. A test compares
// docs/reference/metrics.md with the rows.
inline constexpr MetricRow kMetricTable[] = {
    {"vitrine_requests_total", prometheus::MetricType::Counter, "requests", "`model`, `method`, `code`",
     "Answered and rejected requests."},
    {"vitrine_request_duration_seconds", prometheus::MetricType::Histogram, "s",
     "`model`, `method`, `outcome` = `ok`, `error`",
     "Time from reading the message to passing the answer to the transport; rejections and failures are `error`."},
    {"vitrine_stage_duration_seconds", prometheus::MetricType::Histogram, "s",
     "`model`, `outcome`, `stage` = `queue`, `decode`, `compute`, `encode`",
     "Time in each stage, of every request that reached it; `error`: the request expired, was cancelled, was rejected "
     "or failed in this stage or a later one. `compute` once per batch, `error` if it failed."},
    {"vitrine_version_requests_total", prometheus::MetricType::Counter, "requests", "`model`, `version`, `code`",
     "Answered and rejected requests that reached a version; compares canary and stable."},
    {"vitrine_version_request_duration_seconds", prometheus::MetricType::Histogram, "s", "`model`, `version`",
     "Time to the answer, for requests answered OK by a version."},
    {"vitrine_requests_shed_total", prometheus::MetricType::Counter, "requests", "`model`, `reason`",
     "Requests rejected because of load."},
    {"vitrine_requests_expired_total", prometheus::MetricType::Counter, "requests",
     "`model`, `stage` = `admission`, `queue`, `compute`",
     "Requests with a passed deadline; `compute`: computed, but not delivered."},
    {"vitrine_requests_cancelled_total", prometheus::MetricType::Counter, "requests",
     "`model`, `stage` = `queue`, `compute`",
     "Requests cancelled by the client; `compute`: computed, but not delivered."},
    {"vitrine_in_flight", prometheus::MetricType::Gauge, "requests", "",
     "Admitted requests, counted until the kernel has their answers."},
    {"vitrine_in_flight_bytes", prometheus::MetricType::Gauge, "bytes", "",
     "Bytes of the images and tensors of admitted requests, counted until the kernel has their answers."},
    {"vitrine_in_flight_limit", prometheus::MetricType::Gauge, "requests", "",
     "Maximum of `vitrine_in_flight`: `--max-queue-requests`."},
    {"vitrine_in_flight_limit_bytes", prometheus::MetricType::Gauge, "bytes", "",
     "Maximum of `vitrine_in_flight_bytes`: `--max-queue-bytes`."},
    {"vitrine_predicted_work_seconds", prometheus::MetricType::Gauge, "s", "",
     "Predicted executor time of the admitted requests."},
    {"vitrine_queue_depth", prometheus::MetricType::Gauge, "requests", "", "Requests that wait for an executor."},
    {"vitrine_queue_bytes", prometheus::MetricType::Gauge, "bytes", "",
     "Bytes of the images and tensors of waiting requests."},
    {"vitrine_queue_tokens", prometheus::MetricType::Gauge, "tokens", "", "Tokens of the images of waiting requests."},
    {"vitrine_queue_oldest_seconds", prometheus::MetricType::Gauge, "s", "",
     "Age of the request that has waited longest; 0 if none waits."},
    {"vitrine_batch_images", prometheus::MetricType::Histogram, "images", "`model`", "Images in a batch."},
    {"vitrine_batch_tokens", prometheus::MetricType::Histogram, "tokens", "`model`", "Tokens in a batch."},
    {"vitrine_batch_grids", prometheus::MetricType::Histogram, "grids", "`model`", "Different grids in a batch."},
    {"vitrine_executors", prometheus::MetricType::Gauge, "threads", "", "Threads that decode and compute."},
    {"vitrine_lanes_busy_ratio", prometheus::MetricType::Gauge, "0 to 1", "",
     "Busy fraction of the last minute, mean over the executors; the autoscaler's first metric."},
    {"vitrine_executor_busy_seconds_total", prometheus::MetricType::Counter, "s", "`executor` = `0`, `1`, ...",
     "Time spent on batches, including the running one; its `rate()` is the utilisation."},
    {"vitrine_executor_batches_total", prometheus::MetricType::Counter, "batches", "`executor`", "Started batches."},
    {"vitrine_executor_batch_age_seconds", prometheus::MetricType::Gauge, "s", "`executor`",
     "Age of the running batch; 0 if none runs."},
    {"vitrine_device_memory_bytes", prometheus::MetricType::Gauge, "bytes", "",
     "Memory of the GPU; absent on a CPU, like all of `vitrine_device_`, and while the GPU fails."},
    {"vitrine_device_memory_used_bytes", prometheus::MetricType::Gauge, "bytes", "",
     "Used part of `vitrine_device_memory_bytes`, also by other processes; absent on a CPU."},
    {"vitrine_device_busy_seconds_total", prometheus::MetricType::Counter, "s", "",
     "Time in which the GPU had a batch; its `rate()` is the utilisation; absent on a CPU."},
    {"vitrine_device_batches_total", prometheus::MetricType::Counter, "batches", "",
     "Batches sent to the GPU; absent on a CPU."},
    {"vitrine_device_images_total", prometheus::MetricType::Counter, "images", "",
     "Images in these batches, each with images of several executors; absent on a CPU."},
    {"vitrine_device_uploaded_bytes_total", prometheus::MetricType::Counter, "bytes", "",
     "Bytes copied to the GPU, without the results that are copied back; absent on a CPU."},
    {"vitrine_top1_confidence_ratio", prometheus::MetricType::Histogram, "0 to 1", "`model`, `version`",
     "Softmax probability of the first class."},
    {"vitrine_prediction_entropy_ratio", prometheus::MetricType::Histogram, "0 to 1", "`model`, `version`",
     "Entropy of the softmax divided by the logarithm of the number of classes; 1 is a uniform guess."},
    {"vitrine_model_info", prometheus::MetricType::Gauge, "1", "`model`, `version`, `sha256`, `precision`, `device`",
     "Versions in memory; the value is 1."},
    {"vitrine_model_device_bytes", prometheus::MetricType::Gauge, "bytes", "`model`, `version`",
     "Weights of a version on its device."},
    {"vitrine_model_memory_bytes", prometheus::MetricType::Gauge, "bytes",
     "`model`, `version`, `kind` = `device`, `pinned`",
     "Memory of a version on a GPU with that of its batches, and its pinned memory of the host; absent on a CPU."},
    {"vitrine_model_state", prometheus::MetricType::Gauge, "0 or 1",
     "`model`, `version`, `state` = `LOADING`, `READY`, `RETIRING`, `FAILED`", "1 for the current state of a version."},
    {"vitrine_model_load_duration_seconds", prometheus::MetricType::Histogram, "s",
     "`model`, `outcome` = `ok`, `error`", "Time to load a version: verify, build and run the goldens."},
    {"vitrine_model_load_failures_total", prometheus::MetricType::Counter, "loads", "`model`", "Failed loads."},
    {"vitrine_version_traffic_ratio", prometheus::MetricType::Gauge, "0 to 1", "`model`, `version`",
     "Share that a version gets of the requests without version or label; READY versions only."},
    {"vitrine_version_label_info", prometheus::MetricType::Gauge, "1", "`model`, `version`, `label`",
     "Labels that requests may name; the value is 1."},
    {"vitrine_canary_rollbacks_total", prometheus::MetricType::Counter, "rollbacks",
     "`model`, `reason` = `errors`, `drift`, `slow`, `answers`, `labels`",
     "Canaries that the guard took out of traffic."},
    {"vitrine_repository_readable", prometheus::MetricType::Gauge, "0 or 1", "",
     "1 if the last poll could read the repository and every folder in it."},
    {"vitrine_connections", prometheus::MetricType::Gauge, "connections", "",
     "Open connections of the client listeners: `--listen`, `--socket` and `--http`."},
    {"vitrine_connections_total", prometheus::MetricType::Counter, "connections", "",
     "Connections accepted by the client listeners."},
    {"vitrine_connections_refused_total", prometheus::MetricType::Counter, "connections", "",
     "Connections closed before a byte was read: no file descriptor was free and no connection idle, or a limit per "
     "address was reached."},
    {"vitrine_connections_closed_total", prometheus::MetricType::Counter, "connections",
     "`reason`, `listener` = `grpc`, `http`, `admin`, `health`, `metrics`",
     "Connections that were closed or refused, by reason."},
    {"vitrine_streams_cut_off_total", prometheus::MetricType::Counter, "requests",
     "`listener`, `reason` = `slow_body`, `unread`",
     "HTTP/2 requests that the server ended because the client sent the body, or read the response, too slowly."},
    {"vitrine_open_streams", prometheus::MetricType::Gauge, "calls", "",
     "Open ClassifyStream, ModelStreamInfer, WatchModels and health Watch calls."},
    {"vitrine_answer_bytes", prometheus::MetricType::Gauge, "bytes", "",
     "Bytes reserved for answers that clients have not read yet."},
    {"vitrine_answer_limit_bytes", prometheus::MetricType::Gauge, "bytes", "",
     "Maximum of `vitrine_answer_bytes`: `--max-answer-bytes`."},
    {"vitrine_received_bytes", prometheus::MetricType::Gauge, "bytes", "",
     "Bytes of received messages and bodies in memory, of headers of open requests, and of bytes that HTTP/1.1 "
     "clients sent ahead of a response."},
    {"vitrine_received_limit_bytes", prometheus::MetricType::Gauge, "bytes", "",
     "Maximum of `vitrine_received_bytes`: `--max-transport-bytes`."},
    {"vitrine_unsent_bytes", prometheus::MetricType::Gauge, "bytes", "",
     "Bytes of all responses, not only of inference, that the client listeners have not passed to the kernel yet, "
     "because clients do not read them. Limit of each listener: `--max-answer-bytes` plus 32 MiB."},
    {"vitrine_authorization_refusals_total", prometheus::MetricType::Counter, "calls",
     "`code` = `UNAUTHENTICATED`, `PERMISSION_DENIED`",
     "Calls rejected because of their credentials or the access policy."},
    {"vitrine_admin_actions_total", prometheus::MetricType::Counter, "calls", "`action`, `code`",
     "Calls of the Admin service; `action` is the method's name."},
    {"vitrine_rejected_settings", prometheus::MetricType::Gauge, "files", "",
     "Files of `--serving-config`, `--tokens`, `--policy` and TLS (together one) that are rejected: their previous "
     "content stays in effect."},
    {"vitrine_tls_certificate_expiry_timestamp_seconds", prometheus::MetricType::Gauge, "s since 1970",
     "`listener` = `grpc`, `admin`",
     "Earliest expiry in the chain in use and the CAs of `--tls-client-ca`; absent without TLS."},
    {"vitrine_repository_refresh_timestamp_seconds", prometheus::MetricType::Gauge, "s since 1970", "",
     "Last complete refresh of the copy of a remote repository, 0 before the first; absent for a folder."},
    {"vitrine_ready", prometheus::MetricType::Gauge, "0 or 1", "",
     "1 while requests are served, as reported by `/readyz`."},
    {"vitrine_build_info", prometheus::MetricType::Gauge, "1", "`version`, `revision`",
     "The program; `revision` is the commit that it was built from, the value is 1."},
    {"vitrine_cpu_limit_cores", prometheus::MetricType::Gauge, "cores", "",
     "Cores that the process may use by cpuset and quota."},
    {"vitrine_memory_limit_bytes", prometheus::MetricType::Gauge, "bytes", "",
     "The control group's limit; without one, the machine's memory."},
    {"vitrine_log_messages_total", prometheus::MetricType::Counter, "lines", "`level` = `warning`, `error`",
     "Log lines of that level, including lost ones; critical counts as `error`."},
    {"vitrine_log_lines_lost_total", prometheus::MetricType::Counter, "lines", "",
     "Log lines of any level that could not be written to stderr, because its disk is full or its reader is gone or "
     "too slow."},
    {"vitrine_spans_exported_total", prometheus::MetricType::Counter, "spans", "",
     "Spans that the collector accepted; absent without `--otlp-endpoint`."},
    {"vitrine_spans_dropped_total", prometheus::MetricType::Counter, "spans", "`reason` = `full`, `failed`",
     "Lost spans, because too many waited or the collector did not accept them; absent without `--otlp-endpoint`."},
    {"vitrine_out_of_memory_total", prometheus::MetricType::Counter, "times", "",
     "Requests rejected because the device had no memory for them."},
    {"process_cpu_seconds_total", prometheus::MetricType::Counter, "s", "", "User and system time of the process."},
    {"process_resident_memory_bytes", prometheus::MetricType::Gauge, "bytes", "", "Resident memory."},
    {"process_virtual_memory_bytes", prometheus::MetricType::Gauge, "bytes", "", "Virtual memory."},
    {"process_open_fds", prometheus::MetricType::Gauge, "files", "", "Open file descriptors."},
    {"process_max_fds", prometheus::MetricType::Gauge, "files", "", "Limit of open file descriptors."},
    {"process_threads", prometheus::MetricType::Gauge, "threads", "", "Threads."},
    {"process_start_time_seconds", prometheus::MetricType::Gauge, "s since 1970", "", "Start of the process."},
};

// Returns the row with this name. An unknown name does not compile.
consteval const MetricRow& MetricOf(std::string_view name) {
  for (const MetricRow& row : kMetricTable) {
    if (row.name == name) return row;
  }
  throw "the table of metrics has no such row";
}

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_METRIC_TABLE_H_
