// SPDX-License-Identifier: Apache-2.0
#include "server/observe/model_metrics.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

namespace vitrine {
namespace {

// Bucket bounds in seconds. They cover all durations from a model that computes nothing (tens of microseconds) to a
// large batch (seconds).
constexpr double kSecondBounds[] = {0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                    0.025,   0.05,   0.1,     0.25,   0.5,   1,      2.5,   10};
constexpr double kLoadSecondBounds[] = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120};
constexpr double kImageBounds[] = {1, 2, 4, 8, 16, 32, 64, 128};
constexpr double kTokenBounds[] = {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
constexpr double kGridBounds[] = {1, 2, 3, 4, 6, 8, 12, 16, 32};
// The bounds are finer near 1, because model drift first changes answers that were almost certain.
constexpr double kConfidenceBounds[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99};
constexpr double kEntropyBounds[] = {0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};

constexpr const char* kMethodNames[] = {"Classify", "ClassifyStream", "ModelInfer", "HttpInfer", "HttpClassify"};
static_assert(std::size(kMethodNames) == kMethods);
constexpr const char* kStageNames[] = {"queue", "decode", "compute", "encode"};
static_assert(std::size(kStageNames) == kStages);

StageTotals StageTotalsOf(const HistogramTotals& totals) {
  return {.count = std::accumulate(totals.counts.begin(), totals.counts.end(), uint64_t{0}), .seconds = totals.sum};
}

}  // namespace

const char* MethodName(Method method) {
  return kMethodNames[static_cast<int>(method)];
}

const char* StageName(Stage stage) {
  return kStageNames[static_cast<int>(stage)];
}

// x: the logits divided by the temperature; m: the largest of x; e_i = exp(x_i - m); S: the sum of e_i.
// Then p_max = 1 / S, and the entropy -sum p log p is log S - sum (x_i - m) e_i / S.
Sureness SurenessOf(std::span<const float> logits, double temperature) {
  const auto scale = static_cast<float>(1 / temperature);
  const float most = *std::max_element(logits.begin(), logits.end());
  double sum = 0, weighted = 0;
  for (const float logit : logits) {
    const float below = (logit - most) * scale;
    const float e = std::exp(below);
    sum += e;
    if (e > 0) weighted += static_cast<double>(below) * e;
  }
  Sureness sureness{.confidence = 1 / sum, .entropy = 0};
  if (logits.size() > 1) {
    const double entropy = std::log(sum) - weighted / sum;
    sureness.entropy = std::clamp(entropy / std::log(static_cast<double>(logits.size())), 0.0, 1.0);
  }
  return sureness;
}

uint64_t RequestTotals::OfCode(absl::StatusCode code) const {
  uint64_t sum = 0;
  for (const ByMethod& method : methods) sum += method.codes[static_cast<int>(code)];
  return sum;
}

uint64_t RequestTotals::All() const {
  uint64_t sum = 0;
  for (const ByMethod& method : methods) sum = std::accumulate(method.codes.begin(), method.codes.end(), sum);
  return sum;
}

uint64_t RequestTotals::Faults() const {
  return OfCode(absl::StatusCode::kInternal) + OfCode(absl::StatusCode::kUnknown) + OfCode(absl::StatusCode::kDataLoss);
}

uint64_t RequestTotals::Shed() const {
  return std::accumulate(shed.begin(), shed.end(), uint64_t{0});
}

RequestCounts::ByMethod::ByMethod() : ok_duration(kSecondBounds), error_duration(kSecondBounds) {}

void RequestCounts::Count(Method method, const absl::Status& status, absl::Duration spent) {
  const auto one = [](std::atomic<uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); };
  ByMethod& counts = methods_[static_cast<int>(method)];
  one(counts.codes[static_cast<int>(status.code())]);
  (status.ok() ? counts.ok_duration : counts.error_duration).Observe(absl::ToDoubleSeconds(spent));
  if (status.ok()) return;
  if (const std::optional<ShedReason> reason = ShedReasonOf(status)) one(shed_[static_cast<int>(*reason)]);
}

RequestTotals RequestCounts::Totals() const {
  RequestTotals totals;
  const auto add = [](const auto& counters, auto& sums) {
    for (size_t i = 0; i < counters.size(); ++i) sums[i] += counters[i].load(std::memory_order_relaxed);
  };
  for (int m = 0; m < kMethods; ++m) {
    add(methods_[m].codes, totals.methods[m].codes);
    totals.methods[m].ok_duration = methods_[m].ok_duration.Totals();
    totals.methods[m].error_duration = methods_[m].error_duration.Totals();
  }
  add(shed_, totals.shed);
  return totals;
}

HistogramTotals RequestCounts::OkDuration() const {
  HistogramTotals totals;
  for (const ByMethod& method : methods_) method.ok_duration.AddTo(totals);
  return totals;
}

HistogramTotals RequestCounts::ErrorDuration() const {
  HistogramTotals totals;
  for (const ByMethod& method : methods_) method.error_duration.AddTo(totals);
  return totals;
}

VersionMetrics::VersionMetrics() : confidence_(kConfidenceBounds), entropy_(kEntropyBounds) {}

ModelMetrics::ModelMetrics()
    : answered_{Histogram(kSecondBounds), Histogram(kSecondBounds), Histogram(kSecondBounds), Histogram(kSecondBounds)},
      unanswered_{Histogram(kSecondBounds), Histogram(kSecondBounds), Histogram(kSecondBounds),
                  Histogram(kSecondBounds)},
      batch_images_(kImageBounds),
      batch_tokens_(kTokenBounds),
      batch_grids_(kGridBounds),
      ok_loads_(kLoadSecondBounds),
      failed_loads_(kLoadSecondBounds) {}

void ModelMetrics::CountBatch(int64_t images, int64_t tokens, int64_t grids) {
  batch_images_.Observe(static_cast<double>(images));
  batch_tokens_.Observe(static_cast<double>(tokens));
  batch_grids_.Observe(static_cast<double>(grids));
}

void ModelMetrics::CountLoad(const absl::Status& status, absl::Duration spent) {
  if (!status.ok()) Count(load_failures_);
  (status.ok() ? ok_loads_ : failed_loads_).Observe(absl::ToDoubleSeconds(spent));
}

std::shared_ptr<VersionMetrics> ModelMetrics::ForVersion(int64_t version) {
  MutexLock lock(mutex_);
  std::erase_if(versions_, [&](const auto& known) { return known.first != version && known.second.use_count() == 1; });
  std::shared_ptr<VersionMetrics>& metrics = versions_[version];
  if (metrics == nullptr) metrics = std::make_shared<VersionMetrics>();
  return metrics;
}

std::map<int64_t, std::shared_ptr<VersionMetrics>> ModelMetrics::Versions() const {
  MutexLock lock(mutex_);
  return versions_;
}

ModelTotals ModelMetrics::Totals() const {
  ModelTotals totals;
  for (int stage = 0; stage < kStages; ++stage) totals.stages[stage] = StageTotalsOf(answered_[stage].Totals());
  totals.succeeded = StageTotalsOf(requests_.OkDuration());
  totals.failed = StageTotalsOf(requests_.ErrorDuration());
  totals.batches = StageTotalsOf(batch_images_.Totals()).count;
  return totals;
}

}  // namespace vitrine
