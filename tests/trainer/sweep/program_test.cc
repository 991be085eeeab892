// SPDX-License-Identifier: Apache-2.0
// Tests `vitrine-train sweep` as a program, on images that a model learns within seconds.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/paths.h"
#include "tests/trainer/coloured_squares.h"
#include "trainer/recipe/recipe.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTrainer[] = VITRINE_BIN "/vitrine-train";
constexpr absl::Duration kLong = absl::Seconds(120);

struct Outcome {
  int exit_code = -1;
  std::string out, error;
};

class SweepProgram : public ::testing::Test {
 protected:
  SweepProgram() {
    WriteImageFolder(ColouredSquares(96, 1), folder_.path() / "data" / "train");
    WriteImageFolder(ColouredSquares(30, 2), folder_.path() / "data" / "test");
    std::ofstream(folder_.path() / "small.textproto") << PrintRecipe(SmallRecipe());
    WriteGrid(R"pb(axes { path: "optimizer.lr" values: "1e-3" values: "1e-2" }
                   seeds: 1
                   seeds: 2
                   epochs: 4)pb");
  }

  void WriteGrid(const std::string& text) const {
    std::ofstream(folder_.path() / "grid.textproto") << "recipe: \"small.textproto\" metric: \"test/loss\" "
                                                     << "lower_is_better: true " << text;
  }
  std::string Command(const std::string& work, const std::string& data = "data") const {
    return absl::StrCat(kTrainer, " sweep ", (folder_.path() / "grid.textproto").string(),
                        " --data imagefolder:", (folder_.path() / data).string(), " --work ",
                        (folder_.path() / work).string(), " --threads 1 --pass=--no-report");
  }
  Outcome Run(const std::string& command) const {
    Outcome outcome;
    const std::string run =
        absl::StrCat(command, " >", (folder_.path() / "out").string(), " 2>", (folder_.path() / "error").string());
    const int status = std::system(run.c_str());
    if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
    outcome.out = folder_.Read("out");
    outcome.error = folder_.Read("error");
    return outcome;
  }
  // Starts the command and discards its output.
  pid_t Start(const std::string& command) const {
    const pid_t child = fork();
    if (child != 0) return child;
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", absl::StrCat("exec ", command).c_str(), nullptr);
    _exit(127);
  }
  // Returns true once the file exists; false after a timeout.
  bool Appears(const std::filesystem::path& file) const {
    const absl::Time end = absl::Now() + kLong;
    while (!std::filesystem::exists(folder_.path() / file) && absl::Now() < end) absl::SleepFor(absl::Milliseconds(5));
    return std::filesystem::exists(folder_.path() / file);
  }

  ScratchFolder folder_;
};

// Returns the scores of every point, without times.
std::string ScoresOf(const std::string& json) {
  std::string text;
  for (const auto& row : nlohmann::json::parse(json)) {
    absl::StrAppend(&text, row["lr"].dump(), " ", row["mean"].dump(), " ", row["deviation"].dump(), " ",
                    row["scores"].dump(), "\n");
  }
  return text;
}

TEST_F(SweepProgram, AKilledSweepContinuesToTheSameTable) {
  const Outcome whole = Run(Command("whole") + " --format json");
  ASSERT_EQ(whole.exit_code, 0) << whole.error;
  const auto rows = nlohmann::json::parse(whole.out);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["runs"], 2);
  EXPECT_GT(rows[0]["deviation"].get<double>(), 0) << "seeds make no difference";
  EXPECT_NE(rows[0]["mean"], rows[1]["mean"]) << "rates make no difference";
  for (const char* file : {"table.md", "table.csv", "runs.csv", "plot.svg"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_.path() / "whole/report" / file)) << file;
  }

  // The sweep is killed during the second run, then stopped by a signal during the third run, then runs to its end.
  const std::string command = Command("parts");
  pid_t sweep = Start(command);
  ASSERT_TRUE(Appears("parts/cells/lr=1e-3,seed=2/state.safetensors"));
  kill(sweep, SIGKILL);
  ASSERT_EQ(waitpid(sweep, nullptr, 0), sweep);
  sweep = Start(command);
  ASSERT_TRUE(Appears("parts/cells/lr=1e-2,seed=1/state.safetensors"));
  kill(sweep, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(sweep, &status, 0), sweep);
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "parts/cells/lr=1e-2,seed=2/result.json"));
  const Outcome parts = Run(command + " --format json");
  ASSERT_EQ(parts.exit_code, 0) << parts.error;
  EXPECT_THAT(parts.error, Not(HasSubstr(" 0 of them finished before")));
  EXPECT_EQ(ScoresOf(parts.out), ScoresOf(whole.out));
}

TEST_F(SweepProgram, TheBestSettingIsPublishedWithoutAnotherTraining) {
  const std::string command = absl::StrCat(Command("work"), " --format json --publish-best ",
                                           (folder_.path() / "models").string(), " --name won");
  const Outcome outcome = Run(command);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.error;
  const auto rows = nlohmann::json::parse(outcome.out);  // stdout has nothing else
  const bool first = rows[0]["mean"].get<double>() < rows[1]["mean"].get<double>();
  const std::string best = first ? "lr=1e-3,seed=1" : "lr=1e-2,seed=1";
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("publishing " + best + ", the first run"), HasSubstr("best of 2 settings"),
                                   HasSubstr("models/won/1\n")));
  EXPECT_THAT(folder_.Read("models/won/1/recipe.textproto"), HasSubstr(first ? "lr: 0.001" : "lr: 0.01"));
  const std::string result = folder_.Read("work/cells/" + best + "/result.json");
  // The second sweep trains nothing and finds the published version.
  const Outcome again = Run(command);
  EXPECT_EQ(again.exit_code, 0) << again.error;
  EXPECT_THAT(again.error, HasSubstr("published already: won/1"));
  EXPECT_EQ(folder_.Read("work/cells/" + best + "/result.json"), result);
}

