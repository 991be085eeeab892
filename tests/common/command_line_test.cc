// SPDX-License-Identifier: Apache-2.0
#include "common/command_line/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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
  app.add_option("--steps", bytes)->check(CLI::NonNegativeNumber);
  app.add_flag("--page", page);
  AddSettingSources(app, "VITRINE_T_");
  flags.insert(flags.begin(), "t");
  std::vector<char*> words;
  for (std::string& flag : flags) words.push_back(flag.data());
  ::testing::internal::CaptureStderr();
  (void)ParseCommandLine(app, static_cast<int>(words.size()), words.data());
  return ::testing::internal::GetCapturedStderr();
}

TEST(ParseCommandLine, ErrorsStateTheRequirementOnAValue) {
  EXPECT_THAT(Said({"--bytes", "256MiB"}), HasSubstr("--bytes = 256MiB; write a whole number of bytes\n"));
  EXPECT_THAT(Said({"--fraction", "half"}), HasSubstr("--fraction = half; write a number\n"));
  EXPECT_THAT(Said({"--page=maybe"}), HasSubstr("write true or false\n"));
  EXPECT_THAT(Said({"--steps", "5s"}), HasSubstr("t: --steps: Value 5s is not a number of at least 0\n"));
  const Environment variable("VITRINE_T_BYTES", "1k");
  EXPECT_THAT(Said({}), HasSubstr("--bytes = 1k; write a whole number of bytes\n"));
}

// Parses `words` as the command line of a program that has a command. Returns the values of --metrics, of the command's
// --name and of --page, and the other words, all separated by commas.
std::string Parsed(std::vector<std::string> words) {
  CLI::App app("", "t");
  app.fallthrough();
  std::string metrics = "default", name = "default";
  bool page = false;
  app.add_option("--metrics", metrics);
  app.add_flag("--page", page);
  CLI::App& command = *app.add_subcommand("command")->fallthrough();
  std::vector<std::string> rest;
  command.add_option("--name,-n", name);
  command.add_option("REST", rest);
  words.insert(words.begin(), "t");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  if (const auto code = ParseCommandLine(app, static_cast<int>(pointers.size()), pointers.data())) return "refused";
  std::string text = absl::StrCat(metrics, ",", name, ",", page ? "page" : "");
  for (const std::string& word : rest) absl::StrAppend(&text, ",", word);
  return text;
}

TEST(ParseCommandLine, AnEqualsSignWithoutTextIsAnEmptyValue) {
  EXPECT_EQ(Parsed({"--metrics=", "--page"}), ",default,page");
  EXPECT_EQ(Parsed({"--page", "--metrics="}), ",default,page");
  EXPECT_EQ(Parsed({"--metrics=a", "--page"}), "a,default,page");
  EXPECT_EQ(Parsed({"--metrics=a=", "command", "--name="}), "a=,,");
  EXPECT_EQ(Parsed({"command", "--metrics=", "--name=", "--page"}), ",,page");
  EXPECT_EQ(Parsed({"command", "-n", "--metrics="}), "default,--metrics=,") << "the value of the flag before it";
  EXPECT_EQ(Parsed({"command", "--", "--metrics="}), "default,default,,--metrics=") << "no flag";
  EXPECT_THAT(Said({"--bytes=", "--page"}), HasSubstr("--bytes = --page; write a whole number of bytes\n"))
      << "no number is empty";
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
