// SPDX-License-Identifier: Apache-2.0
#include "client/score/score_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "absl/strings/str_replace.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

ScoreIndex Made() {
  return {.settings = {.model = "m",
                       .version = 3,
                       .weights_sha256 = "abc",
                       .source = "data\xff",
                       .names_sha256 = "def",
                       .images = 20,
                       .top_k = 2,
                       .resolution = "48x48",
                       .vectors = "mean",
                       .width = 250},
          .labels = {"cat", "dog"},
          .shard = {2, 2},
          .chunks = {{.first = 10, .images = 6, .unsure = 3, .unreadable = 2, .refused = 1, .bytes = {4, 4, 4, 4}},
                     {.first = 16, .images = 3, .bytes = {4, 4, 4, 4}}}};
}

class ScoreIndexTest : public ::testing::Test {
 protected:
  void WriteFiles(const ScoreIndex& index) const {
    for (const ScoreChunk& chunk : index.chunks) {
      for (const std::string& file : ChunkFiles(index.settings, chunk)) folder_.Write(file, "full");
    }
    ASSERT_TRUE(WriteScoreIndex(folder_.path().string(), index).ok());
  }
  absl::StatusOr<ScoreIndex> Read() const { return ReadScoreIndex(folder_.path().string()); }
  // Returns the error of an index in which `before` is replaced.
  absl::Status Damaged(const std::string& before, const std::string& after) const {
    WriteFiles(Made());
    const std::string text = folder_.Read("index.json");
    EXPECT_THAT(text, HasSubstr(before));
    folder_.Write("index.json", absl::StrReplaceAll(text, {{before, after}}));
    return Read().status();
  }

  const ScratchFolder folder_;
};

TEST_F(ScoreIndexTest, IsReadBackAsWritten) {
  WriteFiles(Made());
  const auto read = Read();
  ASSERT_TRUE(read.ok()) << read.status();
  const ScoreIndex made = Made();
  EXPECT_TRUE(CheckSameScores(made.settings, read->settings).ok());
  EXPECT_EQ(read->settings.source, made.settings.source);
  EXPECT_EQ(read->settings.width, 250);
  EXPECT_EQ(read->labels, made.labels);
  EXPECT_EQ(read->shard, made.shard);
  EXPECT_EQ(read->chunks, made.chunks);
  const ScoreCounts counts = CountScores(*read);
  EXPECT_EQ(counts.expected, 10);
  EXPECT_EQ(counts.rows, 9);
  EXPECT_EQ(counts.unsure, 3);
  EXPECT_EQ(counts.unreadable, 2);
  EXPECT_EQ(counts.refused, 1);
  EXPECT_FALSE(counts.complete());
  EXPECT_THAT(folder_.Read("index.json"), HasSubstr("\"complete\": false"));
}

TEST_F(ScoreIndexTest, ADamagedIndexIsNotContinued) {
  EXPECT_EQ(Read().status().code(), absl::StatusCode::kNotFound);
  for (const auto& [before, after] :
       std::vector<std::pair<std::string, std::string>>{{"vitrine scores 1", "vitrine scores 2"},
                                                        {"\"images\": 6", "\"images\": 5"},
                                                        {"\"images\": 3", "\"images\": 5"},
                                                        {"\"images\": 20", "\"images\": -20"},
                                                        {"\"version\": 3", "\"version\": \"3\""},
                                                        {"\"2/2\"", "\"3/2\""},
                                                        {"\"width\": 250", "\"width\": -1"},
                                                        {"\"width\": 250", "\"width\": 2000000"},
                                                        {"}\n", ""}}) {
    EXPECT_EQ(Damaged(before, after).code(), absl::StatusCode::kDataLoss) << before << " became " << after;
  }
}

TEST_F(ScoreIndexTest, AnIndexWithMissingFilesIsNotContinued) {
  WriteFiles(Made());
  std::filesystem::remove(folder_.path() / "chunk-0000000016.vectors.npy");
  EXPECT_EQ(Read().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Read().status().message()), HasSubstr("chunk-0000000016.vectors.npy, which is missing"));
}

