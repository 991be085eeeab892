// SPDX-License-Identifier: Apache-2.0
#include "common/charts/progress_display.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <sstream>

#include "absl/time/clock.h"

namespace vitrine {
namespace {

TEST(ProgressDisplay, CutsTheBarAtTheWidthOfTheTerminal) {
  int master = -1, terminal = -1;
  const winsize size = {.ws_row = 24, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(openpty(&master, &terminal, nullptr, nullptr, &size), 0);
  const int before = dup(STDERR_FILENO);
  dup2(terminal, STDERR_FILENO);
  std::ostringstream out;
  ProgressDisplay display(out, {.is_terminal = true});
  display.Update(0.5, std::string(80, 'x'), absl::Now());
  dup2(before, STDERR_FILENO);
  for (const int file : {before, terminal, master}) close(file);
  EXPECT_EQ(out.str(), "\r\033[K[============            ] " + std::string(39 - 27, 'x'));
}

}  // namespace
}  // namespace vitrine
