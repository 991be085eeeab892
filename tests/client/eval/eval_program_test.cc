// SPDX-License-Identifier: Apache-2.0
// `vitrine eval` as people type it: its report, the command that repeats it, flags that do not go together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/client/shell.h"
#include "tests/paths.h"

namespace vitrine {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kVitrine = VITRINE_BIN "/vitrine ";

class EvalCommandLine : public testing::Test {
 protected:
  EvalCommandLine() {
    // Labels that need a map, and a folder that needs quotes.
    for (int digit = 0; digit < 10; ++digit) {
      const std::string name = absl::StrCat("digit-", digit, ".png");
      const std::filesystem::path from = std::filesystem::path(VITRINE_SOURCE "/samples/digits") / name;
      if (!std::filesystem::exists(from)) continue;
      const std::filesystem::path to = folder_.path() / absl::StrCat("the digits/", "no. ", digit);
      std::filesystem::create_directories(to);
      std::filesystem::copy(from, to / name);
      map_ += absl::StrCat("no. ", digit, "\t", digit, "\n");
    }
    folder_.Write("digits map.tsv", map_);
    folder_.Write("token", "top-secret-words");
  }

  Ran Eval(const std::string& flags) const {
    return Shell(folder_, absl::StrCat(kVitrine, "eval --data 'imagefolder:the digits' --label-map 'digits map.tsv' ",
                                       "--server ", server_.address(), " ", flags));
  }

  const ScratchFolder folder_;
  const BundledServer server_{folder_};
  std::string map_;
};

TEST_F(EvalCommandLine, ThePageHasTheCommandThatRepeatsIt) {
  const Ran ran = Eval(
      "--out 'my results/' --top-k 7 --priority normal --in-flight 3 --limit 6 --shard 1/2 --patience 90s "
      "--deadline 20s --max-attempts 3 --token-file token --mistakes 0");
  ASSERT_EQ(ran.exit_code, 0) << ran.errors;
  const std::string page = folder_.Read("my results/report.html");
  EXPECT_THAT(page, Not(HasSubstr("top-secret-words")));
  const size_t begin = page.find("<pre>vitrine eval "), end = page.find("</pre>", begin);
  ASSERT_NE(begin, std::string::npos);
  const std::string command =
      absl::StrReplaceAll(page.substr(begin + 5, end - begin - 5),
                          {{"&#39;", "'"}, {"&quot;", "\""}, {"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}});
  for (const char* part :
       {"--top-k 7", "--priority normal", "--in-flight 3", "--limit 6", "--shard 1/2", "--patience 1m30s",
        "--deadline 20s", "--max-attempts 3", "--token-file token", "--mistakes 0", "--out 'my results-again'"}) {
    EXPECT_THAT(command, HasSubstr(part));
  }
  const Ran again = Shell(folder_, kVitrine + command.substr(std::string("vitrine ").size()));
  EXPECT_EQ(again.exit_code, 0) << command << "\n" << again.errors;
  EXPECT_EQ(folder_.Read("my results-again/predictions.csv"), folder_.Read("my results/predictions.csv"));
}

TEST_F(EvalCommandLine, AReportThatCannotBeWrittenIsAFailure) {
  std::filesystem::create_directories(folder_.path() / "out/report.html");
  const Ran ran = Eval("--out out");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.errors, AllOf(HasSubstr("the report: "), HasSubstr("out/report.html")));
  EXPECT_THAT(ran.out, HasSubstr("top-1")) << "the numbers are there";
}

TEST_F(EvalCommandLine, FlagsThatContradictEachOtherAreRefused) {
  for (const char* flags : {"--resolution 28x28 --resolutions 28", "--model kv-pos-mnist --models kv-pos-mnist",
                            "--models a,b,a", "--resolutions 28,32,28x28", "--resolution 0", "--resolution 28x"}) {
    EXPECT_EQ(Eval(absl::StrCat("--out out ", flags)).exit_code, 2) << flags;
  }
  EXPECT_THAT(Eval("--out out --resolutions 28,28").errors, HasSubstr("28x28 is there twice"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out/journal"));
  EXPECT_THAT(Eval("--out out --resolution 5000").errors, Not(HasSubstr("is no resolution"))) << "one side is a square";
  const Ran help = Shell(folder_, kVitrine + "eval --help");
  EXPECT_THAT(help.out, HasSubstr("cifar:DIR"));
}

TEST_F(EvalCommandLine, AModelIsNoFolderToCompare) {
  const Ran ran = Shell(folder_, kVitrine + "eval compare kv@1 kv@2");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.errors, HasSubstr("vitrine eval --model kv@1 --data"));
}

}  // namespace
}  // namespace vitrine
