// SPDX-License-Identifier: Apache-2.0
// Tests a complete evaluation, its continuation and its shards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/eval/run/merge.h"
#include "tests/client/eval/evaluating.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(Evaluating, EveryImageIsCountedOnce) {
  folder_.Write("data/Class 0/nothing.png", "");
  folder_.Write("data/Class 1/text.jpg", "This is no image.");
  std::string damaged = ImageFile(2, 3);
  damaged[damaged.size() - 14] ^= 0x55;  // damages the checksum of the pixel data
  folder_.Write("data/Class 2/damaged.png", damaged);
  folder_.Write("data/zebra/1.png", ImageFile(9, 1));
  SmallServer server(Methods(PlainAnswer));
  const Evaluation e = RunWell(Command(server, "out"));
  const EvaluationMetrics m = ComputeMetrics(e);
  EXPECT_EQ(m.ledger.images, 74);
  EXPECT_EQ(m.ledger.answered, 70);
  EXPECT_EQ(m.ledger.unreadable, 2);
  EXPECT_EQ(m.ledger.unlabelled, 1);
  EXPECT_EQ(m.ledger.refused_by_code.at("INVALID_ARGUMENT"), 1);
  EXPECT_EQ(m.ledger.missing, 0);
  EXPECT_FALSE(m.ledger.complete());
  EXPECT_EQ(m.top1_correct, 60) << "two of fourteen images of each class are classified as the next class";
  EXPECT_THAT(said_.str(), AllOf(HasSubstr("/data names no splits; all its 74 images are the test split\n"),
                                 HasSubstr("no class for 1 of the data set's 6 labels: zebra"),
                                 HasSubstr("74 of 74  100 %"), HasSubstr("1 refused  2 unreadable  1 unlabelled")));
  EXPECT_THAT(Csv("out"), AllOf(HasSubstr("index,name,label,predicted,correct,in_top5,outcome,code\n"),
                                HasSubstr("0,Class 0/10.png,Class 0,class 0,1,1,answered,\n"),
                                HasSubstr("Class 2/damaged.png,Class 2,,,,refused,INVALID_ARGUMENT\n"),
                                HasSubstr("Class 1/text.jpg,Class 1,,,,unreadable,INVALID_ARGUMENT\n"),
                                HasSubstr("zebra/1.png,zebra,,,,unlabelled,\n")));
  EXPECT_THAT(WhatIsMissing(e, m), ::testing::Contains(HasSubstr("zebra/1.png: the model has no class \"zebra\"")));
  EXPECT_THAT(folder_.Read("out/predictions.jsonl"),
              AllOf(StartsWith("{\"index\":0,\"name\":\"Class 0/10.png\",\"label\":\"Class 0\",\"class\":0,"),
                    HasSubstr("\"guesses\":[{\"index\":0,\"label\":\"class 0\",\"probability\":0.9}")));
}

TEST_F(Evaluating, LatencyIsTheTimeFromSendingToAnswer) {
  SmallServer server(Methods([](const v1::ClassifyRequest& request) {
    absl::SleepFor(absl::Milliseconds(3));  // a measurable latency
    return Answer(request);
  }));
  for (const Prediction& p : RunWell(Command(server, "out")).predictions) {
    EXPECT_GE(p.seconds.client, 0.003) << p.name;
    EXPECT_FLOAT_EQ(static_cast<float>(p.seconds.server), 0.004F);
  }
}

TEST_F(Evaluating, AnInterruptedAndContinuedRunEqualsAnUninterruptedRun) {
  SmallServer server(Methods(PlainAnswer));
  const Evaluation whole = RunWell(Command(server, "whole"));
  RunWell(Command(server, "torn"));
  const std::string journal = folder_.Read("torn/journal");
  for (size_t bytes = journal.size(); bytes > 0; bytes -= std::min<size_t>(bytes, 1999)) {
    folder_.Write("torn/journal", journal.substr(0, bytes));
    std::filesystem::remove(folder_.Path("torn/predictions.csv"));
    const Evaluation torn = RunWell(Command(server, "torn"));
    ASSERT_EQ(Csv("torn"), Csv("whole")) << "torn after " << bytes << " of " << journal.size() << " bytes";
    ASSERT_EQ(Scores(torn), Scores(whole));
  }
}

TEST_F(Evaluating, AStoppedRunCanBeContinuedWithoutSendingAnImageTwice) {
  std::atomic<int> asked = 0;
  std::atomic<bool> stop = false;
  SmallServer server(Methods([&](const v1::ClassifyRequest& request) {
    if (++asked == 20) stop = true;
    return Answer(request);
  }));
  EvalCommand command = Command(server, "out");
  command.client.max_in_flight = 4;
  const auto part = Run(command, &stop);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->stopped.code(), absl::StatusCode::kCancelled);
  const auto known = static_cast<int64_t>(part->evaluation.predictions.size());
  EXPECT_GE(known, 20);
  EXPECT_LE(known, 25) << "images that were not sent must be dropped";
  EXPECT_THAT(said_.str(), ::testing::ContainsRegex("stopping: waiting for at most [0-4] answers"));
  EXPECT_EQ(ComputeMetrics(part->evaluation).ledger.missing, 70 - known);
  const Evaluation rest = RunWell(Command(server, "out"));
  EXPECT_EQ(rest.predictions.size(), 70u);
  EXPECT_EQ(rest.sessions.size(), 2u);
  EXPECT_EQ(asked, 70);
  RunWell(Command(server, "out"));
  EXPECT_EQ(asked, 70) << "a finished run must send no request";
}

