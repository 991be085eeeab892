// SPDX-License-Identifier: Apache-2.0
// Tests the runs that `vitrine score` refuses: other settings in the same folder, a second writer, wrong flags.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "client/score/score.h"
#include "common/file/process_lock.h"
#include "tests/client/score/scoring.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(Scoring, OtherSettingsAreRefusedAndRestartDiscards) {
  SmallServer server(Methods(PlainAnswer));
  ScoreCommand command = Command(server, "out");
  command.shard = {1, 2};
  EXPECT_EQ(CountScores(RunWell(command)).rows, kImages / 2);
  command.shard = {2, 2};
  EXPECT_THAT(Message(command), AllOf(HasSubstr("--shard was 1/2, now it is 2/2"), HasSubstr("discard its 15 rows")));
  command.shard = {1, 2};
  command.top_k = 3;
  EXPECT_THAT(Message(command), HasSubstr("--top-k was 5, now it is 3"));
  command.top_k = 500;
  EXPECT_THAT(Message(command), HasSubstr("--top-k was 5, now it is 500"));
  command.top_k = 3;
  folder_.Write("data/200.png", ImageFile(1, 1));
  command.restart = true;
  command.shard = {};
  EXPECT_EQ(RunWell(command).chunks.size(), 4u);
  EXPECT_EQ(Rows("out")[30]["image"], "200.png");
  EXPECT_EQ(Rows("out")[30]["predictions"].size(), 3u);
}

TEST_F(Scoring, RestartDiscardsOnlyIfTheRunCanStart) {
  SmallServer server(Methods(PlainAnswer));
  ScoreCommand command = Command(server, "out");
  RunWell(command);
  command.restart = true;
  command.model.name = "another";
  command.patience = absl::Milliseconds(50);
  EXPECT_FALSE(Run(command).ok());
  ExpectEachOnce("out");
}

TEST_F(Scoring, AFolderHasOneWriter) {
  SmallServer server(Methods(PlainAnswer));
  folder_.Write("out/notes", "");
  const auto held = LockForProcess(folder_.path() / "out/lock");
  ASSERT_TRUE(held.ok());
  EXPECT_THAT(Message(Command(server, "out")), HasSubstr("another run is writing to"));
}

TEST_F(Scoring, InvalidSettingsAreRefusedBeforeTheFirstImage) {
  SmallServer server(Methods(PlainAnswer));
  ScoreCommand command = Command(server, "out");
  command.source = "s3://bucket/images";
  EXPECT_THAT(Message(command), HasSubstr("is a URL"));
  command = Command(server, "out");
  command.chunk = kLargestChunk + 1;
  EXPECT_THAT(Message(command), HasSubstr("--chunk must be 1 to"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out")) << "nothing was begun";
  command = Command(server, "out");
  command.model.name = "n";
  EXPECT_EQ(Run(command).status().code(), absl::StatusCode::kNotFound);
  v1::ModelVersion sized = Described();
  v1::NativeResolution& native = *sized.mutable_config()->mutable_preprocessing()->mutable_native();
  native.set_cell(7);
  native.set_min_tokens(16);
  native.set_max_tokens(64);
  SmallServer of_sizes(Methods(PlainAnswer, sized));
  command = Command(of_sizes, "out");
  command.resolution.emplace().set_height(14);
  command.resolution->set_width(14);
  EXPECT_THAT(Message(command), HasSubstr("--resolution: resolution 14 x 14"));
  folder_.Write("out/index.json", "{");
  EXPECT_THAT(Message(Command(server, "out")), AllOf(HasSubstr("index.json: it is damaged"), HasSubstr("--restart")));
}

}  // namespace
}  // namespace vitrine
