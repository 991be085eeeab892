// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_OBSERVER_H_
#define VITRINE_TRAINER_OBSERVER_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "trainer/task.h"

namespace vitrine {

// Before the first step of this process.
struct StartReport {
  int64_t step = 0;  // steps done by earlier runs; 0 for a new one
  int64_t total_steps = 0;
  // The earlier run ended between step `step` and its measurement or the end of its epoch, which follow now. What it
  // may have recorded of these is recorded again.
  bool measures_again = false;
};

// After every step.
struct StepReport {
  int64_t step = 0;  // steps done
  int64_t total_steps = 0;
  int64_t steps_per_epoch = 1;
  double epoch = 0;               // epochs done
  double lr = 0;                  // of this step
  double loss = 0;                // mean over the step's samples
  double gradient_norm = 0;       // before clipping; 0 where the recipe does not clip
  double epoch_loss = 0;          // mean over the epoch so far
  double epoch_accuracy = 0;      // on the augmented samples of the epoch so far, 0 to 1; NaN where nothing is counted
  int64_t samples = 0;            // seen since the first step, over all processes
  double samples_per_second = 0;  // of this process since it started or resumed, without measuring
  double wait_share = 0;          // part of the time that the loop waited for data
  absl::Duration waited = absl::ZeroDuration();  // for data, since this process started or resumed
  absl::Duration remaining;                      // estimated, of training
};

// After every measurement.
struct ScoreReport {
  int64_t step = 0;
  double epoch = 0;
  std::string split;  // "validation", "test" or "train"
  Score score;
  bool best = false;  // the best of the run so far
};

// At the end of every epoch, after its measurement.
struct EpochReport {
  StepReport last;     // of the epoch's last step
  std::string scores;  // "test top1 76.41 %", empty where nothing was measured
};

// Somebody who watches a run: the progress bar, history.csv, event files, a metrics endpoint. Called by the thread that
// trains, which waits: do little.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void OnStart(const StartReport&) {}
  virtual void OnStep(const StepReport&) {}
  virtual void OnScore(const ScoreReport&) {}
  virtual void OnEpoch(const EpochReport&) {}
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_OBSERVER_H_
