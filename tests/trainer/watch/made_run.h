// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_TRAINER_WATCH_MADE_RUN_H_
#define VITRINE_TESTS_TRAINER_WATCH_MADE_RUN_H_

#include <cmath>
#include <filesystem>
#include <string>

#include "tests/scratch_folder.h"
#include "trainer/observer.h"

namespace vitrine {

// Number of steps of a made-up run that is reported to an observer. Every reported number is a function of the step.
inline constexpr int64_t kMadeSteps = 12;
inline constexpr int64_t kMadeStepsPerEpoch = 4;

inline StepReport MadeStep(int64_t step) {
  StepReport report;
  report.step = step;
  report.total_steps = kMadeSteps;
  report.steps_per_epoch = kMadeStepsPerEpoch;
  report.epoch = static_cast<double>(step) / kMadeStepsPerEpoch;
  report.lr = 1e-3 / static_cast<double>(step);
  report.loss = std::exp(-0.1 * static_cast<double>(step)) / 3;
  report.gradient_norm = 1.0 / static_cast<double>(3 * step);
  report.epoch_loss = report.loss * 1.01;
  report.epoch_accuracy = static_cast<double>(step) / 13;
  report.samples = 32 * step;
  report.samples_per_second = 100.04;
  report.wait_share = 0.25;
  report.waited = absl::Milliseconds(1500) * step;
  report.remaining = absl::Seconds(60 - step);
  return report;
}

inline ScoreReport MadeScore(const std::string& split, int64_t step) {
  ScoreReport report;
  report.step = step;
  report.epoch = static_cast<double>(step) / kMadeStepsPerEpoch;
  report.split = split;
  report.score.measures = {{"top1", static_cast<double>(step) / 17}, {"loss", 2.0 / static_cast<double>(step)}};
  report.score.samples = 1000;
  report.best = step != 8;
  return report;
}

inline bool MadeMeasures(int64_t step) {
  return step == 6 || step % kMadeStepsPerEpoch == 0;
}

// Reports the measurement of this step, if the run has one: of the validation split at step 6, in the middle of an
// epoch, and of the test split at the ends of the second and third epoch. Reports the end of an epoch at its last step.
inline void FeedMeasurement(int64_t step, Observer& observer) {
  if (step == 6) observer.OnScore(MadeScore("validation", step));
  if (step == 8 || step == 12) observer.OnScore(MadeScore("test", step));
  if (step % kMadeStepsPerEpoch == 0) observer.OnEpoch({.last = MadeStep(step), .scores = ""});
}

// Reports the steps after `first` up to `last`, with their measurements. If `measures_again` is true, begins with the
// measurements of step `first`.
inline void Feed(int64_t first, int64_t last, Observer& observer, bool measures_again = false) {
  observer.OnStart({.step = first, .total_steps = kMadeSteps, .measures_again = measures_again});
  if (measures_again) FeedMeasurement(first, observer);
  for (int64_t step = first + 1; step <= last; ++step) {
    observer.OnStep(MadeStep(step));
    FeedMeasurement(step, observer);
  }
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_TRAINER_WATCH_MADE_RUN_H_
