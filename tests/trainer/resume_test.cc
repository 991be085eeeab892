// SPDX-License-Identifier: Apache-2.0
#include "trainer/resume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/trainer/small_run.h"
#include "trainer/watch/history.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Resume, InterruptedAndResumedEqualsUninterrupted) {
  ScratchFolder whole, parts;
  const auto uninterrupted = RunIn(whole, SmallRecipe());
  ASSERT_TRUE(uninterrupted.ok()) << uninterrupted.status();
  for (const int64_t stop_after : {4, 12, 13}) {  // within an epoch, at the end of an epoch, and right after an epoch
    StopAfter stop(stop_after);
    stop.options.resume = true;
    const auto part = RunIn(parts, SmallRecipe(), stop.options);
    ASSERT_TRUE(part.ok()) << part.status();
    EXPECT_FALSE(part->finished);
    EXPECT_EQ(part->position.step, stop_after);
  }
  const auto resumed = RunIn(parts, SmallRecipe(), {.resume = true});
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_TRUE(resumed->finished);
  EXPECT_EQ(resumed->position.samples, uninterrupted->position.samples);
  EXPECT_EQ(resumed->position.loss_sum, uninterrupted->position.loss_sum);
  ExpectSameWeights(*resumed->model, *uninterrupted->model);
}

TEST(Resume, SgdResumesToTheSameBits) {
  v1::Recipe recipe = SmallRecipe();
  recipe.mutable_optimizer()->set_kind(v1::Optimizer::SGD);
  recipe.mutable_optimizer()->set_momentum(0.9);
  recipe.set_epochs(1);
  ScratchFolder whole, parts;
  const auto uninterrupted = RunIn(whole, recipe);
  StopAfter stop(3);
  ASSERT_TRUE(RunIn(parts, recipe, stop.options).ok());
  const auto resumed = RunIn(parts, recipe, {.resume = true});
  ASSERT_TRUE(uninterrupted.ok() && resumed.ok()) << resumed.status();
  ExpectSameWeights(*resumed->model, *uninterrupted->model);
}

TEST(Resume, AStateOfAnotherRunIsNeitherOverwrittenNorUsed) {
  ScratchFolder folder;
  StopAfter stop(2);
  ASSERT_TRUE(RunIn(folder, SmallRecipe(), stop.options).ok());
  const auto anew = RunIn(folder, SmallRecipe());
  EXPECT_EQ(anew.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(anew.status().message()), HasSubstr("--resume"));

  v1::Recipe other = SmallRecipe();
  other.mutable_optimizer()->set_lr(1e-4);
  const auto mixed = RunIn(folder, other, {.resume = true});
  EXPECT_EQ(mixed.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(mixed.status().message()), HasSubstr("optimizer.lr"));

  v1::Recipe longer = SmallRecipe();
  longer.set_epochs(5);
  EXPECT_TRUE(RunIn(folder, longer, {.resume = true}).ok()) << "the epochs of a run may change";
}

TEST(Resume, OtherImagesWithTheSameNamesAreRefused) {
  ScratchFolder folder;
  StopAfter stop(2);
  ASSERT_TRUE(RunIn(folder, SmallRecipe(), stop.options).ok());
  const ColouredSquares others(96, 3);
  const auto task = ImageTask::Make(SmallRecipe(), others, &kTestSquares);
  ASSERT_TRUE(task.ok()) << task.status();
  TrainOptions options{.work_dir = folder.path(), .resume = true, .threads = 2};
  const auto mixed = Train(SmallRecipe(), **task, options);
  EXPECT_EQ(mixed.status().code(), absl::StatusCode::kFailedPrecondition) << mixed.status();
  EXPECT_THAT(std::string(mixed.status().message()), HasSubstr("other data"));
}

// Options of a resumed run, and the lines that the run prints.
struct Said {
  Said() {
    options.resume = true;
    options.say = [this](const std::string& line) { text += line + "\n"; };
  }
  std::string text;
  TrainOptions options;
};

TEST(Resume, OtherThreadCountsAreReportedOnlyIfAStepFollows) {
  ScratchFolder folder;
  StopAfter stop(2);
  ASSERT_TRUE(RunIn(folder, SmallRecipe(), stop.options).ok());
  for (const bool finished : {false, true}) {
    Said said;
    said.options.threads = finished ? 2 : 3;
    const auto resumed = RunIn(folder, SmallRecipe(), said.options);
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    EXPECT_EQ(resumed->position.threads, 3) << "of the steps";
    EXPECT_EQ(said.text.find("will not be bit-exact") == std::string::npos, finished) << said.text;
  }
}

