// SPDX-License-Identifier: Apache-2.0
// Tests the program `vitrine eval`: its report, the printed command that repeats the evaluation, and incompatible
// flags.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

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
    // The names of these folders differ from the model's labels, so the command needs a label map. They contain spaces,
    // so a shell needs quotes around them.
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
      "--out 'my results/' --top-k 7 --priority normal --max-in-flight 3 --limit 6 --shard 1/2 --patience 90s "
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
       {"--top-k 7", "--priority normal", "--max-in-flight 3", "--limit 6", "--shard 1/2", "--patience 1m30s",
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
  EXPECT_THAT(ran.out, HasSubstr("top-1")) << "the scores must be printed anyway";
}

TEST_F(EvalCommandLine, FlagsThatContradictEachOtherAreRefused) {
  for (const char* flags : {"--resolution 28x28 --resolutions 28", "--model kv-pos-mnist --models kv-pos-mnist",
                            "--models a,b,a", "--resolutions 28,32,28x28", "--resolution 0", "--resolution 28x"}) {
    EXPECT_EQ(Eval(absl::StrCat("--out out ", flags)).exit_code, 2) << flags;
  }
  EXPECT_THAT(Eval("--out out --resolutions 28,28").errors, HasSubstr("28x28 is given twice"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out/journal"));
  EXPECT_THAT(Eval("--out out --resolution 5000").errors, Not(HasSubstr("is no resolution")))
      << "a single number must mean a square";
  const Ran help = Shell(folder_, kVitrine + "eval --help");
  EXPECT_THAT(help.out, HasSubstr("cifar:DIR"));
}

// Returns the gate `name` from a run's JSON.
nlohmann::json GateOf(const nlohmann::json& json, const std::string& name) {
  for (const nlohmann::json& gate : json["gates"]) {
    if (gate["name"] == name) return gate;
  }
  return nullptr;
}

TEST_F(EvalCommandLine, AMissedGateIsAFailureAfterAllFilesAreWritten) {
  const Ran met = Eval("--out out --require 'top1>=50%' --require 'nll<2' --require 'brier<=0.5'");
  EXPECT_EQ(met.exit_code, 0) << met.errors;
  EXPECT_THAT(met.out, AllOf(HasSubstr("gate        top1>=50% is met: "), HasSubstr("gate        nll<2 is met: ")));
  EXPECT_THAT(met.errors, Not(HasSubstr("gate")));
  // The run is complete, so this command only evaluates the gates and sends no request.
  std::filesystem::remove(folder_.path() / "out/summary.json");
  const Ran missed = Eval("--out out --require 'top1>=50%' --require 'nll<=0.0001' --require 'ece<0' --format json");
  EXPECT_EQ(missed.exit_code, 1);
  EXPECT_THAT(missed.errors, HasSubstr("vitrine: the gate nll<=0.0001 is missed: nll is 0."));
  EXPECT_THAT(missed.errors, HasSubstr(", and 0.0001 or less is required\nvitrine: the gate ece<0 is missed: "));
  EXPECT_THAT(missed.errors, Not(HasSubstr("top1")));
  const auto json = nlohmann::json::parse(missed.out);
  ASSERT_EQ(json["gates"].size(), 3u);
  EXPECT_EQ(GateOf(json, "top1")["passed"], true);
  EXPECT_EQ(GateOf(json, "top1")["required"], ">=50%");
  EXPECT_EQ(GateOf(json, "nll")["passed"], false);
  EXPECT_NEAR(GateOf(json, "nll")["measured"].get<double>(), json["scores"]["nll"].get<double>(), 1e-5);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "out/summary.json"))
      << "the summary must be written despite the missed gate";
  EXPECT_THAT(folder_.Read("out/summary.json"), Not(HasSubstr("gates")));
}

