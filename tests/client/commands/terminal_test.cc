// SPDX-License-Identifier: Apache-2.0
#include "client/commands/output/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/client/environment.h"

namespace vitrine {
namespace {

Page PageWith(int file, const std::map<std::string, const char*>& variables) {
  std::map<std::string, const char*> all = {{"COLUMNS", nullptr}, {"NO_COLOR", nullptr}, {"TERM", "xterm"}};
  for (const auto& [name, value] : variables) all[name] = value;
  const Environment environment(all);
  return PageBehind(file);
}

TEST(PageBehind, WithoutATerminalTheVariableColumnsSetsTheWidth) {
  const int file = open("/dev/null", O_WRONLY);
  ASSERT_GE(file, 0);
  EXPECT_EQ(PageWith(file, {}).width, 100);
  EXPECT_FALSE(PageWith(file, {}).colour);
  EXPECT_EQ(PageWith(file, {{"COLUMNS", "57"}}).width, 57);
  EXPECT_EQ(PageWith(file, {{"COLUMNS", "20"}}).width, 20);
  for (const char* narrow : {"19", "1"}) EXPECT_EQ(PageWith(file, {{"COLUMNS", narrow}}).width, 20) << narrow;
  for (const char* none : {"0", "-3", "", "wide"}) EXPECT_EQ(PageWith(file, {{"COLUMNS", none}}).width, 100) << none;
  close(file);
}

TEST(PageBehind, ATerminalSetsWidthAndColours) {
  const int control = posix_openpt(O_RDWR | O_NOCTTY);
  if (control < 0 || grantpt(control) != 0 || unlockpt(control) != 0)
    GTEST_SKIP() << "this machine cannot open a pseudo terminal";
  const int terminal = open(ptsname(control), O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  winsize size = {};
  EXPECT_EQ(PageWith(terminal, {}).width, 100) << "a terminal without a width must get the default";
  size.ws_col = 33;
  ASSERT_EQ(ioctl(terminal, TIOCSWINSZ, &size), 0);
  EXPECT_EQ(PageWith(terminal, {}).width, 33);
  EXPECT_EQ(PageWith(terminal, {{"COLUMNS", "57"}}).width, 57);
  EXPECT_TRUE(PageWith(terminal, {}).colour);
  EXPECT_TRUE(PageWith(terminal, {{"TERM", nullptr}}).colour);
  EXPECT_TRUE(PageWith(terminal, {{"NO_COLOR", ""}}).colour);
  EXPECT_FALSE(PageWith(terminal, {{"NO_COLOR", "0"}}).colour);
  EXPECT_FALSE(PageWith(terminal, {{"TERM", "dumb"}}).colour);
  close(terminal);
  close(control);
}

}  // namespace
}  // namespace vitrine
