// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_SCORE_CHUNK_WRITER_H_
#define VITRINE_CLIENT_SCORE_CHUNK_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/eval/prediction.h"
#include "client/score/score_index.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Collects the rows of consecutive images, in any order, and writes them as a chunk. docs/how-to/scoring.md describes
// the files. Not thread-safe.
class ChunkWriter {
 public:
  // Creates the writer of a chunk, which has the images [first, first + images) of the source. `settings` must outlive
  // it.
  ChunkWriter(const ScoreSettings& settings, int64_t first, int64_t images)
      : settings_(settings), first_(first), rows_(static_cast<size_t>(images)) {}

  // Adds the row of an image. `vector`: its features; empty without settings.vectors.
  void Add(int64_t index, const std::string& name, const v1::ClassifyResponse& answer, std::vector<float> vector);
  // Adds the row of an image without an answer.
  void AddFailure(int64_t index, const std::string& name, Outcome outcome, const absl::Status& why);

  // Returns the chunk of the images before the first image without a row.
  ScoreChunk chunk() const;
  // Writes the files of chunk(), which must have an image. Each file is replaced atomically. Returns the chunk with the
  // sizes of its files. Returns the errors of FileError.
  absl::StatusOr<ScoreChunk> Write(const std::string& folder) const;

 private:
  struct Row {
    std::string line = {};  // empty: no result yet
    Outcome outcome = Outcome::kAnswered;
    bool unsure = false;
    std::vector<int32_t> classes = {};
    std::vector<float> probabilities = {};
    std::vector<float> vector = {};
  };

  const ScoreSettings& settings_;
  const int64_t first_;
  std::vector<Row> rows_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_SCORE_CHUNK_WRITER_H_
