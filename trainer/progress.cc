// SPDX-License-Identifier: Apache-2.0
#include "trainer/progress.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

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

void Progress::Update(const ProgressState& state, absl::Time now) {
  if (!display_.Due(now)) return;
  const double share = static_cast<double>(state.step) / static_cast<double>(state.total_steps);
  display_.Update(share, ProgressLine(state), now);
}

}  // namespace vitrine
