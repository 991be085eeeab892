// SPDX-License-Identifier: Apache-2.0
// vitrine-train as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "repository/stored_version.h"
#include "tests/paths.h"
#include "tests/quota_group.h"
#include "tests/trainer/coloured_squares.h"
#include "trainer/recipe.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

constexpr char kTrainer[] = VITRINE_BIN "/vitrine-train";

struct Outcome {
  int exit_code = -1;
  std::string output;  // both streams
};

Outcome Shell(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  char piece[4096];
  for (size_t got; (got = fread(piece, 1, sizeof piece, pipe)) > 0;) outcome.output.append(piece, got);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

Outcome Trainer(const std::string& arguments) {
  return Shell(absl::StrCat(kTrainer, " ", arguments, " 2>&1"));
}

// A folder with a recipe and pictures to train on.
class Program : public ::testing::Test {
 protected:
  Program() {
    WriteImageFolder(ColouredSquares(48, 1), folder_.path() / "data" / "train");
    WriteImageFolder(ColouredSquares(9, 2), folder_.path() / "data" / "test");
    std::ofstream(recipe_) << PrintRecipe(SmallRecipe());
    flags_ = absl::StrCat(" --data imagefolder:", (folder_.path() / "data").string(), " --work ",
                          (folder_.path() / "work").string(), " --threads 2 ");
  }

  ScratchFolder folder_;
  const std::string recipe_ = folder_.path() / "small.textproto";
  std::string flags_;
};

TEST_F(Program, TrainsPublishesMeasuresAndPublishesAgain) {
  const std::string repository = folder_.path() / "repository";
  const Outcome run = Trainer(absl::StrCat("run ", recipe_, flags_, "--epochs 2 --publish ", repository));
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("/small/1"));
  const Outcome measured =
      Trainer(absl::StrCat("evaluate --format csv --sizes 16,8x16 --repository ", repository,
                           " --model small --data imagefolder:", (folder_.path() / "data").string()));
  ASSERT_EQ(measured.exit_code, 0) << measured.output;
  EXPECT_THAT(measured.output, HasSubstr("size,top1,loss,images\n16x16,"));
  EXPECT_THAT(measured.output, HasSubstr("\n8x16,"));
  const Outcome again = Trainer(absl::StrCat("run ", recipe_, flags_, "--epochs 2 --resume --publish ", repository));
  ASSERT_EQ(again.exit_code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("/small/2"));
  const auto version = ReadVersion(repository, {"small", 2});
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(version->manifest.provenance().recipe(), "small --set epochs=2");
  const std::string printed = Trainer("--version").output;
  const std::string revision = version->manifest.provenance().source_revision();
  EXPECT_EQ(printed.find('(') != std::string::npos, !revision.empty()) << printed;
  EXPECT_THAT(printed, HasSubstr(revision)) << "the revision is that of the program";
}

TEST_F(Program, ThreadsFollowTheQuotaOfARealControlGroup) {
  const QuotaGroup group;
  if (group.empty()) GTEST_SKIP() << "no control group with a quota can be made here";
  const Outcome run = Shell(absl::StrCat(group.Join(), "exec ", kTrainer, " run ", recipe_,
                                         " --data imagefolder:", (folder_.path() / "data").string(), " --work ",
                                         (folder_.path() / "work").string(), " --epochs 1 --no-report 2>&1"));
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("pictures to train on, 1 threads, in "));
}

TEST_F(Program, AccuracyOnThePicturesLearnedFromIsCalledThat) {
  const std::string repository = folder_.path() / "repository";
  const std::string unsplit = (folder_.path() / "data" / "train").string();
  const Outcome run = Trainer(absl::StrCat("run ", recipe_, " --data imagefolder:", unsplit, " --work ",
                                           folder_.Path("work"), " --epochs 1 --publish ", repository));
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr(unsplit + " has no test split"));
  const auto version = ReadVersion(repository, {"small", 1});
  ASSERT_TRUE(version.ok()) << version.status();
  for (const v1::Metric& metric : version->manifest.provenance().metrics()) {
    EXPECT_THAT(metric.split(), ::testing::StartsWith("train"));
  }
}

TEST_F(Program, SigtermWritesTheStateAndSaysHowToGoOn) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    const std::string command = absl::StrCat("exec ", kTrainer, " run ", recipe_, flags_, "--epochs 5000");
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  FILE* errors = fdopen(ends[0], "r");
  std::string text;
  bool told = false;
  for (char line[4096]; fgets(line, sizeof line, errors) != nullptr;) {
    text += line;
    // The end of the first epoch: the training is under way.
    if (!told && text.find("train acc") != std::string::npos) told = kill(child, SIGTERM) == 0;
  }
  fclose(errors);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << text;
  EXPECT_EQ(WEXITSTATUS(status), 1) << "a run that was stopped is not done\n" << text;
  EXPECT_THAT(text, HasSubstr("continue with:"));
  EXPECT_THAT(text, HasSubstr("--resume"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "work" / "state.safetensors"));
}

TEST_F(Program, RefusesWithASentence) {
  const Outcome unknown = Trainer("run no-such-recipe --data mnist:/nowhere --work " + folder_.path().string());
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.output, HasSubstr("kv-pos-mnist"));
  const Outcome no_data = Trainer("run kv-pos-mnist --work " + folder_.path().string());
  EXPECT_EQ(no_data.exit_code, 1);
  EXPECT_THAT(no_data.output, HasSubstr("--data mnist:DIR"));
  EXPECT_EQ(Trainer("run").exit_code, 2);
  EXPECT_EQ(Trainer("").exit_code, 2);
  EXPECT_EQ(Trainer("run --help").exit_code, 0);
}

TEST_F(Program, ListsAndPrints) {
  const Outcome list = Trainer("list");
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_THAT(list.output, HasSubstr("eit-mini-cifar10"));
  EXPECT_THAT(list.output, HasSubstr("eit34-mini-cifar10"));
  const Outcome printed = Trainer("print eit-mini-cifar10 --set optimizer.lr=0.5");
  EXPECT_EQ(printed.exit_code, 0);
  EXPECT_THAT(printed.output, HasSubstr("lr: 0.5"));
}

}  // namespace
}  // namespace vitrine
