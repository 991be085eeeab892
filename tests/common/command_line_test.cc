// SPDX-License-Identifier: Apache-2.0
#include "common/command_line/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <vector>

#include "common/command_line/setting_sources.h"
#include "tests/client/environment.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

// Returns what a program with these flags prints on stderr.
std::string Said(std::vector<std::string> flags) {
  CLI::App app("", "t");
  int64_t bytes = 0;
  double fraction = 0;
  bool page = false;
  app.add_option("--bytes", bytes)->type_name("BYTES");
  app.add_option("--fraction", fraction)->type_name("FRACTION");
  app.add_flag("--page", page);
  AddSettingSources(app, "VITRINE_T_");
  flags.insert(flags.begin(), "t");
  std::vector<char*> words;
  for (std::string& flag : flags) words.push_back(flag.data());
  ::testing::internal::CaptureStderr();
  (void)ParseCommandLine(app, static_cast<int>(words.size()), words.data());
  return ::testing::internal::GetCapturedStderr();
}

TEST(ParseCommandLine, SaysWhatAValueMustBe) {
  EXPECT_THAT(Said({"--bytes", "256MiB"}), HasSubstr("--bytes = 256MiB; write a whole number of bytes\n"));
  EXPECT_THAT(Said({"--fraction", "half"}), HasSubstr("--fraction = half; write a number\n"));
  EXPECT_THAT(Said({"--page=maybe"}), HasSubstr("write true or false\n"));
  const Environment variable("VITRINE_T_BYTES", "1k");
  EXPECT_THAT(Said({}), HasSubstr("--bytes = 1k; write a whole number of bytes\n"));
}

TEST(ParseCommandLine, NamesTheFlagOfAMissingFile) {
  EXPECT_THAT(Said({"--config", "nope.toml"}), HasSubstr("t: --config nope.toml was not readable"));
}

TEST(ParseCommandLine, MakesAWriteBeyondTheFileSizeLimitAnError) {
  const sighandler_t before = signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(Said({}), "");
  EXPECT_EQ(signal(SIGXFSZ, before), SIG_IGN);
}

}  // namespace
}  // namespace vitrine
