// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/training_metrics.h"

#include <cmath>
#include <utility>

#include "absl/time/clock.h"

namespace vitrine {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Families = std::vector<MetricFamily>;

void AddValue(std::vector<ClientMetric::Label> labels, double value, MetricFamily& family) {
  ClientMetric& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  (family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
}

void Add(const char* name, const char* help, MetricType type, double value, Families& families) {
  families.push_back({name, help, type, {}});
  AddValue({}, value, families.back());
}

void AddGauge(const char* name, const char* help, double value, Families& families) {
  Add(name, help, MetricType::Gauge, value, families);
}

void AddCounter(const char* name, const char* help, double value, Families& families) {
  Add(name, help, MetricType::Counter, value, families);
}

void AddSteps(const StepReport& last, Families& families) {
  AddCounter("vitrine_train_steps_total", "Finished steps, including earlier parts of a resumed run.",
             static_cast<double>(last.step), families);
  AddCounter("vitrine_train_samples_total", "Samples trained on since the first step, over all processes.",
             static_cast<double>(last.samples), families);
  AddCounter("vitrine_train_data_wait_seconds_total", "Time that training waited for data in this process.",
             absl::ToDoubleSeconds(last.waited), families);
  AddGauge("vitrine_train_planned_steps", "Steps of the whole run.", static_cast<double>(last.total_steps), families);
  AddGauge("vitrine_train_epoch", "Finished epochs, with the fraction of the current one.", last.epoch, families);
  AddGauge("vitrine_train_loss", "Mean loss over the samples of the last step.", last.loss, families);
  AddGauge("vitrine_train_epoch_loss", "Mean loss over the epoch so far.", last.epoch_loss, families);
  AddGauge("vitrine_train_learning_rate", "Learning rate of the last step.", last.lr, families);
  AddGauge("vitrine_train_gradient_norm", "Norm of the last step's gradient before clipping.", last.gradient_norm,
           families);
  if (!std::isnan(last.epoch_accuracy)) {
    AddGauge("vitrine_train_accuracy_ratio",
             "Share of training samples classified correctly in the epoch so far, 0 to 1.", last.epoch_accuracy,
             families);
  }
  AddGauge("vitrine_train_remaining_seconds", "Estimated remaining training time.",
           absl::ToDoubleSeconds(last.remaining), families);
}

}  // namespace

TrainingMetrics::TrainingMetrics(std::string recipe, std::string program_version)
    : recipe_(std::move(recipe)), program_version_(std::move(program_version)) {}

void TrainingMetrics::OnStep(const StepReport& report) {
  const absl::MutexLock lock(&mutex_);
  last_ = report;
  last_step_ = absl::Now();
}

void TrainingMetrics::OnScore(const ScoreReport& report) {
  const absl::MutexLock lock(&mutex_);
  for (const Measure& measure : report.score.measures) scores_[{report.split, measure.name}] = measure.value;
}

std::vector<MetricFamily> TrainingMetrics::Collect() const {
  const absl::MutexLock lock(&mutex_);
  Families families;
  families.push_back({"vitrine_build_info", "Version of the program; the value is 1.", MetricType::Gauge, {}});
  AddValue({{"version", program_version_}}, 1, families.back());
  families.push_back({"vitrine_train_info", "Recipe of the training; the value is 1.", MetricType::Gauge, {}});
  AddValue({{"recipe", recipe_}}, 1, families.back());
  if (last_step_ == absl::InfinitePast()) return families;  // before the first step, there are no values

  AddSteps(last_, families);
  AddGauge("vitrine_train_last_step_timestamp_seconds", "Time of the end of the last step, in seconds since 1970.",
           absl::ToDoubleSeconds(last_step_ - absl::UnixEpoch()), families);
  if (scores_.empty()) return families;
  families.push_back({"vitrine_train_score", "Last measured score of a split.", MetricType::Gauge, {}});
  for (const auto& [key, value] : scores_) {
    AddValue({{"split", key.first}, {"measure", key.second}}, value, families.back());
  }
  return families;
}

}  // namespace vitrine
