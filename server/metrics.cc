#include "server/metrics.h"

#include <prometheus/text_serializer.h>

#include <limits>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/process_stats.h"
#include "server/registry.h"

namespace vitrine {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

// Upper bounds of the buckets. Seconds: a null model answers in tens of microseconds, a large batch takes seconds.
constexpr double kSecondBounds[] = {0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                    0.025,   0.05,   0.1,     0.25,   0.5,   1,      2.5,   10};
constexpr double kImageBounds[] = {1, 2, 4, 8, 16, 32, 64, 128};
constexpr double kTokenBounds[] = {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};

constexpr const char* kMethodNames[kMethods] = {"Classify", "ClassifyStream"};
constexpr const char* kStageNames[kStages] = {"queue", "decode", "compute", "encode", "total"};
constexpr const char* kCodeNames[kCodes] = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

MetricFamily Family(const char* name, const char* help, MetricType type) {
  return {name, help, type, {}};
}

ClientMetric& Add(MetricFamily& family, Labels labels) {
  ClientMetric& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  return metric;
}

void AddValue(MetricFamily& family, Labels labels, double value) {
  ClientMetric& metric = Add(family, std::move(labels));
  if (family.type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
}

void AddHistogram(MetricFamily& family, Labels labels, std::span<const double> bounds, const HistogramTotals& totals) {
  ClientMetric::Histogram& histogram = Add(family, std::move(labels)).histogram;
  for (size_t i = 0; i < totals.counts.size(); ++i) {
    histogram.sample_count += totals.counts[i];
    const double bound = i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity();
    histogram.bucket.push_back({histogram.sample_count, bound});
  }
  histogram.sample_sum = totals.sum;
}

void AddGauge(std::vector<MetricFamily>& families, const char* name, const char* help, double value) {
  families.push_back(Family(name, help, MetricType::Gauge));
  AddValue(families.back(), {}, value);
}

void AddVersions(std::vector<MetricFamily>& families, const std::vector<VersionStatus>& versions) {
  MetricFamily info = Family("vitrine_model_info", "Versions in memory; the value is 1.", MetricType::Gauge);
  MetricFamily bytes =
      Family("vitrine_model_device_bytes", "Memory of a version's weights on its device, in bytes.", MetricType::Gauge);
  MetricFamily states =
      Family("vitrine_model_state", "1 for the state that a version is in, 0 for the others.", MetricType::Gauge);
  for (const VersionStatus& status : versions) {
    const Labels id = {{"model", status.id.model}, {"version", absl::StrCat(status.id.version)}};
    for (const v1::ModelState state : {v1::LOADING, v1::READY, v1::RETIRING, v1::FAILED}) {
      Labels labels = id;
      labels.push_back({"state", v1::ModelState_Name(state)});
      AddValue(states, std::move(labels), status.state == state ? 1 : 0);
    }
    if (status.model == nullptr) continue;
    AddValue(bytes, id, static_cast<double>(status.model->device_bytes));
    Labels labels = id;
    labels.push_back({"sha256", status.model->weights_sha256});
    labels.push_back({"precision", status.model->precision});
    labels.push_back({"device", status.model->device});
    AddValue(info, std::move(labels), 1);
  }
  families.push_back(std::move(info));
  families.push_back(std::move(bytes));
  families.push_back(std::move(states));
}

void AddProcess(std::vector<MetricFamily>& families) {
  const ProcessStats stats = ReadProcessStats();
  AddGauge(families, "process_resident_memory_bytes", "Resident memory size in bytes.", stats.resident_bytes);
  AddGauge(families, "process_open_fds", "Number of open file descriptors.", stats.open_files);
  AddGauge(families, "process_threads", "Number of threads.", stats.threads);
  AddGauge(families, "process_start_time_seconds", "Start time of the process, in seconds since 1970.",
           stats.start_seconds);
  families.push_back(
      Family("process_cpu_seconds_total", "User and system time of the process, in seconds.", MetricType::Counter));
  AddValue(families.back(), {}, stats.cpu_seconds);
}

}  // namespace

ModelMetrics::Executor::Executor()
    : stages{Histogram(kSecondBounds), Histogram(kSecondBounds), Histogram(kSecondBounds), Histogram(kSecondBounds),
             Histogram(kSecondBounds)},
      batch_images(kImageBounds),
      batch_tokens(kTokenBounds) {}

ModelMetrics::ModelMetrics(int executors) {
  for (int i = 0; i < executors; ++i) executors_.push_back(std::make_unique<Executor>());
}

Metrics::Metrics(int executors, std::string build)
    : executors_(executors), build_(std::move(build)), unknown_(std::make_shared<ModelMetrics>(0)) {}

void Metrics::SetSources(Sources sources) {
  sources_ = std::move(sources);
}

std::shared_ptr<ModelMetrics> Metrics::ForModel(const std::string& model) {
  MutexLock lock(mutex_);
  std::shared_ptr<ModelMetrics>& metrics = models_[model];
  if (metrics == nullptr) metrics = std::make_shared<ModelMetrics>(executors_);
  return metrics;
}

std::map<std::string, std::shared_ptr<ModelMetrics>> Metrics::Models() const {
  MutexLock lock(mutex_);
  return models_;
}

void Metrics::AddCounters(std::vector<MetricFamily>& families) const {
  MetricFamily requests =
      Family("vitrine_requests_total", "Requests answered, by method and code.", MetricType::Counter);
  MetricFamily failures = Family("vitrine_model_load_failures_total",
                                 "Attempts to load a version that ended in refusal.", MetricType::Counter);
  const auto add = [&](const std::string& model, const ModelMetrics& metrics) {
    for (int method = 0; method < kMethods; ++method) {
      for (int code = 0; code < kCodes; ++code) {
        const uint64_t count = metrics.requests_[method][code].load(std::memory_order_relaxed);
        // Codes that never came are left out, but for OK: rates need a zero to start from.
        if (count == 0 && code != 0) continue;
        AddValue(requests, {{"model", model}, {"method", kMethodNames[method]}, {"code", kCodeNames[code]}},
                 static_cast<double>(count));
      }
    }
  };
  for (const auto& [model, metrics] : Models()) {
    add(model, *metrics);
    AddValue(failures, {{"model", model}},
             static_cast<double>(metrics->load_failures_.load(std::memory_order_relaxed)));
  }
  add("unknown", *unknown_);
  families.push_back(std::move(requests));
  families.push_back(std::move(failures));
}

void Metrics::AddHistograms(std::vector<MetricFamily>& families) const {
  MetricFamily stages =
      Family("vitrine_stage_duration_seconds", "Time of each stage of a request, in seconds.", MetricType::Histogram);
  MetricFamily images = Family("vitrine_batch_images", "Images per batch.", MetricType::Histogram);
  MetricFamily tokens = Family("vitrine_batch_tokens", "Tokens per batch.", MetricType::Histogram);
  for (const auto& [model, metrics] : Models()) {
    std::array<HistogramTotals, kStages> stage_totals;
    HistogramTotals image_totals, token_totals;
    for (const auto& executor : metrics->executors_) {
      for (int stage = 0; stage < kStages; ++stage) executor->stages[stage].AddTo(stage_totals[stage]);
      executor->batch_images.AddTo(image_totals);
      executor->batch_tokens.AddTo(token_totals);
    }
    for (int stage = 0; stage < kStages; ++stage) {
      AddHistogram(stages, {{"model", model}, {"stage", kStageNames[stage]}}, kSecondBounds, stage_totals[stage]);
    }
    AddHistogram(images, {{"model", model}}, kImageBounds, image_totals);
    AddHistogram(tokens, {{"model", model}}, kTokenBounds, token_totals);
  }
  families.push_back(std::move(stages));
  families.push_back(std::move(images));
  families.push_back(std::move(tokens));
}

std::vector<MetricFamily> Metrics::Collect() const {
  std::vector<MetricFamily> families;
  AddCounters(families);
  AddHistograms(families);
  if (sources_.queue_depth) {
    AddGauge(families, "vitrine_queue_depth", "Requests that wait for an executor.",
             static_cast<double>(sources_.queue_depth()));
  }
  if (sources_.queue_bytes) {
    AddGauge(families, "vitrine_queue_bytes", "Bytes of the pictures and tensors that wait.",
             static_cast<double>(sources_.queue_bytes()));
  }
  if (sources_.in_flight) {
    AddGauge(families, "vitrine_in_flight", "Requests admitted and not yet answered.",
             static_cast<double>(sources_.in_flight()));
  }
  if (sources_.versions) AddVersions(families, sources_.versions());
  families.push_back(Family("vitrine_build_info", "The version of the program; the value is 1.", MetricType::Gauge));
  AddValue(families.back(), {{"version", build_}}, 1);
  AddProcess(families);
  return families;
}

std::string Metrics::Text() const {
  return prometheus::TextSerializer().Serialize(Collect());
}

}  // namespace vitrine
