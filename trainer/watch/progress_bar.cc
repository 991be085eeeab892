// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/progress_bar.h"

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace vitrine {
namespace {

// Returns true for a fraction. A loss or perplexity is not a fraction, even if it is below 1.
bool IsShare(const Measure& measure) {
  return !absl::StrContains(measure.name, "loss") && !absl::StrContains(measure.name, "perplexity") &&
         measure.value >= 0 && measure.value <= 1;
}

}  // namespace

std::string ScoreInWords(const std::string& split, const Score& score) {
  std::string words = split;
  for (const Measure& measure : score.measures) {
    absl::StrAppend(
        &words, words == split ? " " : ", ", measure.name, " ",
        IsShare(measure) ? absl::StrFormat("%.2f %%", 100 * measure.value) : absl::StrFormat("%.4g", measure.value));
  }
  return words;
}

void ProgressBar::OnStep(const StepReport& report) {
  const ProgressState state{.step = report.step,
                            .total_steps = report.total_steps,
                            .steps_per_epoch = report.steps_per_epoch,
                            .loss = report.epoch_loss,
                            .accuracy = report.epoch_accuracy,
                            .images_per_second = report.samples_per_second,
                            .wait_share = report.wait_share,
                            .remaining = report.remaining,
                            .samples_in_words = samples_in_words_};
  progress_.Update(state, absl::Now());
}

void ProgressBar::OnScore(const ScoreReport& report) {
  const std::string best = report.best ? " (best so far)" : "";
  const bool ends_epoch = report.epoch == std::floor(report.epoch) || report.step == total_steps_;
  if (ends_epoch) {  // the line at the end of the epoch reports the score
    best_ = best;
    return;
  }
  progress_.Line(absl::StrFormat("step %d (epoch %.2f)  %s%s", report.step, report.epoch,
                                 ScoreInWords(report.split, report.score), best));
}

void ProgressBar::OnEpoch(const EpochReport& report) {
  const StepReport& last = report.last;
  std::string line = absl::StrFormat("epoch %.2f  loss %.4f", last.epoch, last.epoch_loss);
  if (!std::isnan(last.epoch_accuracy)) absl::StrAppendFormat(&line, "  train acc %.2f %%", 100 * last.epoch_accuracy);
  absl::StrAppendFormat(&line, "  lr %.2g  %.0f %s/s", last.lr, last.samples_per_second, samples_in_words_);
  if (!report.scores.empty()) absl::StrAppend(&line, "  ", report.scores, best_);
  best_.clear();
  progress_.Line(line);
}

}  // namespace vitrine
