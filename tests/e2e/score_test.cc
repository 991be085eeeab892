// SPDX-License-Identifier: Apache-2.0
// Tests the program `vitrine score` with vitrine-server. During a run, the program is killed, or the version is
// replaced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/e2e/testing/child_program.h"
#include "tests/e2e/testing/child_server.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/scratch_folder.h"

namespace vitrine::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class ScoreProgram : public ::testing::Test {
 protected:
  static constexpr int kImages = 420;

  void SetUp() override {
    PublishModel(folder_.path() / "repository", "mixed", MixedConfig());
    for (int i = 0; i < kImages; ++i) {
      folder_.Write(absl::StrCat("data/", i % 7, "/", 1000 + i, ".jpg"),
                    NoiseJpeg(16 + i % 13 * 4, 16 + i % 11 * 4, static_cast<uint32_t>(i)));
    }
    // Each image has its own batch, so that its logits are bit-identical in every run. The server reads the repository
    // often.
    server_ = std::make_unique<ChildServer>(
        folder_.path(),
        std::vector<std::string>{"--repository", folder_.Path("repository"), "--listen", "127.0.0.1:0", "--metrics",
                                 "127.0.0.1:0", "--max-batch-tokens", "1", "--poll-interval", "100ms"});
    address_ = server_->AwaitReady();
    ASSERT_FALSE(address_.empty()) << server_->Output();
  }

