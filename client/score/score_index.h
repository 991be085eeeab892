// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_SCORE_SCORE_INDEX_H_
#define VITRINE_CLIENT_SCORE_SCORE_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/shard.h"

namespace vitrine {

// Name of the index in an --out folder.
inline constexpr char kScoreIndexFile[] = "index.json";

// Settings that determine the rows. Runs with equal settings may be continued or merged.
struct ScoreSettings {
  std::string model = {};
  int64_t version = 0;
  std::string weights_sha256 = {};
  std::string precision = {};     // "fp32", "bf16" or "int8"; empty: no answer yet
  std::string source = {};        // as given; not compared, because the path may differ between runs
  std::string names_sha256 = {};  // SHA-256 over the lines of the images' names, in order
  int64_t images = 0;             // number of images in the whole source
  int top_k = 5;                  // predictions per row; at most the number of the model's classes, which may be 0
  std::string resolution = {};    // "224x224"; empty: the model's policy
  std::string vectors = {};       // kind of the vectors; empty: none are written
  int width = 0;                  // numbers in a vector; 0: no vectors, or not known yet
  int registers = 0;              // vectors per image if `vectors` is "registers"; else 0 (one per image)
};

// Consecutive images whose rows are in the same files (ChunkFiles).
struct ScoreChunk {
  int64_t first = 0;   // index of the first image in the whole source
  int64_t images = 0;  // at least 1
  int64_t unsure = 0, unreadable = 0, refused = 0;
  std::vector<int64_t> bytes = {};  // sizes of the files, in the order of ChunkFiles
  bool operator==(const ScoreChunk&) const = default;
};

// The index of a folder. A chunk is complete if and only if the index lists it.
struct ScoreIndex {
  ScoreSettings settings = {};
  std::vector<std::string> labels = {};  // labels of the model's classes
  Shard shard = {};
  std::vector<ScoreChunk> chunks = {};  // consecutive, from the first image of the shard
};

// Returns the indices [first, last) of a shard's images. They are consecutive, so that a shard reads few tar files.
std::pair<int64_t, int64_t> ImagesOf(const Shard& shard, int64_t images);

// Sums of the chunks of an index.
struct ScoreCounts {
  int64_t expected = 0;  // images of the shard
  int64_t rows = 0;
  int64_t unsure = 0, unreadable = 0, refused = 0;
  bool complete() const { return rows == expected; }
};
ScoreCounts CountScores(const ScoreIndex& index);

// Returns true if the index must be written when `chunks` chunks are finished and the index file lists `listed` chunks.
// The index is written after each of the first 63 chunks, then whenever more than 1/64 of the chunks are not listed. To
// write the index after each of N chunks would write N^2 / 2 entries.
bool IndexIsDue(size_t chunks, size_t listed);

// Returns the names of a chunk's files. The last file, with the JSON lines, is written last.
std::vector<std::string> ChunkFiles(const ScoreSettings& settings, const ScoreChunk& chunk);

// Returns OK if a run with the settings `now` may continue, or be merged with, a run with `before`; else
// FAILED_PRECONDITION, whose message names the first difference. Shards and widths are not compared.
absl::Status CheckSameScores(const ScoreSettings& before, const ScoreSettings& now);

// Reads the index of a folder. NOT_FOUND: there is no index. DATA_LOSS: the index is damaged, or a file of a chunk is
// missing or has another size. FAILED_PRECONDITION: the file is no index of scores.
absl::StatusOr<ScoreIndex> ReadScoreIndex(const std::string& folder);
// Replaces the index of a folder atomically.
absl::Status WriteScoreIndex(const std::string& folder, const ScoreIndex& index);
// Removes the index of a folder, then the files of all chunks, and no other file. FAILED_PRECONDITION: index.json is no
// index of scores; nothing is removed.
absl::Status DiscardScores(const std::string& folder);
// Removes the files of chunks that the index does not list. A run that was killed leaves such files.
absl::Status RemoveOtherChunks(const std::string& folder, const ScoreIndex& index);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_SCORE_SCORE_INDEX_H_
