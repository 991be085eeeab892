// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_PROGRESS_H_
#define VITRINE_TRAINER_PROGRESS_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/time/time.h"
#include "common/charts/progress_display.h"
#include "trainer/task.h"

namespace vitrine {

// Content of the progress bar.
struct ProgressState {
  int64_t step = 0;
  int64_t total_steps = 0;
  int64_t steps_per_epoch = 1;
  double loss = 0;      // mean loss over the epoch so far
  double accuracy = 0;  // accuracy on the epoch's augmented training samples so far; NaN: not shown
  double images_per_second = 0;
  double wait_share = 0;  // share of the time in which the loop waited for data
  absl::Duration remaining;
  std::string samples_in_words = "images";
};

// Returns for example "epoch 3/8  42 %  loss 1.234  acc 55.1 %  132 images/s  12m30s left  data wait 1 %".
std::string ProgressLine(const ProgressState& state);

// Returns for example "measuring test 24x24  42 %  4,200 of 10,000 images  12s left".
std::string MeasuringLine(const std::string& what, const std::string& samples_in_words, int64_t done, int64_t total,
                          absl::Duration elapsed);

// Shows the progress of a run: on a terminal, a bar that is redrawn; otherwise plain lines at longer intervals. Not
// thread-safe.
class Progress {
 public:
  Progress(std::ostream& out, bool is_terminal) : display_(out, {.is_terminal = is_terminal}) {}

  // Redraws the bar if enough time has passed since it was last drawn.
  void Update(const ProgressState& state, absl::Time now);
  // Returns the callback for a measurement that starts now. This object must outlive the callback.
  MeasureProgress Measuring(const std::string& what, const std::string& samples_in_words);
  // Prints a permanent line above the bar.
  void Line(const std::string& text) { display_.Line(text); }
  // Leaves the last bar on the screen and starts a new line.
  void Finish() { display_.Finish(); }

 private:
  ProgressDisplay display_;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_PROGRESS_H_