TEST_F(Evaluating, ShardsMergedEqualOneRun) {
  SmallServer server(Methods(PlainAnswer));
  EvalCommand command = Command(server, "whole");
  const Evaluation whole = RunWell(command);
  MergeOptions merge{.out = folder_.Path("merged")};
  for (int64_t i = 1; i <= 3; ++i) {
    command.shard = {i, 3};
    command.out = folder_.Path(absl::StrCat("part", i));
    merge.folders.push_back(command.out);
    EXPECT_EQ(RunWell(command).expected, i == 1 ? 24 : 23);
  }
  const auto merged = MergeEvaluations(merge);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(Csv("merged"), Csv("whole"));
  EXPECT_EQ(Scores(*merged), Scores(whole));
  EXPECT_EQ(MergeEvaluations(merge).status().code(), absl::StatusCode::kAlreadyExists);

  merge.out = folder_.Path("part");
  merge.folders = {folder_.Path("part1"), folder_.Path("part3")};
  const absl::Status gap = MergeEvaluations(merge).status();
  EXPECT_THAT(std::string(gap.message()), AllOf(HasSubstr("shard 2/3 is missing"), HasSubstr("--allow-missing")));
  merge.allow_missing = true;
  const auto part = MergeEvaluations(merge);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(ComputeMetrics(*part).ledger.missing, 23);
  command.shard = {};
  command.out = folder_.Path("part");
  EXPECT_EQ(Scores(RunWell(command)), Scores(whole)) << "a run must be able to continue a merged evaluation";
  EXPECT_EQ(Csv("part"), Csv("whole"));

  merge = {.folders = {folder_.Path("part1"), folder_.Path("part1")}, .out = folder_.Path("x")};
  EXPECT_THAT(std::string(MergeEvaluations(merge).status().message()), HasSubstr("both shard 1/3"));
  merge.folders = {folder_.Path("part1"), folder_.Path("whole")};
  EXPECT_EQ(MergeEvaluations(merge).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(Evaluating, WrongArgumentsAreRefusedBeforeTheFirstImage) {
  std::atomic<int> asked = 0;
  SmallServer server(Methods([&](const v1::ClassifyRequest& request) {
    ++asked;
    return Answer(request);
  }));
  EvalCommand command = Command(server, "out");
  folder_.Write("animals/cat/1.png", ImageFile(0, 0));
  command.data = "imagefolder:" + folder_.Path("animals");
  EXPECT_THAT(std::string(Run(command).status().message()), AllOf(HasSubstr("\"cat\""), HasSubstr("\"class 0\"")));
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("out"))) << "the folder must not be created";
  std::filesystem::create_directories(folder_.Path("empty/cat"));
  command.data = "imagefolder:" + folder_.Path("empty");
  EXPECT_THAT(std::string(Run(command).status().message()), HasSubstr("holds no image"));
  command.data = "imagefolder:" + folder_.Path("nowhere");
  EXPECT_EQ(Run(command).status().code(), absl::StatusCode::kNotFound);
  command = Command(server, "out");
  command.model.name = "n";
  EXPECT_EQ(Run(command).status().code(), absl::StatusCode::kNotFound);
  command = Command(server, "out");
  command.client.address = "127.0.0.1:1";
  command.client.connect_timeout = absl::Milliseconds(300);
  EXPECT_EQ(Run(command).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(said_.str(), HasSubstr("no server answers at 127.0.0.1:1; trying for 1s"));
  command = Command(server, "out");
  command.client.tls.emplace();
  command.client.connect_timeout = absl::Minutes(10);  // long, because a TLS error must end the attempts at once
  EXPECT_THAT(std::string(Run(command).status().message()), HasSubstr("it does not speak TLS"));
  EXPECT_EQ(asked, 0);
}

TEST_F(Evaluating, AcceptsALabelMapAndACsvList) {
  folder_.Write("list.csv",
                "file,label\n\"data/Class 0/10.png\",kitten\ndata/Class 1/11.png,puppy\ndata/Class 9/none.png,puppy\n");
  folder_.Write("map.tsv", "kitten\tclass 0\npuppy\t1\n");
  SmallServer server(Methods(PlainAnswer));
  EvalCommand command = Command(server, "out");
  command.data = "csv:" + folder_.Path("list.csv");
  EXPECT_EQ(Run(command).status().code(), absl::StatusCode::kNotFound);
  command.label_map = folder_.Path("map.tsv");
  const EvaluationMetrics m = ComputeMetrics(RunWell(command));
  EXPECT_EQ(m.top1_correct, 2);
  EXPECT_EQ(m.ledger.unreadable, 1);
  EXPECT_THAT(Csv("out"), HasSubstr("data/Class 9/none.png,puppy,,,,unreadable,NOT_FOUND"));
}

}  // namespace
}  // namespace vitrine
