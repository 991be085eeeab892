// SPDX-License-Identifier: Apache-2.0
#include "common/command_line/setting_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/client/environment.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Settings {
  std::string max_wait = "default";
  int executors = 1;
  bool page = false;
  std::vector<std::string> proxies = {"default"};
  bool check = false;
};

// Parses flags with the same setting sources as the server. `file` is the content of --config; if it is empty, --config
// is not given.
Settings Parse(const std::string& file, std::vector<std::string> flags = {}) {
  Settings settings;
  CLI::App app;
  app.add_option("--max-wait", settings.max_wait);
  app.add_option("--executors", settings.executors);
  app.add_flag("--page", settings.page);
  app.add_option("--proxies", settings.proxies)->delimiter(',')->expected(1)->take_all();
  AddSettingSources(app, "VITRINE_T_");
  app.add_flag("--check", settings.check);
  const ScratchFolder folder;
  if (!file.empty()) flags.insert(flags.end(), {"--config", folder.Write("t.toml", file)});
  std::reverse(flags.begin(), flags.end());  // the order that CLI11 needs
  app.parse(flags);
  return settings;
}

// Returns the error message of parsing this file.
std::string Fault(const std::string& file) {
  try {
    Parse(file);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "no fault";
}

TEST(SettingSources, PriorityIsFlagVariableFileDefault) {
  const std::string file = "max-wait = \"file\"\n";
  EXPECT_EQ(Parse("").max_wait, "default");
  EXPECT_EQ(Parse(file).max_wait, "file");
  EXPECT_EQ(Parse(file, {"--max-wait=flag"}).max_wait, "flag");
  const Environment variable("VITRINE_T_MAX_WAIT", "variable");
  EXPECT_EQ(Parse("").max_wait, "variable");
  EXPECT_EQ(Parse(file).max_wait, "variable");
  EXPECT_EQ(Parse(file, {"--max-wait=flag"}).max_wait, "flag");
}

TEST(SettingSources, AnEmptyVariableIsNotSet) {
  const Environment variable("VITRINE_T_MAX_WAIT", "");
  EXPECT_EQ(Parse("").max_wait, "default");
  EXPECT_EQ(Parse("max-wait = \"file\"").max_wait, "file");
}

TEST(SettingSources, AnEmptyNameOfTheFileIsRefused) {
  try {
    Parse("", {"--config", ""});
    ADD_FAILURE() << "accepted";
  } catch (const CLI::ValidationError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--config: the value is empty"));
  }
}

TEST(SettingSources, AFileMayHaveCommentsNumbersFlagsAndLists) {
  const Settings settings = Parse("# a comment\n\nexecutors=4 # more\npage = true\nproxies = [\"a\", \"b\"]\n");
  EXPECT_EQ(settings.executors, 4);
  EXPECT_TRUE(settings.page);
  EXPECT_THAT(settings.proxies, ElementsAre("a", "b"));
  EXPECT_THAT(Parse("proxies = \"a,b\"").proxies, ElementsAre("a", "b"));
  EXPECT_FALSE(Parse("page = false").page);
  EXPECT_EQ(Parse("# a comment\r\nexecutors = 4 # more\r\n").executors, 4);
  EXPECT_THAT(Parse("max-wait = \"\"").max_wait, IsEmpty());
  EXPECT_EQ(Parse("max-wait = \"a, b\"").max_wait, "a, b");
}

TEST(SettingSources, AVariableMaySetFlagsAndLists) {
  const Environment variables({{"VITRINE_T_PAGE", "true"}, {"VITRINE_T_PROXIES", "a,b"}});
  EXPECT_TRUE(Parse("page = false").page);
  EXPECT_THAT(Parse("proxies = \"c\"").proxies, ElementsAre("a", "b"));
  const Environment off("VITRINE_T_PAGE", "false");
  EXPECT_FALSE(Parse("page = true").page);
}

TEST(SettingSources, AnUnknownKeyIsNamedWithASuggestionButWithoutItsValue) {
  EXPECT_THAT(Fault("max-wiat = \"secret\""),
              AllOf(HasSubstr("there is no setting max-wiat; did you mean max-wait?"), Not(HasSubstr("secret"))));
  EXPECT_THAT(Fault("nonsense = 1"), HasSubstr("there is no setting nonsense"));
  EXPECT_THAT(Fault("[server]\nexecutors = 1"), HasSubstr("line 1 is a table or a list"));
  EXPECT_THAT(Fault("# " + std::string(100000, 'a')), HasSubstr("line 1 has 100002 bytes; a line has at most 4096"));
  EXPECT_THAT(Fault("executors = 1\npage = true\nexecutors = 2"), HasSubstr("line 3: executors is set twice"));
  EXPECT_THAT(Fault("proxies = \"a\"\nproxies = \"b\""), HasSubstr("line 2: proxies is set twice"));
  EXPECT_THAT(Fault("executors = many"), HasSubstr("--executors"));
}

// The parser of CLI11 accepts lists over several lines. With this parser, an unterminated list would hide the settings
// after it.
TEST(SettingSources, AnInvalidLineIsRefusedAndHidesNoOtherLine) {
  for (const std::string line :
       {"proxies = [\"a\"", "proxies = [\"a\", # office", "proxies = [\"a#\"]", "max-wait = \"a#b\"", "max-wait = 'a'",
        "max-wait = \"secret", "page", "; page", "a=", "max-wait ="}) {
    EXPECT_THAT(Fault("page = true\n" + line + "\nexecutors = 2"),
                AllOf(HasSubstr("--config: line 2 is not KEY = VALUE"), Not(HasSubstr("secret"))))
        << line;
  }
}

TEST(SettingSources, OnlySettingsCanBeInAFileOrVariable) {
  for (const std::string key : {"check", "help", "config"}) {
    EXPECT_THAT(Fault(key + " = true"), HasSubstr("there is no setting " + key)) << key;
  }
  const Environment variable("VITRINE_T_CHECK", "true");
  EXPECT_FALSE(Parse("").check);
  EXPECT_TRUE(Parse("", {"--check"}).check);
}

TEST(SettingSources, AMistypedVariableIsRefused) {
  {
    const Environment variable("VITRINE_T_EXECUTOR", "secret");
    EXPECT_THAT(Fault(""), AllOf(HasSubstr("no variable VITRINE_T_EXECUTOR; did you mean VITRINE_T_EXECUTORS?"),
                                 Not(HasSubstr("secret"))));
    EXPECT_THROW(Parse("", {"--help"}), CLI::CallForHelp);
  }
  {
    const Environment variable("VITRINE_T_CONFIG", "settings.toml");
    EXPECT_THAT(Fault(""), HasSubstr("VITRINE_T_CONFIG is not read; name the file with --config"));
  }
  const Environment others({{"VITRINE_T_PORT", "tcp://10.0.0.1:1"},  // Kubernetes sets these for a Service vitrine-t
                            {"VITRINE_T_PAG_PORT", "tcp://10.0.0.1:1"},
                            {"VITRINE_T_PAG_SERVICE_PORT_HTTP", "1"},
                            {"VITRINE_T_SERVICE_HOST", "10.0.0.1"},
                            {"VITRINE_T_PORT_8500_TCP", "tcp://10.0.0.1:1"},
                            {"VITRINE_EXECUTOR", "2"}});
  EXPECT_EQ(Fault(""), "no fault");
}

TEST(SettingSources, HelpDescribesTheSources) {
  CLI::App app;
  int executors = 1;
  app.add_option("--executors", executors);
  AddSettingSources(app, "VITRINE_T_");
  EXPECT_THAT(app.help(), AllOf(HasSubstr("(Env:VITRINE_T_EXECUTORS)"), HasSubstr("--config FILE"),
                                HasSubstr("The flag overrides the variable")));
}

}  // namespace
}  // namespace vitrine
