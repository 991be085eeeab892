// SPDX-License-Identifier: Apache-2.0
#include "server/observe/model_metrics.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

namespace vitrine {
namespace {

// Seconds: a null model answers in tens of microseconds, a large batch takes seconds.
constexpr double kSecondBounds[] = {0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                    0.025,   0.05,   0.1,     0.25,   0.5,   1,      2.5,   10};
constexpr double kLoadSecondBounds[] = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120};
constexpr double kImageBounds[] = {1, 2, 4, 8, 16, 32, 64, 128};
constexpr double kTokenBounds[] = {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
constexpr double kGridBounds[] = {1, 2, 3, 4, 6, 8, 12, 16, 32};
// Finer where a good model is: a drift shows first in what was almost sure.
constexpr double kConfidenceBounds[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99};
constexpr double kEntropyBounds[] = {0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};

constexpr const char* kMethodNames[] = {"Classify", "ClassifyStream", "ModelInfer", "HttpInfer", "HttpClassify"};
static_assert(std::size(kMethodNames) == kMethods);
constexpr const char* kStageNames[] = {"queue", "decode", "compute", "encode"};
static_assert(std::size(kStageNames) == kStages);

}  // namespace

const char* MethodName(Method method) {
  return kMethodNames[static_cast<int>(method)];
}

const char* StageName(Stage stage) {
  return kStageNames[static_cast<int>(stage)];
}

std::span<const double> SecondBounds() {
  return kSecondBounds;
}
std::span<const double> LoadSecondBounds() {
  return kLoadSecondBounds;
}
std::span<const double> ImageBounds() {
  return kImageBounds;
}
std::span<const double> TokenBounds() {
  return kTokenBounds;
}
std::span<const double> GridBounds() {
  return kGridBounds;
}
std::span<const double> ConfidenceBounds() {
  return kConfidenceBounds;
}
std::span<const double> EntropyBounds() {
  return kEntropyBounds;
}

// With x the logits by the temperature, m the largest, e_i = exp(x_i - m) and S their sum: p_max = 1 / S, and the
// entropy -sum p log p is log S - sum (x_i - m) e_i / S.
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

VersionMetrics::Executor::Executor()
    : duration(kSecondBounds), confidence(kConfidenceBounds), entropy(kEntropyBounds) {}

VersionMetrics::VersionMetrics(int executors) {
  for (int i = 0; i < executors; ++i) executors_.push_back(std::make_unique<Executor>());
}

uint64_t VersionMetrics::requests() const {
  uint64_t sum = 0;
  for (const std::atomic<uint64_t>& count : codes_) sum += count.load(std::memory_order_relaxed);
  return sum;
}

uint64_t VersionMetrics::errors() const {
  const uint64_t ok = codes_[0].load(std::memory_order_relaxed);
  return requests() - ok;
}

uint64_t VersionMetrics::faults() const {
  uint64_t sum = 0;
  for (const absl::StatusCode code :
       {absl::StatusCode::kInternal, absl::StatusCode::kUnknown, absl::StatusCode::kDataLoss}) {
    sum += codes_[static_cast<int>(code)].load(std::memory_order_relaxed);
  }
  return sum;
}

ModelMetrics::Executor::Executor()
    : stages{Histogram(kSecondBounds), Histogram(kSecondBounds), Histogram(kSecondBounds), Histogram(kSecondBounds)},
      batch_images(kImageBounds),
      batch_tokens(kTokenBounds),
      batch_grids(kGridBounds) {}

ModelMetrics::ByMethod::ByMethod() : ok_duration(kSecondBounds), error_duration(kSecondBounds) {}

ModelMetrics::ModelMetrics(int executors)
    : unanswered_{SharedHistogram(kSecondBounds), SharedHistogram(kSecondBounds), SharedHistogram(kSecondBounds),
                  SharedHistogram(kSecondBounds)},
      ok_loads_(kLoadSecondBounds),
      failed_loads_(kLoadSecondBounds) {
  for (int i = 0; i < executors; ++i) executors_.push_back(std::make_unique<Executor>());
}

void ModelMetrics::CountRequest(Method method, const absl::Status& status, absl::Duration spent) {
  ByMethod& counts = methods_[static_cast<int>(method)];
  Count(counts.codes[static_cast<int>(status.code())]);
  (status.ok() ? counts.ok_duration : counts.error_duration).Observe(absl::ToDoubleSeconds(spent));
  if (status.ok()) return;
  if (const std::optional<ShedReason> reason = ShedReasonOf(status)) Count(shed_[static_cast<int>(*reason)]);
}

void ModelMetrics::CountLoad(const absl::Status& status, absl::Duration spent) {
  if (!status.ok()) Count(load_failures_);
  (status.ok() ? ok_loads_ : failed_loads_).Observe(absl::ToDoubleSeconds(spent));
}

uint64_t ModelMetrics::requests() const {
  uint64_t sum = 0;
  for (const ByMethod& method : methods_) {
    for (const std::atomic<uint64_t>& count : method.codes) sum += count.load(std::memory_order_relaxed);
  }
  return sum;
}

uint64_t ModelMetrics::errors() const {
  uint64_t ok = 0;
  for (const ByMethod& method : methods_) ok += method.codes[0].load(std::memory_order_relaxed);
  return requests() - ok;
}

uint64_t ModelMetrics::shed() const {
  uint64_t sum = 0;
  for (const std::atomic<uint64_t>& count : shed_) sum += count.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace vitrine