TEST_F(SweepProgram, AnUnpublishableBestIsRefusedBeforeTheFirstRun) {
  std::ofstream(folder_.path() / "file") << "no folder";
  const std::string where = " --publish-best " + (folder_.path() / "file").string();
  EXPECT_EQ(Run(Command("work") + where).exit_code, 1);
  EXPECT_EQ(Run(Command("work") + where + " --shard 1/2").exit_code, 2) << "a shard lacks runs of the settings";
  std::ofstream(folder_.path() / "grid.textproto") << "recipe: \"task-copy\" metric: \"test/accuracy\"";
  EXPECT_EQ(Run(Command("work") + where).exit_code, 2);
  EXPECT_THAT(folder_.Read("error"), HasSubstr("--publish-best: vitrine-server serves classifiers of images"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "work"));
}

TEST_F(SweepProgram, ResultsOfOtherDataAreRefused) {
  WriteGrid("seeds: 1 epochs: 1");
  const auto with_data = [this](const std::string& folder) { return Run(Command("work", folder)); };
  ASSERT_EQ(with_data("data").exit_code, 0) << folder_.Read("error");
  std::filesystem::copy(folder_.path() / "data", folder_.path() / "moved", std::filesystem::copy_options::recursive);
  EXPECT_THAT(with_data("moved").error, HasSubstr("1 of them finished before"));
  // Changes only the test split.
  std::filesystem::remove_all(folder_.path() / "moved/test");
  WriteImageFolder(ColouredSquares(30, 3), folder_.path() / "moved" / "test");
  const Outcome other = with_data("moved");
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_EQ(other.out, "");
  EXPECT_THAT(other.error, HasSubstr("has a run of this name with other data ("));
}

TEST_F(SweepProgram, AFailedRunIsNamedAndTheOthersAreTabulated) {
  WriteGrid(R"pb(axes { path: "optimizer.lr" values: "1e-3" values: "2e-3" }
                 seeds: 1
                 epochs: 1)pb");
  // A folder in place of the state file makes the run fail.
  std::filesystem::create_directories(folder_.path() / "work/cells/lr=2e-3,seed=1/state.safetensors/x");
  const Outcome outcome = Run(absl::StrCat(Command("work"), " --out '", folder_.Path("my report"), "'"));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("test/loss MEAN"), HasSubstr("1e-3")));
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("1 of 2 runs failed"), HasSubstr("lr=2e-3,seed=1: exit code 1: "),
                                   HasSubstr("run them again with:\n  vitrine-train sweep"),
                                   HasSubstr(absl::StrCat(" --out '", folder_.Path("my report"), "' "))));
}

TEST_F(SweepProgram, GridsAreCheckedBeforeTheFirstRun) {
  const auto refusal = [this](const std::string& grid) {
    WriteGrid(grid);
    const Outcome outcome = Run(Command("refused"));
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "refused"));
    return outcome.error;
  };
  EXPECT_THAT(refusal(R"pb(axes { path: "optimizer.speed" values: "1" })pb"), HasSubstr("no field \"speed\""));
  EXPECT_THAT(refusal("axis {}"), HasSubstr("line 1"));
  WriteGrid(R"pb(axes { path: "batch" values: "8" values: "16" }
                 seed_count: 2)pb");
  const Outcome list = Run(Command("listed") + " --list");
  EXPECT_EQ(list.exit_code, 0) << list.error;
  const std::string seed = absl::StrCat(SmallRecipe().seed()), next = absl::StrCat(SmallRecipe().seed() + 1);
  EXPECT_EQ(list.out, absl::StrCat("batch=8,seed=", seed, "\nbatch=8,seed=", next, "\nbatch=16,seed=", seed,
                                   "\nbatch=16,seed=", next, "\n"));
  EXPECT_EQ(Run(Command("listed") + " --list --shard 2/2").out,
            absl::StrCat("batch=8,seed=", next, "\nbatch=16,seed=", next, "\n"));
  const Outcome passed = Run(Command("refused") + " --pass=--set=batch=8");
  EXPECT_EQ(passed.exit_code, 2);
  EXPECT_THAT(passed.error, HasSubstr("--pass=--set=batch=8 would change the settings of every run"));
  EXPECT_EQ(Run(absl::StrCat(kTrainer, " sweep")).exit_code, 2);
  const Outcome no_data = Run(absl::StrCat(kTrainer, " sweep ", (folder_.path() / "grid.textproto").string(),
                                           " --work ", (folder_.path() / "refused").string()));
  EXPECT_EQ(no_data.exit_code, 2);
  EXPECT_THAT(no_data.error, HasSubstr("--data is missing"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "refused"));
}

}  // namespace
}  // namespace vitrine
