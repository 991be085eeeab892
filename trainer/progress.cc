// SPDX-License-Identifier: Apache-2.0
#include "trainer/progress.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/charts/html/data_table.h"

namespace vitrine {

std::string ProgressLine(const ProgressState& state) {
  const int64_t epoch = std::min(state.step, state.total_steps - 1) / state.steps_per_epoch + 1;
  const int64_t epochs = (state.total_steps + state.steps_per_epoch - 1) / state.steps_per_epoch;
  const double share = static_cast<double>(state.step) / static_cast<double>(state.total_steps);
  std::string line = absl::StrFormat("epoch %d/%d  %.0f %%  loss %.3f", epoch, epochs, 100 * share, state.loss);
  if (!std::isnan(state.accuracy)) absl::StrAppendFormat(&line, "  acc %.1f %%", 100 * state.accuracy);
  absl::StrAppendFormat(&line, "  %.0f %s/s  %s left  data wait %.0f %%", state.images_per_second,
                        state.samples_in_words, absl::FormatDuration(absl::Trunc(state.remaining, absl::Seconds(1))),
                        100 * state.wait_share);
  return line;
}

std::string MeasuringLine(const std::string& what, const std::string& samples_in_words, int64_t done, int64_t total,
                          absl::Duration elapsed) {
  const double left = static_cast<double>(total - done) / static_cast<double>(std::max<int64_t>(1, done));
  return absl::StrFormat("measuring %s  %.0f %%  %s of %s %s  %s left", what,
                         100 * static_cast<double>(done) / static_cast<double>(std::max<int64_t>(1, total)),
                         WithSeparators(done), WithSeparators(total), samples_in_words,
                         absl::FormatDuration(absl::Trunc(elapsed * left, absl::Seconds(1))));
}

MeasureProgress Progress::Measuring(const std::string& what, const std::string& samples_in_words) {
  return [this, what, samples_in_words, start = absl::Now()](int64_t done, int64_t total) {
    const absl::Time now = absl::Now();
    if (total == 0 || !display_.Due(now)) return;
    display_.Update(static_cast<double>(done) / static_cast<double>(total),
                    MeasuringLine(what, samples_in_words, done, total, now - start), now);
  };
}

void Progress::Update(const ProgressState& state, absl::Time now) {
  if (!display_.Due(now)) return;
  const double share = static_cast<double>(state.step) / static_cast<double>(state.total_steps);
  display_.Update(share, ProgressLine(state), now);
}

}  // namespace vitrine
