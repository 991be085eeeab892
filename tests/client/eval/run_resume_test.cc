// SPDX-License-Identifier: Apache-2.0
// Tests which results a resumed evaluation reuses and which images it sends again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "client/eval/journal.h"
#include "client/eval/run/merge.h"
#include "common/charts/html/figures.h"
#include "tests/client/eval/evaluating.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Resuming : public Evaluating {
 protected:
  // Returns a list of all images that starts with image `first`.
  std::string List(int first) const {
    std::string list = "file,label\n";
    for (int i = 0; i < 70; ++i) {
      const int at = (first + i) % 70;
      absl::StrAppend(&list, "\"data/Class ", at / 14, "/", 10 + at % 14, ".png\",class ", at / 14, "\n");
    }
    return list;
  }
  EvalCommand Listed(const SmallServer& server, const std::string& out) const {
    EvalCommand command = Command(server, out);
    command.data = "csv:" + folder_.Path("list.csv");
    return command;
  }
};

TEST_F(Resuming, AReorderedListIsAnotherEvaluation) {
  SmallServer server(Methods(PlainAnswer));
  folder_.Write("list.csv", List(0));
  EvalCommand command = Listed(server, "out");
  command.limit = 35;
  RunWell(command);
  folder_.Write("list.csv", List(1));
  EXPECT_THAT(std::string(Run(command).status().message()),
              AllOf(HasSubstr("another order of images"), HasSubstr("--restart")));
}

TEST_F(Resuming, ShardsOfReorderedListsAreNotMerged) {
  SmallServer server(Methods(PlainAnswer));
  MergeOptions merge{.out = folder_.Path("merged")};
  for (int i = 1; i <= 2; ++i) {
    folder_.Write("list.csv", List(i));
    EvalCommand command = Listed(server, absl::StrCat("part", i));
    command.shard = {i, 2};
    RunWell(command);
    merge.folders.push_back(command.out);
  }
  EXPECT_THAT(std::string(MergeEvaluations(merge).status().message()), HasSubstr("another order of images"));
}

TEST_F(Resuming, AKilledMergeCanBeRepeated) {
  SmallServer server(Methods(PlainAnswer));
  RunWell(Command(server, "whole"));
  const std::string journal = folder_.Read("whole/journal");
  folder_.Write("merged/journal.new", journal.substr(0, journal.size() / 2));
  const auto merged = MergeEvaluations({.folders = {folder_.Path("whole")}, .out = folder_.Path("merged")});
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(Csv("merged"), Csv("whole"));
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("merged/journal.new")));
}

TEST_F(Resuming, ARestartRemovesThePageOfTheOldResults) {
  SmallServer server(Methods(PlainAnswer));
  Evaluation e = RunWell(Command(server, "out"));
  ASSERT_TRUE(WritePage(folder_.Path("out/report.html"), "<svg xmlns aria-label=\"Calibration\"></svg>\n").ok());
  ASSERT_TRUE(std::filesystem::exists(folder_.Path("out/figures/calibration.svg")));
  folder_.Write("out/figures/mine.svg", "a figure of the user");
  e.sessions.clear();
  e.predictions.clear();
  ASSERT_TRUE(Journal::Open(folder_.Path("out"), /*restart=*/true, e).ok());
  for (const char* made :
       {"report.html", "figures/calibration.svg", "summary.json", "predictions.csv", "predictions.jsonl"}) {
    EXPECT_FALSE(std::filesystem::exists(folder_.Path(absl::StrCat("out/", made)))) << made;
  }
  EXPECT_TRUE(std::filesystem::exists(folder_.Path("out/figures/mine.svg")));
}

TEST_F(Resuming, ATemporarilyMissingDataSetIsEvaluatedLater) {
  SmallServer server(Methods(PlainAnswer));
  folder_.Write("list.csv", List(0));
  std::filesystem::rename(folder_.Path("data"), folder_.Path("moved"));
  const auto part = Run(Listed(server, "out"));
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_THAT(std::string(part->stopped.message()),
              AllOf(HasSubstr("list.csv seems to be gone: 16 images in a row could not be read, the last: ")));
  EXPECT_EQ(ComputeMetrics(part->evaluation).ledger.unreadable, 0);
  std::filesystem::rename(folder_.Path("moved"), folder_.Path("data"));
  EXPECT_TRUE(ComputeMetrics(RunWell(Listed(server, "out"))).ledger.complete());
}

TEST_F(Resuming, MissingFilesOfAnExistingDataSetAreUnreadable) {
  SmallServer server(Methods(PlainAnswer));
  folder_.Write("list.csv", List(0));
  std::filesystem::rename(folder_.Path("data/Class 3"), folder_.Path("moved"));
  std::filesystem::rename(folder_.Path("data/Class 4"), folder_.Path("moved as well"));
  const EvaluationLedger ledger = ComputeMetrics(RunWell(Listed(server, "out"))).ledger;
  EXPECT_EQ(ledger.unreadable, 28);
  EXPECT_EQ(ledger.answered, 42);
}