TEST_F(ScoreIndexTest, AnIndexWithATruncatedChunkIsNotContinued) {
  WriteFiles(Made());
  folder_.Write("chunk-0000000016.jsonl", "fu");
  EXPECT_EQ(Read().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Read().status().message()), HasSubstr("chunk-0000000016.jsonl has 2 bytes, and not the 4"));
}

TEST_F(ScoreIndexTest, AnIndexOfAnotherProgramIsNeitherReadNorDiscarded) {
  for (const char* text : {"{\"my\": \"page\"}", "[]", "{\"format\": 1}"}) {
    folder_.Write("index.json", text);
    EXPECT_EQ(Read().status().code(), absl::StatusCode::kFailedPrecondition) << text;
    EXPECT_EQ(DiscardScores(folder_.path().string()).code(), absl::StatusCode::kFailedPrecondition) << text;
    EXPECT_EQ(folder_.Read("index.json"), text);
  }
}

TEST_F(ScoreIndexTest, DiscardRemovesOnlyItsChunks) {
  WriteFiles(Made());
  folder_.Write("chunk-0000000019.jsonl.new", "of a run that was killed");
  folder_.Write("notes.txt", "");
  folder_.Write("chunk-1.wav", "");
  std::filesystem::create_directory(folder_.path() / "chunk-0000000001.jsonl");
  ASSERT_TRUE(DiscardScores(folder_.path().string()).ok());
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    left.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(left, ::testing::UnorderedElementsAre("notes.txt", "chunk-1.wav", "chunk-0000000001.jsonl"));
}

TEST(ImagesOf, ShardsCoverAllImagesInOrder) {
  for (const int64_t images : {0, 2, 7, 1000}) {
    int64_t next = 0;
    for (int64_t number = 1; number <= 3; ++number) {
      const auto [first, last] = ImagesOf({number, 3}, images);
      EXPECT_EQ(first, next);
      EXPECT_LE(last - first, images / 3 + 1);
      next = last;
    }
    EXPECT_EQ(next, images);
  }
}

TEST(IndexIsDue, LimitsTheNumberOfWrittenEntries) {
  constexpr size_t kChunks = 16384;
  size_t listed = 0, entries = 0;
  for (size_t chunks = 1; chunks <= kChunks; ++chunks) {
    if (IndexIsDue(chunks, listed)) entries += listed = chunks;
    EXPECT_LE(chunks - listed, chunks / 64) << chunks;
  }
  EXPECT_LT(entries, 70 * kChunks);
}

TEST(CheckSameScores, NamesEveryDifference) {
  const ScoreSettings made = Made().settings;
  const std::vector<std::pair<std::string, std::function<void(ScoreSettings&)>>> differences = {
      {"the model was m, now it is n", [](ScoreSettings& s) { s.model = "n"; }},
      {"the version of the model was 3, now it is 4", [](ScoreSettings& s) { s.version = 4; }},
      {"weights", [](ScoreSettings& s) { s.weights_sha256 = "x"; }},
      {"number of images", [](ScoreSettings& s) { s.images = 21; }},
      {"other names", [](ScoreSettings& s) { s.names_sha256 = "x"; }},
      {"--top-k was 2, now it is 1", [](ScoreSettings& s) { s.top_k = 1; }},
      {"--resolution was 48x48, now it is not given", [](ScoreSettings& s) { s.resolution = ""; }},
      {"--embeddings was mean, now it is class", [](ScoreSettings& s) { s.vectors = "class"; }}};
  for (const auto& [words, change] : differences) {
    ScoreSettings other = made;
    change(other);
    EXPECT_THAT(std::string(CheckSameScores(made, other).message()), HasSubstr(words));
  }
  ScoreSettings moved = made;
  moved.source = "elsewhere";
  EXPECT_TRUE(CheckSameScores(made, moved).ok());
}

}  // namespace
}  // namespace vitrine
