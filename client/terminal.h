// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_TERMINAL_H_
#define VITRINE_CLIENT_TERMINAL_H_

namespace vitrine {

// What output is written on.
struct Page {
  int width = 100;      // columns
  bool colour = false;  // whether ANSI colours are welcome
};

// The page behind a file descriptor. Width: $COLUMNS, else the terminal's, else 100. Colour: on a terminal only, and
// neither with $NO_COLOR set to anything (no-color.org) nor on TERM=dumb.
Page PageBehind(int file_descriptor);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_TERMINAL_H_
