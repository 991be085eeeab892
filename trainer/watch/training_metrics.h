// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_TRAINING_METRICS_H_
#define VITRINE_TRAINER_WATCH_TRAINING_METRICS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "trainer/observer.h"

namespace vitrine {

// All metrics of a training run. Their names, labels and help texts are in training_metrics.cc. The number of label
// values is bounded: the task determines the splits and the measures, and the recipe and the program version are fixed.
// Thread-safe.
class TrainingMetrics final : public Observer, public prometheus::Collectable {
 public:
  TrainingMetrics(std::string recipe, std::string program_version);

  void OnStep(const StepReport& report) override;
  void OnScore(const ScoreReport& report) override;

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::string recipe_;
  const std::string program_version_;

  mutable absl::Mutex mutex_;
  StepReport last_ ABSL_GUARDED_BY(mutex_);
  absl::Time last_step_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::map<std::pair<std::string, std::string>, double> scores_ ABSL_GUARDED_BY(mutex_);  // by split and measure
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_TRAINING_METRICS_H_
