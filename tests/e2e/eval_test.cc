// SPDX-License-Identifier: Apache-2.0
// Tests the program `vitrine eval` with vitrine-server. During a run, the program is killed, or the server is
// restarted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "tests/e2e/testing/child_program.h"
#include "tests/e2e/testing/child_server.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/free_port.h"
#include "tests/paths.h"
#include "tests/read_file.h"
#include "tests/scratch_folder.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

int64_t LinesOf(const std::filesystem::path& file) {
  const std::string text = ReadFile(file);
  return std::count(text.begin(), text.end(), '\n');
}

class EvalProgram : public ::testing::Test {
 protected:
  static constexpr int kImages = 420;

  void SetUp() override {
    PublishModel(folder_.path() / "repository", "mixed", MixedConfig());
    for (int i = 0; i < kImages; ++i) {
      folder_.Write(absl::StrCat("data/class-", i % 7, "/", 1000 + i, ".jpg"),
                    NoiseJpeg(16 + i % 13 * 4, 16 + i % 11 * 4, static_cast<uint32_t>(i)));
    }
    StartServer(absl::StrCat("127.0.0.1:", FreePort()));  // a fixed port, which a later server can listen on again
  }

  // Each image has its own batch, so that its logits are bit-identical in every run.
  void StartServer(const std::string& listen) {
    server_.reset();
    server_ = std::make_unique<ChildServer>(
        folder_.path(), std::vector<std::string>{"--repository", folder_.Path("repository"), "--listen", listen,
                                                 "--metrics", "127.0.0.1:0", "--max-batch-tokens", "1"});
    address_ = server_->AwaitReady();
    ASSERT_FALSE(address_.empty()) << server_->Output();
  }

  std::vector<std::string> Arguments(const std::string& out, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {
        "eval", "--server", address_, "--data", "imagefolder:" + folder_.Path("data"), "--out", folder_.Path(out)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  // Runs the program to its end; returns its exit code and output.
  std::pair<int, std::string> Run(const std::vector<std::string>& arguments) const {
    ChildProgram child("vitrine", arguments, folder_.path() / "eval.output");
    const int code = child.Wait();
    return {code, child.Output()};
  }
  void RunWell(const std::vector<std::string>& arguments) const {
    const auto [code, said] = Run(arguments);
    EXPECT_EQ(code, 0) << said;
  }

  std::string Csv(const std::string& out) const { return folder_.Read(out + "/predictions.csv"); }
  // Returns the summary without the part that depends on time.
  Json Summary(const std::string& out) const {
    Json json = Json::parse(folder_.Read(out + "/summary.json"));
    json.erase("run");
    return json;
  }
  // Returns the probabilities of a run, image by image.
  std::vector<Json> Guesses(const std::string& out) const {
    std::vector<Json> guesses;
    std::istringstream lines(folder_.Read(out + "/predictions.jsonl"));
    for (std::string line; std::getline(lines, line);) guesses.push_back(Json::parse(line).at("guesses"));
    return guesses;
  }
  void ExpectEqualRuns(const std::string& a, const std::string& b) const {
    EXPECT_EQ(Csv(a), Csv(b));
    EXPECT_EQ(Summary(a), Summary(b));
    EXPECT_EQ(Guesses(a), Guesses(b)) << "probabilities differ in a bit";
    EXPECT_EQ(Guesses(a).size(), static_cast<size_t>(kImages));
  }

  const ScratchFolder folder_;
  std::unique_ptr<ChildServer> server_;
  std::string address_;
};

TEST_F(EvalProgram, ARunKilledFiveTimesEqualsAnUninterruptedRun) {
  RunWell(Arguments("whole"));
  const std::filesystem::path journal = folder_.path() / "killed" / "journal";
  for (int i = 0; i < 5; ++i) {
    const int64_t before = LinesOf(journal);
    // Sends one image at a time, so that there is time to kill the program.
    ChildProgram child("vitrine", Arguments("killed", {"--max-in-flight", "1"}), folder_.path() / "killed.output");
    ASSERT_TRUE(Eventually([&] { return child.Ended() || LinesOf(journal) > before + 5; })) << child.Output();
    ASSERT_FALSE(child.Ended()) << "it ended before it was killed:\n" << child.Output();
    child.Kill();
  }
  EXPECT_LT(LinesOf(journal), kImages);
  RunWell(Arguments("killed"));
  ExpectEqualRuns("killed", "whole");
  // There are one header, six session lines, and one line per image.
  EXPECT_EQ(LinesOf(journal), 1 + 6 + kImages);
}

TEST_F(EvalProgram, AServerRestartDoesNotChangeTheResult) {
  RunWell(Arguments("whole"));
  ChildProgram child("vitrine", Arguments("out", {"--max-in-flight", "2"}), folder_.path() / "away.output");
  ASSERT_TRUE(Eventually([&] { return child.Ended() || LinesOf(folder_.path() / "out" / "journal") > 30; }));
  server_->Signal(SIGKILL);
  ASSERT_TRUE(Eventually([&] { return child.Output().find("the server is unreachable") != std::string::npos; }))
      << child.Output();
  StartServer(address_);
  EXPECT_EQ(child.Wait(), 0) << child.Output();
  ExpectEqualRuns("out", "whole");
}

TEST_F(EvalProgram, AgreesWithTheTrainersPredictions) {
  const std::string bundled = absl::StrCat(VITRINE_SOURCE, "/models/bundled");
  const std::vector<std::string> classes = {"airplane", "automobile", "bird",  "cat",  "deer",
                                            "dog",      "frog",       "horse", "ship", "truck"};
  for (int i = 0; i < 120; ++i) {
    folder_.Write(absl::StrCat("cifar/", classes[static_cast<size_t>(i % 10)], "/", 1000 + i, ".jpg"),
                  NoiseJpeg(32 + i % 3 * 8, 32 + i % 5 * 8, static_cast<uint32_t>(7 * i)));
  }
  const std::string data = "imagefolder:" + folder_.Path("cifar");
  ChildProgram trainer("vitrine-train",
                       {"evaluate", "--repository", bundled, "--model", "eit-mini-cifar10", "--data", data, "--threads",
                        "2", "--out", folder_.Path("trainer.csv")},
                       folder_.path() / "trainer.output");
  ASSERT_EQ(trainer.Wait(), 0) << trainer.Output();
  ChildServer server(folder_.path(), {"--repository", bundled, "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"});
  RunWell({"eval", "--server", server.AwaitReady(), "--model", "eit-mini-cifar10", "--data", data, "--out",
           folder_.Path("out")});

  std::istringstream ours(Csv("out")), theirs(folder_.Read("trainer.csv"));
  std::string mine, reference;
  std::getline(ours, mine);
  std::getline(theirs, reference);
  std::set<std::string> predicted;
  for (int i = 0; i < 120; ++i) {
    ASSERT_TRUE(std::getline(ours, mine) && std::getline(theirs, reference)) << "image " << i;
    // The trainer's line is "name,label,predicted"; the line of `vitrine eval` has the index before these fields and
    // more fields after them.
    EXPECT_THAT(mine, HasSubstr(absl::StrCat(",", reference, ",")));
    predicted.insert(reference.substr(reference.rfind(',')));
  }
  EXPECT_GE(predicted.size(), 3u) << "the images are too alike to tell models apart";
}

}  // namespace
}  // namespace vitrine::testing
