// SPDX-License-Identifier: Apache-2.0
#include "common/charts/progress_display.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace vitrine {
namespace {

constexpr int kBarCells = 24;

std::string Bar(double share) {
  const int full = std::clamp(static_cast<int>(std::lround(share * kBarCells)), 0, kBarCells);
  return "[" + std::string(static_cast<size_t>(full), '=') + std::string(static_cast<size_t>(kBarCells - full), ' ') +
         "]";
}

// Returns the columns of the terminal of stderr, which may change at any time; 0: unknown.
int Columns() {
  winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

bool ProgressDisplay::Due(absl::Time now) const {
  return now - drawn_ >= (options_.is_terminal ? options_.redraw : options_.plain_lines);
}

void ProgressDisplay::Update(double share, const std::string& text, absl::Time now) {
  if (!Due(now)) return;
  drawn_ = now;
  if (!options_.is_terminal) {
    out_ << text << std::endl;
    return;
  }
  std::string line = Bar(share) + " " + text;
  // The line is cut to the terminal's width, because a wrapped line cannot be overwritten.
  const int width = options_.width > 0 ? options_.width : Columns();
  if (width > 1) line.resize(std::min(line.size(), static_cast<size_t>(width - 1)));
  out_ << "\r\033[K" << line << std::flush;
  bar_is_open_ = true;
}

void ProgressDisplay::Line(const std::string& text) {
  if (bar_is_open_) out_ << "\r\033[K";
  bar_is_open_ = false;
  if (options_.is_terminal) drawn_ = absl::InfinitePast();
  out_ << text << std::endl;
}

void ProgressDisplay::Finish() {
  if (bar_is_open_) out_ << std::endl;
  bar_is_open_ = false;
}

}  // namespace vitrine