TEST_F(Resuming, FailedImagesAreSentAgainOnRequest) {
  std::atomic<int> asked = 0;
  std::atomic<bool> refusing = true;
  const std::string refused = ImageFile(1, 4);
  SmallServer server(Methods([&](const v1::ClassifyRequest& request) {
    ++asked;
    if (refusing && request.image() == refused) {
      return StreamErrorTo(request, grpc::StatusCode::INVALID_ARGUMENT, "not today");
    }
    return Answer(request);
  }));
  folder_.Write("list.csv", List(0));
  std::filesystem::rename(folder_.Path("data/Class 0/10.png"), folder_.Path("moved.png"));
  RunWell(Listed(server, "out"));
  std::filesystem::rename(folder_.Path("moved.png"), folder_.Path("data/Class 0/10.png"));
  refusing = false;
  EXPECT_EQ(ComputeMetrics(RunWell(Listed(server, "out"))).ledger.answered, 68);
  EXPECT_EQ(asked, 69);
  EvalCommand command = Listed(server, "out");
  command.retry_failed = true;
  EXPECT_TRUE(ComputeMetrics(RunWell(command)).ledger.complete());
  EXPECT_EQ(asked, 71);
}

TEST(JournalReading, DescribesAnInvalidLineWithoutTheParsersMessage) {
  Evaluation e;
  e.model.add_labels("cat");
  const std::string strange = R"({"i":"first"})";
  const uLong sum = crc32(0, reinterpret_cast<const Bytef*>(strange.data()), static_cast<uInt>(strange.size()));
  const absl::Status status =
      ParseJournal(absl::StrCat(HeaderLine(e), absl::StrFormat("%08x ", sum), strange, "\n")).status();
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("line 2: a member"), Not(HasSubstr("json"))));
}

TEST(JournalReading, AcceptsPiecesOfAnySize) {
  Evaluation e;
  e.settings.data_images = 1;
  e.model.add_labels("cat");
  e.data_labels = {"cat"};
  const std::string text = HeaderLine(e) + ImageLine({.name = "a.png"});
  for (size_t length = 1; length < 40; ++length) {
    JournalReader reader;
    for (size_t at = 0; at < text.size(); at += length) ASSERT_TRUE(reader.Take(text.substr(at, length)).ok());
    const auto contents = std::move(reader).Finish();
    ASSERT_TRUE(contents.ok()) << contents.status();
    EXPECT_EQ(contents->valid_bytes, text.size());
    EXPECT_EQ(contents->evaluation.predictions.size(), 1u);
  }
}

TEST_F(Resuming, NamesThatAreNotUtf8AreDistinguished) {
  folder_.Write("data/Class 0/caf\xE8.png", ImageFile(0, 1));
  folder_.Write("data/Class 0/caf\xE9.png", ImageFile(0, 2));
  folder_.Write("data/Class 0/d\\e.png", ImageFile(0, 3));
  folder_.Write("data/z\xE9/1.png", ImageFile(2, 3));
  folder_.Write("map.csv", "z\xE9,class 2\n");
  SmallServer server(Methods(PlainAnswer));
  EvalCommand command = Command(server, "out");
  command.label_map = folder_.Path("map.csv");
  EXPECT_TRUE(ComputeMetrics(RunWell(command)).ledger.complete());
  EXPECT_EQ(RunWell(command).predictions.size(), 74u) << "the run must be resumable";
  for (const char* file : {"out/predictions.csv", "out/journal", "out/predictions.jsonl"}) {
    const std::string backslash = std::string(file).ends_with("csv") ? "\\" : "\\\\";
    EXPECT_THAT(folder_.Read(file), AllOf(HasSubstr(absl::StrCat("Class 0/caf", backslash, "xe8.png")),
                                          HasSubstr(absl::StrCat("Class 0/caf", backslash, "xe9.png")),
                                          HasSubstr(absl::StrCat("d", backslash, "x5ce.png")),
                                          HasSubstr(absl::StrCat("z", backslash, "xe9"))))
        << file;
  }
}

TEST_F(Resuming, WaitsForAStartingServer) {
  const std::string socket = "unix:" + folder_.Path("s");
  absl::Notification given_up;
  std::thread later([&] {
    absl::SleepFor(absl::Milliseconds(300));  // at first, no server listens
    SmallServer::Methods loading = Methods(PlainAnswer);
    loading.models.mutable_versions(0)->set_state(v1::LOADING);
    SmallServer server(loading, 64 << 20, nullptr, socket);
    given_up.WaitForNotification();
  });
  EvalCommand command;
  command.client.address = socket;
  command.model.name = "m";
  command.data = "imagefolder:" + folder_.Path("data");
  command.out = folder_.Path("out");
  command.patience = absl::Seconds(6);
  const auto never = Run(command);
  given_up.Notify();
  EXPECT_EQ(never.status().code(), absl::StatusCode::kUnavailable) << never.status();
  EXPECT_THAT(said_.str(), HasSubstr("m is being loaded; waiting up to 6s"));
  later.join();
  SmallServer first(Methods(PlainAnswer), 64 << 20, nullptr, socket);
  EXPECT_TRUE(ComputeMetrics(RunWell(command)).ledger.complete());
}

}  // namespace
}  // namespace vitrine
