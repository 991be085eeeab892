// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_CLIENT_SCORE_SCORING_H_
#define VITRINE_TESTS_CLIENT_SCORE_SCORING_H_

#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "client/score/score.h"
#include "tests/client/eval/evaluating.h"

namespace vitrine {

// Base class of tests that score an image folder with a real gRPC server. The test defines the answers.
class Scoring : public ::testing::Test {
 protected:
  static constexpr int kImages = 30;

  Scoring() {
    for (int i = 0; i < kImages; ++i) folder_.Write(absl::StrCat("data/", 100 + i, ".png"), ImageFile(i % 5, i));
  }

  ScoreCommand Command(const SmallServer& server, const std::string& out) const {
    ScoreCommand command;
    command.client.address = server.address();
    command.client.retry.initial_backoff = absl::Milliseconds(2);
    command.client.retry.max_backoff = absl::Milliseconds(10);
    command.model.name = "m";
    command.source = folder_.Path("data");
    command.out = folder_.Path(out);
    command.chunk = 8;
    command.patience = absl::Seconds(20);
    return command;
  }
  absl::StatusOr<ScoreResult> Run(const ScoreCommand& command, const std::atomic<bool>* stop = nullptr) {
    ProgressDisplay display(said_, {});
    return RunScore(command, display, stop);
  }
  // Runs the command to its end and expects no error.
  ScoreIndex RunWell(const ScoreCommand& command) {
    const auto result = Run(command);
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return {};
    EXPECT_TRUE(result->stopped.ok()) << result->stopped;
    return result->index;
  }
  std::string Message(const ScoreCommand& command) {
    const auto result = Run(command);
    return std::string((result.ok() ? result->stopped : result.status()).message());
  }
  // Returns the rows of the chunks that the index lists.
  std::vector<nlohmann::json> Rows(const std::string& out) const {
    std::vector<nlohmann::json> rows;
    const auto index = ReadScoreIndex(folder_.Path(out));
    EXPECT_TRUE(index.ok()) << index.status();
    for (const ScoreChunk& chunk : index.ok() ? index->chunks : std::vector<ScoreChunk>()) {
      std::istringstream lines(folder_.Read(out + "/" + ChunkFiles(index->settings, chunk).back()));
      for (std::string line; std::getline(lines, line);) rows.push_back(nlohmann::json::parse(line));
    }
    return rows;
  }
  // Expects one row for each of the images, in their order.
  void ExpectEachOnce(const std::string& out) const {
    const std::vector<nlohmann::json> rows = Rows(out);
    ASSERT_EQ(rows.size(), static_cast<size_t>(kImages));
    for (int i = 0; i < kImages; ++i) {
      EXPECT_EQ(rows[static_cast<size_t>(i)]["index"], i);
      EXPECT_EQ(rows[static_cast<size_t>(i)]["image"], absl::StrCat(100 + i, ".png"));
    }
  }

  const ScratchFolder folder_;
  std::ostringstream said_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_CLIENT_SCORE_SCORING_H_
