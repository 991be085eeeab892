// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_PROGRESS_DISPLAY_H_
#define VITRINE_COMMON_CHARTS_PROGRESS_DISPLAY_H_

#include <ostream>
#include <string>

#include "absl/time/time.h"

namespace vitrine {

// Progress display: on a terminal, a bar that is redrawn; otherwise plain lines at longer intervals. Not thread-safe.
class ProgressDisplay {
 public:
  struct Options {
    bool is_terminal = false;
    int width = 0;                                    // columns of a bar's line; 0: the width of stderr's terminal
    absl::Duration redraw = absl::Milliseconds(500);  // interval between drawings of a bar
    absl::Duration plain_lines = absl::Seconds(30);   // interval between lines if stderr is no terminal
  };
  ProgressDisplay(std::ostream& out, const Options& options) : out_(out), options_(options) {}
  ~ProgressDisplay() { Finish(); }

  // Returns true if Update would draw at `now`, because enough time has passed since the last drawing.
  bool Due(absl::Time now) const;
  // If due, draws a bar for `share` (0 to 1) and `text`, one printable line. Without a terminal, prints only `text`.
  void Update(double share, const std::string& text, absl::Time now);
  // Makes the next call of Update draw.
  void Hurry() { drawn_ = absl::InfinitePast(); }
  // Prints a permanent line above the bar.
  void Line(const std::string& text);
  // Leaves the bar on the screen and starts a new line.
  void Finish();

 private:
  std::ostream& out_;
  const Options options_;
  absl::Time drawn_ = absl::InfinitePast();
  bool bar_is_open_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_PROGRESS_DISPLAY_H_
