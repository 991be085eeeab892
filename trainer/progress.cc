#include "trainer/progress.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace vitrine {
namespace {

constexpr absl::Duration kRedraw = absl::Milliseconds(500);
constexpr absl::Duration kPlainLines = absl::Seconds(30);
constexpr int kBarCells = 24;

std::string Bar(double share) {
  const int full = std::clamp(static_cast<int>(std::lround(share * kBarCells)), 0, kBarCells);
  return absl::StrFormat("[%s%s]", std::string(full, '='), std::string(kBarCells - full, ' '));
}

}  // namespace

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
  if (now - drawn_ < (is_terminal_ ? kRedraw : kPlainLines)) return;
  drawn_ = now;
  if (!is_terminal_) {
    out_ << ProgressLine(state) << std::endl;
    return;
  }
  const double share = static_cast<double>(state.step) / static_cast<double>(state.total_steps);
  out_ << "\r\033[K" << Bar(share) << " " << ProgressLine(state) << std::flush;
  bar_is_open_ = true;
}

void Progress::Line(const std::string& text) {
  if (bar_is_open_) out_ << "\r\033[K";
  bar_is_open_ = false;
  if (is_terminal_) drawn_ = absl::InfinitePast();
  out_ << text << std::endl;
}

void Progress::Finish() {
  if (bar_is_open_) out_ << std::endl;
  bar_is_open_ = false;
}

}  // namespace vitrine
