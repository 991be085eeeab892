// SPDX-License-Identifier: Apache-2.0
// Tests the completions and manual pages that the programs print, with real shells and a real man page formatter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/client/shell.h"
#include "tests/paths.h"

namespace vitrine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const char* const kPrograms[] = {"vitrine", "vitrine-repo", "vitrine-server"};

class ProgramPages : public testing::Test {
 protected:
  ProgramPages() {
    for (const std::string program : kPrograms) {
      for (const std::string shell : {"bash", "zsh"}) {
        const Ran ran =
            Shell(folder_, absl::StrCat(VITRINE_BIN "/", program, " --completion ", shell, " >", program, ".", shell));
        EXPECT_EQ(ran.exit_code, 0) << ran.errors;
      }
      EXPECT_EQ(Shell(folder_, absl::StrCat(VITRINE_BIN "/", program, " --manual-page >", program, ".1")).exit_code, 0);
    }
  }

  bool Has(const std::string& program) const { return Shell(folder_, "command -v " + program).exit_code == 0; }

  // Returns bash's completions of the last of `words`.
  std::vector<std::string> Complete(const std::vector<std::string>& words) const {
    const Ran ran =
        Shell(folder_, absl::StrCat("bash -c 'source ", words[0], ".bash; COMP_WORDS=(\"$@\"); ",
                                    "COMP_CWORD=$(($# - 1)); function=$(complete -p ", words[0],
                                    " | sed \"s/.*-F \\([^ ]*\\).*/\\1/\"); $function; ",
                                    "printf \"%s\\n\" \"${COMPREPLY[@]}\"' _ '", absl::StrJoin(words, "' '"), "'"));
    EXPECT_EQ(ran.exit_code, 0) << ran.errors;
    EXPECT_EQ(ran.errors, "");
    return absl::StrSplit(ran.out, '\n', absl::SkipEmpty());
  }

  const ScratchFolder folder_;
};

TEST_F(ProgramPages, BashCompletesCommandsFlagsAndWords) {
  for (const std::string program : kPrograms) {
    const Ran ran = Shell(folder_, absl::StrCat("bash -c 'source ", program, ".bash; complete -p ", program, "'"));
    EXPECT_THAT(ran.out, HasSubstr("-F _")) << ran.errors;
  }
  EXPECT_THAT(Complete({"vitrine", "cl"}), ElementsAre("classify"));
  EXPECT_THAT(Complete({"vitrine", "classify", "--form"}), ElementsAre("--format"));
  EXPECT_THAT(Complete({"vitrine", "classify", "--sheet", "--form"}), ElementsAre("--format"))
      << "--sheet must be completed without a value";
  EXPECT_THAT(Complete({"vitrine", "classify", "--format", ""}), ElementsAre("table", "json"));
  EXPECT_THAT(Complete({"vitrine", "classify", "--format", "=", "j"}), ElementsAre("json"));
  EXPECT_THAT(Complete({"vitrine", "classify", "cat.jpg", "--format", "t"}), ElementsAre("table"));
  EXPECT_THAT(Complete({"vitrine", "eval", "comp"}), ElementsAre("compare"));
  EXPECT_THAT(Complete({"vitrine", "eval", "compare", "--fail"}), ElementsAre("--fail-if-worse"));
  EXPECT_THAT(Complete({"vitrine", "models", "show", "--tok"}), ElementsAre("--token-file"))
      << "flags of the parent command must be completed";
  EXPECT_THAT(Complete({"vitrine", "classify", "--attention", "roll"}), ElementsAre("rollout"));
  EXPECT_THAT(Complete({"vitrine", "classify", "cat"}), IsEmpty()) << "files must be left to bash";
  EXPECT_THAT(Complete({"vitrine", "classify", "--server", "classify"}), IsEmpty());
  EXPECT_THAT(Complete({"vitrine-repo", "zoo", "--format", "c"}), ElementsAre("csv"));
  EXPECT_THAT(Complete({"vitrine-repo", "quant"}), ElementsAre("quantize"));
  EXPECT_THAT(Complete({"vitrine-server", "--listen-u"}), IsEmpty());
  EXPECT_THAT(Complete({"vitrine-server", "--repository-r"}), ElementsAre("--repository-refresh"));
}

TEST_F(ProgramPages, ZshAcceptsTheScript) {
  if (!Has("zsh")) GTEST_SKIP() << "zsh is not installed";
  for (const std::string program : kPrograms) {
    const Ran ran = Shell(folder_, absl::StrCat("zsh -fc 'autoload -U compinit; compinit -u -D; source ./", program,
                                                ".zsh; echo $_comps[", program, "]'"));
    EXPECT_EQ(ran.errors, "");
    EXPECT_THAT(ran.out, HasSubstr("_vitrine"));
  }
}

// Every flag in --help must be on the manual page.
TEST_F(ProgramPages, TheManualHasEveryFlagOfTheHelp) {
  const std::regex flag("--[a-z][a-z0-9-]+");
  for (const std::string program : kPrograms) {
    const std::string page = folder_.Read(program + ".1");
    const std::string help = Shell(folder_, absl::StrCat(VITRINE_BIN "/", program, " --help")).out;
    for (std::sregex_iterator it(help.begin(), help.end(), flag), end; it != end; ++it) {
      const std::string wanted = std::regex_replace(it->str(), std::regex("-"), "\\-");
      EXPECT_THAT(page, HasSubstr(wanted)) << program;
    }
  }
  EXPECT_THAT(folder_.Read("vitrine.1"), HasSubstr("\n.SS eval compare\n"));
}

TEST_F(ProgramPages, TheManualIsFormattedWithoutAWarning) {
  if (!Has("groff")) GTEST_SKIP() << "groff is not installed";
  for (const std::string program : kPrograms) {
    const Ran ran = Shell(folder_, absl::StrCat("groff -ww -man -Tutf8 -rLL=100n -P-cbou ", program, ".1"));
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_EQ(ran.errors, "");
    EXPECT_THAT(ran.out, HasSubstr("SYNOPSIS"));
    EXPECT_THAT(ran.out, testing::Not(HasSubstr("\\")));
  }
}

TEST(VitrineRepo, AnInvalidNameIsAUsageError) {
  const ScratchFolder folder;
  for (const auto& [words, said] : std::vector<std::pair<std::string, std::string>>{
           {"describe nosuch", "no variant is named"},
           {"create staging m --variant nosuch", "--variant: no variant is named"},
           {"create staging 'a b' --variant vit-ti16", "NAME: \"a b\" is not a model name"},
           {"show staging m@x", "the version after \"@\" must be a positive integer"},
           {"quantize staging m --precision int8 --data none", "--data: \"none\" is no data set"},
           {"quantize staging m --precision int8 --data none:x", "--data: \"none\" is no data set format"}}) {
    const Ran ran = Shell(folder, VITRINE_BIN "/vitrine-repo " + words);
    EXPECT_EQ(ran.exit_code, 2) << words;
    EXPECT_THAT(ran.errors, HasSubstr(said)) << words;
  }
  EXPECT_EQ(Shell(folder, VITRINE_BIN "/vitrine-repo show staging m").exit_code, 1)
      << "a missing version is not a usage error";
}

}  // namespace
}  // namespace vitrine