TEST(Resume, ADamagedOrMissingStateIsReplacedByThePrevious) {
  ScratchFolder whole;
  const auto uninterrupted = RunIn(whole, SmallRecipe());
  ASSERT_TRUE(uninterrupted.ok()) << uninterrupted.status();
  for (const bool missing : {false, true}) {
    ScratchFolder parts;
    StopAfter stop(13);  // after this step, the previous state is from the end of the second epoch
    ASSERT_TRUE(RunIn(parts, SmallRecipe(), stop.options).ok());
    parts.Write("steps.csv", FormatSteps({.blocks = {}, .rows = {{.step = 12}, {.step = 13}, {.step = 14}}}));
    const std::filesystem::path state = StateFile(parts.path()), previous = PreviousStateFile(parts.path());
    missing ? (void)std::filesystem::remove(state) : std::filesystem::resize_file(state, 1000);
    EXPECT_EQ(RunIn(parts, SmallRecipe()).status().code(), absl::StatusCode::kFailedPrecondition) << "without --resume";
    Said said;
    const auto resumed = RunIn(parts, SmallRecipe(), said.options);
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    ExpectSameWeights(*resumed->model, *uninterrupted->model);
    EXPECT_THAT(said.text, AllOf(HasSubstr("warning: " + state.string()), HasSubstr("from " + previous.string()),
                                 HasSubstr("step 12; lost steps: 2"), HasSubstr("resumed at step 12 of 24")));
  }
}

// If the run started, its first state would replace the unreadable state, which may be readable later.
TEST(Resume, AnUnreadableStateIsRefusedAndKept) {
  ScratchFolder folder;
  StopAfter stop(13);
  ASSERT_TRUE(RunIn(folder, SmallRecipe(), stop.options).ok());
  const std::filesystem::path state = StateFile(folder.path());
  const auto size = std::filesystem::file_size(state);
  std::filesystem::permissions(state, std::filesystem::perms::none);
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  const bool is_root = geteuid() == 0;  // root can read every file
  if (is_root) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  const auto resumed = RunIn(folder, SmallRecipe(), {.resume = true});
  if (is_root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  EXPECT_EQ(resumed.status().code(), absl::StatusCode::kPermissionDenied) << resumed.status();
  EXPECT_EQ(std::filesystem::file_size(state), size);
}

// Resumes from the previous state, because the newest state is damaged. When the run saves its first new state, it must
// not keep the damaged state as the previous state. Otherwise a crash while saving would leave no valid state.
TEST(Resume, ThePreviousStateIsKeptUntilANewOneIsWritten) {
  ScratchFolder folder;
  StopAfter stop(13);
  ASSERT_TRUE(RunIn(folder, SmallRecipe(), stop.options).ok());
  std::filesystem::resize_file(StateFile(folder.path()), 1000);
  const auto previous = std::filesystem::file_size(PreviousStateFile(folder.path()));
  StopAfter again(13);
  again.options.resume = true;
  ASSERT_TRUE(RunIn(folder, SmallRecipe(), again.options).ok());
  EXPECT_EQ(std::filesystem::file_size(PreviousStateFile(folder.path())), previous);
  std::filesystem::resize_file(StateFile(folder.path()), 1000);
  Said said;
  ASSERT_TRUE(RunIn(folder, SmallRecipe(), said.options).ok());
  EXPECT_THAT(said.text, HasSubstr("resumed at step 12"));
}

TEST(Resume, TwoDamagedStatesAreRefusedAndKept) {
  ScratchFolder folder;
  StopAfter stop(13);
  ASSERT_TRUE(RunIn(folder, SmallRecipe(), stop.options).ok());
  for (const auto& file : {StateFile(folder.path()), PreviousStateFile(folder.path())}) {
    std::filesystem::resize_file(file, 1000);
  }
  const auto resumed = RunIn(folder, SmallRecipe(), {.resume = true});
  EXPECT_EQ(resumed.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(resumed.status().message()),
              AllOf(HasSubstr("state.safetensors"), HasSubstr("state.previous.safetensors")));
  EXPECT_EQ(std::filesystem::file_size(PreviousStateFile(folder.path())), 1000u);
}

}  // namespace
}  // namespace vitrine
