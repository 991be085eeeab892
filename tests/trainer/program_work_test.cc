// SPDX-License-Identifier: Apache-2.0
// What vitrine-train leaves in its work folder, and whom it lets into it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/trainer/train_program.h"
#include "trainer/watch/history.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using WorkFolder = TrainProgram;

TEST_F(WorkFolder, ASecondTrainingIsRefusedAndTheHolderNamed) {
  RunningTrainer first(absl::StrCat("run ", recipe_, flags_, "--no-report --epochs 5000"));
  ASSERT_TRUE(first.WaitFor("train acc")) << first.said();
  for (const char* more : {"--resume", ""}) {
    const Outcome second = Trainer(absl::StrCat("run ", recipe_, flags_, "--no-report --epochs 1 ", more));
    EXPECT_EQ(second.exit_code, 1) << second.output;
    EXPECT_THAT(second.output, AllOf(HasSubstr("another training is at work in " + work_),
                                     HasSubstr(absl::StrCat("process ", first.process(), " on "))));
  }
  EXPECT_EQ(first.End(SIGKILL), -1);
  const Outcome after = Trainer(absl::StrCat("run ", recipe_, flags_, "--no-report --epochs 1 --resume"));
  EXPECT_EQ(after.exit_code, 0) << "the lock of a killed process is gone\n" << after.output;
}

}  // namespace
}  // namespace vitrine
