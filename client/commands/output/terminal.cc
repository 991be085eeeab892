// SPDX-License-Identifier: Apache-2.0
#include "client/commands/output/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"

namespace vitrine {
namespace {

constexpr int kNarrowestPage = 20;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Page PageBehind(int file_descriptor) {
  Page page;
  const bool terminal = isatty(file_descriptor) == 1;
  winsize size = {};
  int columns = 0;
  if (absl::SimpleAtoi(Environment("COLUMNS"), &columns) && columns > 0) {
    page.width = columns;
  } else if (terminal && ioctl(file_descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    page.width = size.ws_col;
  }
  page.width = std::max(page.width, kNarrowestPage);
  page.colour = terminal && Environment("NO_COLOR").empty() && Environment("TERM") != "dumb";
  return page;
}

}  // namespace vitrine
