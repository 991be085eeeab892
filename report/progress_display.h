// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_PROGRESS_DISPLAY_H_
#define VITRINE_REPORT_PROGRESS_DISPLAY_H_

#include <ostream>
#include <string>

#include "absl/time/time.h"

namespace vitrine {

// How far something is, on stderr: one bar that is redrawn on a terminal, plain lines at longer intervals elsewhere.
// Not thread-safe.
class ProgressDisplay {
 public:
  struct Options {
    bool is_terminal = false;
    int width = 0;                                    // columns that a bar's line may take; 0: any number
    absl::Duration redraw = absl::Milliseconds(500);  // of a bar
    absl::Duration plain_lines = absl::Seconds(30);   // between lines where there is no terminal
  };
  ProgressDisplay(std::ostream& out, const Options& options) : out_(out), options_(options) {}
  ~ProgressDisplay() { Finish(); }

  // Whether enough time has passed since the last drawing for Update to draw.
  bool Due(absl::Time now) const;
  // Draws if it is due: `share`, 0 to 1, as a bar, and `text`, which is printable and of one line.
  void Update(double share, const std::string& text, absl::Time now);
  // The next Update draws, due or not.
  void Hurry() { drawn_ = absl::InfinitePast(); }
  // A line that stays, above the bar.
  void Line(const std::string& text);
  // Leaves the bar as it stands and goes to a new line.
  void Finish();

 private:
  std::ostream& out_;
  const Options options_;
  absl::Time drawn_ = absl::InfinitePast();
  bool bar_is_open_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_REPORT_PROGRESS_DISPLAY_H_