  std::vector<std::string> Arguments(const std::string& out, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"score", folder_.Path("data"), "--server", address_, "--chunk", "16",
                                          "--out", folder_.Path(out)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::pair<int, std::string> Run(const std::vector<std::string>& arguments) const {
    ChildProgram child("vitrine", arguments, folder_.path() / "score.output");
    const int code = child.Wait();
    return {code, child.Output()};
  }
  void RunWell(const std::vector<std::string>& arguments) const {
    const auto [code, said] = Run(arguments);
    EXPECT_EQ(code, 0) << said;
  }

  // Returns the files of the chunks that the index lists, with their times of writing.
  std::map<std::string, fs::file_time_type> ChunkTimes(const std::string& out) const {
    std::map<std::string, fs::file_time_type> times;
    const fs::path folder = folder_.path() / out;
    std::ifstream file(folder / "index.json");
    const Json index = Json::parse(file, nullptr, /*allow_exceptions=*/false);
    if (!index.is_object()) return times;
    for (const Json& chunk : index.at("chunks")) {
      for (const std::string name : chunk.at("files")) times[name] = fs::last_write_time(folder / name);
    }
    return times;
  }
  // Returns the rows of the chunks that the index lists, in the order of the index.
  std::vector<Json> Rows(const std::string& out) const {
    std::vector<Json> rows;
    const Json index = Json::parse(folder_.Read(out + "/index.json"));
    for (const Json& chunk : index.at("chunks")) {
      std::istringstream lines(folder_.Read(out + "/" + chunk.at("files").back().get<std::string>()));
      for (std::string line; std::getline(lines, line);) rows.push_back(Json::parse(line));
    }
    return rows;
  }
  // Expects exactly one row for each image.
  void ExpectEachOnce(const std::vector<Json>& rows) const {
    std::set<std::string> images;
    for (const Json& row : rows) images.insert(row.at("image").get<std::string>());
    EXPECT_EQ(rows.size(), static_cast<size_t>(kImages));
    EXPECT_EQ(images.size(), static_cast<size_t>(kImages));
    for (int i = 0; i < kImages; ++i) {
      EXPECT_TRUE(images.contains(absl::StrCat(i % 7, "/", 1000 + i, ".jpg"))) << i;
    }
  }

  const ScratchFolder folder_;
  std::unique_ptr<ChildServer> server_;
  std::string address_;
};

TEST_F(ScoreProgram, ARunKilledSixTimesHasOneRowPerImage) {
  const std::vector<std::string> vectors = {"--embeddings", "class"};
  RunWell(Arguments("whole", vectors));
  std::map<std::string, fs::file_time_type> times;
  for (int i = 0; i < 6; ++i) {
    // Sends one image at a time, so that there is time to kill the program.
    ChildProgram child("vitrine", Arguments("killed", {"--embeddings", "class", "--max-in-flight", "1"}),
                       folder_.path() / "killed.output");
    const size_t before = times.size();
    ASSERT_TRUE(Eventually([&] { return child.Ended() || ChunkTimes("killed").size() > before; })) << child.Output();
    absl::SleepFor(absl::Milliseconds(7 * i));  // each kill comes at a different moment, also while files are written
    ASSERT_FALSE(child.Ended()) << "it ended before it was killed:\n" << child.Output();
    child.Kill();
    for (const auto& [file, time] : times) EXPECT_EQ(ChunkTimes("killed").at(file), time) << "written again: " << file;
    times = ChunkTimes("killed");
  }
  EXPECT_LT(Rows("killed").size(), static_cast<size_t>(kImages));
  RunWell(Arguments("killed", vectors));
  for (const auto& [file, time] : times) EXPECT_EQ(ChunkTimes("killed").at(file), time) << "written again: " << file;
  ExpectEachOnce(Rows("killed"));
  EXPECT_EQ(Rows("killed"), Rows("whole")) << "probabilities differ in a bit";
  for (const auto& [file, time] : ChunkTimes("whole")) {
    EXPECT_EQ(folder_.Read("killed/" + file), folder_.Read("whole/" + file)) << file;
  }
}

TEST_F(ScoreProgram, ALocalModelResumesAndWritesTheSameFilesAsAServer) {
  RunWell(Arguments("served", {"--embeddings", "class"}));
  const std::vector<std::string> arguments = {"score",        folder_.Path("data"),
                                              "--repository", folder_.Path("repository"),
                                              "--model",      "mixed",
                                              "--embeddings", "class",
                                              "--chunk",      "16",
                                              "--out",        folder_.Path("local")};
  {  // Kills a run with a server. The run sends one image at a time, so that there is time to kill the program.
    ChildProgram child("vitrine", Arguments("local", {"--embeddings", "class", "--max-in-flight", "1"}),
                       folder_.path() / "local.output");
    ASSERT_TRUE(Eventually([&] { return child.Ended() || !ChunkTimes("local").empty(); })) << child.Output();
    ASSERT_FALSE(child.Ended()) << "it ended before it was killed:\n" << child.Output();
    child.Kill();
  }
  server_ = nullptr;
  RunWell(arguments);
  ExpectEachOnce(Rows("local"));
  for (const auto& [file, time] : ChunkTimes("served")) {
    EXPECT_EQ(folder_.Read("local/" + file), folder_.Read("served/" + file)) << file;
  }
}

TEST_F(ScoreProgram, ALocalModelWritesTheErrorsOfImages) {
  folder_.Write("some/a.jpg", NoiseJpeg(20, 20, 1));
  folder_.Write("some/b.jpg", "no image");
  const std::string whole = NoiseJpeg(20, 20, 2);
  folder_.Write("some/c.jpg", whole.substr(0, whole.find("\xff\xda") + 2));  // the JPEG header without pixels
  const auto [code, said] = Run({"score", folder_.Path("some"), "--repository", folder_.Path("repository"), "--model",
                                 "mixed", "--out", folder_.Path("out")});
  EXPECT_EQ(code, 1);
  EXPECT_THAT(said, HasSubstr("2 images have no predictions"));
  const std::vector<Json> rows = Rows("out");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(rows[0].contains("predictions"));
  EXPECT_THAT(rows[1].at("error").get<std::string>(), HasSubstr("neither a JPEG nor a PNG"));
  EXPECT_TRUE(rows[2].contains("error"));
}

TEST_F(ScoreProgram, AnInterruptWhileConnectingExitsWith130) {
  ChildProgram child("vitrine",
                     {"score", folder_.Path("data"), "--server", "127.0.0.1:1", "--connect-timeout", "50s", "--out",
                      folder_.Path("out")},
                     folder_.path() / "out.output");
  ASSERT_TRUE(Eventually([&] { return child.Ended() || fs::exists(folder_.path() / "out/lock"); })) << child.Output();
  child.Signal(SIGINT);
  EXPECT_EQ(child.Wait(), 130) << child.Output();
}

TEST_F(ScoreProgram, AReplacedVersionIsNamedAndItsRowsAreNotMixed) {
  ChildProgram child("vitrine", Arguments("out", {"--max-in-flight", "1", "--patience", "1s"}),
                     folder_.path() / "out.output");
  ASSERT_TRUE(Eventually([&] { return child.Ended() || !ChunkTimes("out").empty(); })) << child.Output();
  ASSERT_FALSE(child.Ended()) << child.Output();
  PublishModel(folder_.path() / "repository", "mixed", MixedConfig(), 2);
  fs::remove_all(folder_.path() / "repository/mixed/1");
  EXPECT_EQ(child.Wait(), 1) << child.Output();
  EXPECT_THAT(child.Output(), HasSubstr("no longer has mixed@1, with which the run began"));
  const auto [code, said] = Run(Arguments("out"));
  EXPECT_EQ(code, 1);
  EXPECT_THAT(said, HasSubstr("was begun with mixed@1"));
  for (const Json& row : Rows("out")) EXPECT_EQ(row.at("version"), 1);
}

}  // namespace
}  // namespace vitrine::testing