TEST_F(EvalCommandLine, AnInvalidGateIsRefusedBeforeAnyImageIsSent) {
  for (const char* gate : {"top1", "top2>=0.5", "top1>=78", "nll<=70%", "p99<=50ms", "top1>=", ""}) {
    const Ran ran = Eval(absl::StrCat("--out out --require '", gate, "'"));
    EXPECT_EQ(ran.exit_code, 2) << gate;
    EXPECT_THAT(ran.errors, HasSubstr("measures: top1, top5, macro_precision, macro_recall, macro_f1, ece, nll, brier"))
        << gate;
  }
  EXPECT_EQ(Shell(folder_, kVitrine + "eval merge a b --out c --require 'top9>1'").exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out/journal"));
}

// The label map of the second run gives each image the next class, so all answers of that run are wrong.
TEST_F(EvalCommandLine, FailIfWorseConcernsTheLaterEvaluations) {
  ASSERT_EQ(Eval("--out good --mistakes 0").exit_code, 0);
  std::string wrong;
  for (int digit = 0; digit < 10; ++digit) absl::StrAppend(&wrong, "no. ", digit, "\t", (digit + 1) % 10, "\n");
  folder_.Write("digits map.tsv", wrong);
  ASSERT_EQ(Eval("--out bad --mistakes 0").exit_code, 0);
  const std::string compare = kVitrine + "eval compare ";
  EXPECT_EQ(Shell(folder_, compare + "good bad").exit_code, 0) << "without --fail-if-worse the command must succeed";
  const Ran worse = Shell(folder_, compare + "good bad --fail-if-worse --format json --out page.html");
  EXPECT_EQ(worse.exit_code, 1);
  EXPECT_THAT(
      worse.errors,
      HasSubstr("vitrine: kv-pos-mnist version 1 in fp32 is worse than kv-pos-mnist version 1 in fp32: right on "));
  EXPECT_EQ(nlohmann::json::parse(worse.out)["gates"][0]["passed"], false);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "page.html"));
  EXPECT_EQ(Shell(folder_, compare + "bad good --fail-if-worse").exit_code, 0) << "a better evaluation must not fail";
  const Ran several = Shell(folder_, compare + "good good bad --fail-if-worse --out several.html");
  EXPECT_EQ(several.exit_code, 1);
  EXPECT_THAT(several.out, AllOf(HasSubstr("P, HOLM"), HasSubstr("no difference"), HasSubstr("worse")));
  EXPECT_THAT(several.errors, HasSubstr("corrected for 2 comparisons (Holm)"));
  EXPECT_THAT(folder_.Read("several.html"), HasSubstr("2 evaluations compared with"));
}

// The gates apply to each cell, and the study compares its cells.
TEST_F(EvalCommandLine, AStudyEvaluatesTheGatesOfEachCell) {
  const Ran ran = Eval(
      "--models kv-pos-mnist,kv-pos-mnist@1 --out study --mistakes 0 --require 'top1>=1%' "
      "--require 'top1<=1%'");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.out, HasSubstr("P, HOLM is corrected for all rows"));
  EXPECT_THAT(ran.errors,
              AllOf(HasSubstr("vitrine: kv-pos-mnist-own: the gate top1<=1% is missed"),
                    HasSubstr("vitrine: kv-pos-mnist@1-own: the gate top1<=1% is missed"), Not(HasSubstr("top1>=1%"))));
  const Ran json = Eval("--models kv-pos-mnist,kv-pos-mnist@1 --out study --require 'top1>=1%' --format json");
  EXPECT_EQ(json.exit_code, 0) << json.errors;
  const auto cells = nlohmann::json::parse(json.out);
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[1]["gates"][0]["passed"], true);
  EXPECT_EQ(cells[1]["p_holm"], 1.0);
}

TEST_F(EvalCommandLine, CompareRefusesAModelInPlaceOfAFolder) {
  const Ran ran = Shell(folder_, kVitrine + "eval compare kv@1 kv@2");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.errors, HasSubstr("vitrine eval --model kv@1 --data"));
  EXPECT_THAT(Shell(folder_, kVitrine + "eval compare both/kv@1-own both/kv@2-own").errors,
              AllOf(HasSubstr("both/kv@1-own holds no evaluation"), Not(HasSubstr("--model"))));
}

}  // namespace
}  // namespace vitrine
