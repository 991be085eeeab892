// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_OBSERVER_H_
#define VITRINE_TRAINER_OBSERVER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "trainer/task.h"

namespace vitrine {

// Report before the first step of this process.
struct StartReport {
  int64_t step = 0;  // steps done by earlier runs; 0 for a new run
  int64_t total_steps = 0;
  // True if the earlier run ended after step `step`, but before it reported that step's measurement or epoch's end.
  // This process then begins with these reports, so observers may get them twice.
  bool measures_again = false;
  std::vector<std::string> blocks = {};  // names of the blocks in StepReport::block_norms
};

// Report after every step.
struct StepReport {
  int64_t step = 0;  // steps done
  int64_t total_steps = 0;
  int64_t steps_per_epoch = 1;
  double epoch = 0;                      // epochs done
  double lr = 0;                         // learning rate of this step
  double loss = 0;                       // mean loss over the step's samples
  double gradient_norm = 0;              // norm before clipping, of all gradients
  std::vector<double> block_norms = {};  // each block's gradient norm before clipping; empty unless Recipe.block_norms
  double epoch_loss = 0;                 // mean loss over the epoch so far
  double epoch_accuracy = 0;             // accuracy on the epoch's augmented samples so far, 0 to 1; NaN: not counted
  int64_t samples = 0;                   // samples since the run's first step, over all processes
  double samples_per_second = 0;         // over all processes since they started or resumed; without measurements
  double wait_share = 0;                 // share of the time in which the loop waited for data
  absl::Duration waited = absl::ZeroDuration();  // wait for data since this process started or resumed
  absl::Duration remaining;                      // estimated training time left
};

// Report after every measurement.
struct ScoreReport {
  int64_t step = 0;
  double epoch = 0;
  std::string split;  // "validation", "test" or "train"; with "-raw" appended: score of the weights before averaging
  Score score;
  bool best = false;  // true: the best score of the run so far
};

// Report at the end of every epoch and of the run, after the measurement.
struct EpochReport {
  StepReport last;     // last step of the epoch
  std::string scores;  // "test top1 76.41 %", empty if nothing was measured
};

// Observer of a run: the progress bar, history.csv, event files, a metrics endpoint. Calls block the training thread,
// so they must be short.
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
