// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_PROGRESS_BAR_H_
#define VITRINE_TRAINER_WATCH_PROGRESS_BAR_H_

#include <cstdint>
#include <string>
#include <utility>

#include "trainer/observer.h"
#include "trainer/progress.h"

namespace vitrine {

// Shows a run through a Progress: the bar at steps, and a permanent line at every epoch and at measurements within an
// epoch. Marks the line of the best measurement so far.
class ProgressBar final : public Observer {
 public:
  // `progress` must outlive the bar. `samples_in_words` is Task::samples_in_words: "images".
  ProgressBar(Progress& progress, std::string samples_in_words)
      : progress_(progress), samples_in_words_(std::move(samples_in_words)) {}

  void OnStart(const StartReport& report) override { total_steps_ = report.total_steps; }
  void OnStep(const StepReport& report) override;
  void OnScore(const ScoreReport& report) override;
  void OnEpoch(const EpochReport& report) override;

 private:
  Progress& progress_;
  const std::string samples_in_words_;
  int64_t total_steps_ = 0;
  std::string best_;  // " (best so far)" if the epoch's measurement was the best
};

// Formats a score: "test top1 76.41 %, loss 0.8123"; fractions are in percent.
std::string ScoreInWords(const std::string& split, const Score& score);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_PROGRESS_BAR_H_
