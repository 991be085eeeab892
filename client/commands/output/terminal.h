// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_OUTPUT_TERMINAL_H_
#define VITRINE_CLIENT_COMMANDS_OUTPUT_TERMINAL_H_

namespace vitrine {

// Properties of the output terminal or file.
struct Page {
  int width = 100;      // columns
  bool colour = false;  // true if ANSI colours are allowed
};

// Returns the page of a file descriptor. Width: $COLUMNS, else the terminal's width, else 100; at least 20. Colour:
// only on a terminal, without $NO_COLOR (no-color.org) and without TERM=dumb.
Page PageBehind(int file_descriptor);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_OUTPUT_TERMINAL_H_
