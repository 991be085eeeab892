// SPDX-License-Identifier: Apache-2.0
#include "client/score/chunk_writer.h"

#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/commands/output/feature_files.h"
#include "common/data/file_names.h"
#include "common/drawing/answer_json.h"
#include "common/file/descriptor.h"
#include "common/file/replace.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int32_t kNoClass = -1;
constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();

// Writes an array with `rows` rows of `shape`. If `row` returns fewer values, fills the rest of the row with `missing`.
template <typename Value, typename RowOf>
absl::Status WriteArray(const std::string& path, size_t rows, const std::vector<int64_t>& shape, NpyType type,
                        Value missing, RowOf row) {
  ASSIGN_OR_RETURN(const std::unique_ptr<NpyFile> file, NpyFile::Create(path, shape, type));
  const int64_t width = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  for (size_t i = 0; i < rows; ++i) {
    std::vector<Value> values = row(i);
    values.resize(static_cast<size_t>(width), missing);
    RETURN_IF_ERROR(file->Append(std::span<const Value>(values)));
  }
  return file->Finish();
}

// Returns the start of a row's line: {"index":17,"image":"a.jpg"
std::string BeginLine(int64_t index, const std::string& name) {
  return absl::StrCat("{\"index\":", index, ",\"image\":", nlohmann::json(EscapedBytes(name)).dump());
}

}  // namespace

void ChunkWriter::Add(int64_t index, const std::string& name, const v1::ClassifyResponse& answer,
                      std::vector<float> vector) {
  Row& row = rows_[static_cast<size_t>(index - first_)];
  row = {.unsure = answer.unsure(), .vector = std::move(vector)};
  for (const v1::Prediction& prediction : answer.predictions()) {
    row.classes.push_back(prediction.index());
    row.probabilities.push_back(prediction.probability());
  }
  row.line = absl::StrCat(BeginLine(index, name), ",\"version\":", answer.served_by().version(),
                          ",\"weights_sha256\":\"", answer.served_by().weights_sha256(), "\",\"predictions\":");
  AppendPredictionsJson(answer, row.line);
  absl::StrAppend(&row.line, ",\"unsure\":", row.unsure ? "true" : "false", "}\n");
}

void ChunkWriter::AddFailure(int64_t index, const std::string& name, Outcome outcome, const absl::Status& why) {
  const nlohmann::ordered_json members = {{"error", why.message()}, {"code", absl::StatusCodeToString(why.code())}};
  const std::string text = members.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  rows_[static_cast<size_t>(index - first_)] = {.line = absl::StrCat(BeginLine(index, name), ",", text.substr(1), "\n"),
                                                .outcome = outcome};
}

ScoreChunk ChunkWriter::chunk() const {
  ScoreChunk chunk{.first = first_};
  for (const Row& row : rows_) {
    if (row.line.empty()) break;
    ++chunk.images;
    chunk.unsure += row.unsure ? 1 : 0;
    chunk.unreadable += row.outcome == Outcome::kUnreadable ? 1 : 0;
    chunk.refused += row.outcome == Outcome::kRefused ? 1 : 0;
  }
  return chunk;
}

absl::StatusOr<ScoreChunk> ChunkWriter::Write(const std::string& folder) const {
  ScoreChunk written = chunk();
  const auto rows = static_cast<size_t>(written.images);
  std::vector<std::string> paths = ChunkFiles(settings_, written);
  for (std::string& path : paths) path = absl::StrCat(folder, "/", path);
  RETURN_IF_ERROR(WriteArray(paths[0], rows, {settings_.top_k}, NpyType::kInt32, kNoClass,
                             [this](size_t i) { return rows_[i].classes; }));
  RETURN_IF_ERROR(WriteArray(paths[1], rows, {settings_.top_k}, NpyType::kFloat32, kNoNumber,
                             [this](size_t i) { return rows_[i].probabilities; }));
  if (!settings_.vectors.empty()) {
    std::vector<int64_t> shape = {settings_.width};
    if (settings_.registers > 0) shape.insert(shape.begin(), settings_.registers);
    RETURN_IF_ERROR(
        WriteArray(paths[2], rows, shape, NpyType::kFloat32, kNoNumber, [this](size_t i) { return rows_[i].vector; }));
  }
  std::string lines;
  for (size_t i = 0; i < rows; ++i) lines += rows_[i].line;
  RETURN_IF_ERROR(ReplaceFile(paths.back(), lines));
  for (const std::string& path : paths) {
    std::error_code error;
    written.bytes.push_back(static_cast<int64_t>(std::filesystem::file_size(path, error)));
    if (error) return FileError(error.value(), path);
  }
  return written;
}

}  // namespace vitrine
