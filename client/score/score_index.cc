// SPDX-License-Identifier: Apache-2.0
#include "client/score/score_index.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/data/file.h"
#include "common/data/file_names.h"
#include "common/file/replace.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr char kFormat[] = "vitrine scores 1";
constexpr char kAnyFormat[] = "\"vitrine scores ";  // start of kFormat in all its versions, as JSON
constexpr int kLargestWidth = 1 << 20;
constexpr char kChunkPrefix[] = "chunk-";
constexpr size_t kChunkDigits = 10;

std::string IndexPath(const std::string& folder) {
  return absl::StrCat(folder, "/", kScoreIndexFile);
}

Json ToJson(const ScoreIndex& index) {
  const ScoreSettings& s = index.settings;
  Json chunks = Json::array();
  for (const ScoreChunk& chunk : index.chunks) {
    chunks.push_back({{"files", ChunkFiles(s, chunk)},
                      {"first", chunk.first},
                      {"images", chunk.images},
                      {"unsure", chunk.unsure},
                      {"unreadable", chunk.unreadable},
                      {"refused", chunk.refused},
                      {"bytes", chunk.bytes}});
  }
  return {{"format", kFormat},
          {"model", s.model},
          {"version", s.version},
          {"weights_sha256", s.weights_sha256},
          {"precision", s.precision},
          {"source", {{"path", EscapedBytes(s.source)}, {"images", s.images}, {"names_sha256", s.names_sha256}}},
          {"top_k", s.top_k},
          {"resolution", s.resolution},
          {"vectors", s.vectors},
          {"width", s.width},
          {"shard", ToString(index.shard)},
          {"labels", index.labels},
          {"complete", CountScores(index).complete()},
          {"chunks", std::move(chunks)}};
}

// Parses an index. For invalid members, nlohmann throws an exception, which ReadScoreIndex converts to a status.
absl::StatusOr<ScoreIndex> FromJson(const Json& json) {
  const std::string format = json.is_object() && json.contains("format") ? json["format"].dump() : "";
  if (!format.starts_with(kAnyFormat)) {
    return absl::FailedPreconditionError("it is no index of `vitrine score`; give another --out");
  }
  if (json.at("format") != kFormat) return absl::DataLossError("it is of another version of this program");
  ScoreIndex index;
  ScoreSettings& s = index.settings;
  s.model = json.at("model").get<std::string>();
  s.version = json.at("version").get<int64_t>();
  s.weights_sha256 = json.at("weights_sha256").get<std::string>();
  s.precision = json.at("precision").get<std::string>();
  s.source = UnescapedBytes(json.at("source").at("path").get<std::string>());
  s.images = json.at("source").at("images").get<int64_t>();
  s.names_sha256 = json.at("source").at("names_sha256").get<std::string>();
  s.top_k = json.at("top_k").get<int>();
  s.resolution = json.at("resolution").get<std::string>();
  s.vectors = json.at("vectors").get<std::string>();
  s.width = json.at("width").get<int>();
  s.registers = json.value("registers", 0);
  const int64_t numbers = int64_t{s.width} * std::max(s.registers, 1);
  if (s.images < 0 || s.width < 0 || s.registers < 0 || numbers > kLargestWidth)
    return absl::DataLossError("it is damaged");
  ASSIGN_OR_RETURN(index.shard, ParseShard(json.at("shard").get<std::string>()));
  index.labels = json.at("labels").get<std::vector<std::string>>();
  for (const Json& chunk : json.at("chunks")) {
    index.chunks.push_back({.first = chunk.at("first").get<int64_t>(),
                            .images = chunk.at("images").get<int64_t>(),
                            .unsure = chunk.at("unsure").get<int64_t>(),
                            .unreadable = chunk.at("unreadable").get<int64_t>(),
                            .refused = chunk.at("refused").get<int64_t>(),
                            .bytes = chunk.at("bytes").get<std::vector<int64_t>>()});
  }
  return index;
}

absl::Status CheckFiles(const std::string& folder, const ScoreSettings& settings, const ScoreChunk& chunk) {
  const std::vector<std::string> files = ChunkFiles(settings, chunk);
  for (size_t i = 0; i < files.size(); ++i) {
    const fs::path file = fs::path(folder) / files[i];
    std::error_code error;
    const uintmax_t bytes = fs::file_size(file, error);
    if (error || !IsRegularFile(file)) {
      return absl::DataLossError(absl::StrCat(IndexPath(folder), " lists ", files[i], ", which is missing"));
    }
    if (i >= chunk.bytes.size() || bytes != static_cast<uintmax_t>(chunk.bytes[i])) {
      return absl::DataLossError(absl::StrCat(file.string(), " has ", bytes, " bytes, and not the ",
                                              i < chunk.bytes.size() ? absl::StrCat(chunk.bytes[i]) : std::string("?"),
                                              " of the index; copy it again"));
    }
  }
  return absl::OkStatus();
}

// Returns true for the name of a chunk's file, also while the file is being written.
bool IsChunkFile(absl::string_view name) {
  absl::ConsumeSuffix(&name, ".new");
  if (!absl::ConsumePrefix(&name, kChunkPrefix) || name.size() < kChunkDigits) return false;
  if (!std::all_of(name.begin(), name.begin() + kChunkDigits, absl::ascii_isdigit)) return false;
  name.remove_prefix(kChunkDigits);
  return name == ".jsonl" || name == ".classes.npy" || name == ".probabilities.npy" || name == ".vectors.npy";
}

}  // namespace

std::pair<int64_t, int64_t> ImagesOf(const Shard& shard, int64_t images) {
  // floor(i * images / of), without overflow
  const auto begin = [&](int64_t i) { return i * (images / shard.of) + i * (images % shard.of) / shard.of; };
  return {begin(shard.number - 1), begin(shard.number)};
}

ScoreCounts CountScores(const ScoreIndex& index) {
  const auto [first, last] = ImagesOf(index.shard, index.settings.images);
  ScoreCounts counts{.expected = last - first};
  for (const ScoreChunk& chunk : index.chunks) {
    counts.rows += chunk.images;
    counts.unsure += chunk.unsure;
    counts.unreadable += chunk.unreadable;
    counts.refused += chunk.refused;
  }
  return counts;
}

bool IndexIsDue(size_t chunks, size_t listed) {
  return chunks - listed > chunks / 64;
}

std::vector<std::string> ChunkFiles(const ScoreSettings& settings, const ScoreChunk& chunk) {
  // The name has the index of the first image in the whole source, so that chunks of several shards differ in name.
  const std::string name = absl::StrFormat("%s%010d", kChunkPrefix, chunk.first);
  std::vector<std::string> files = {name + ".classes.npy", name + ".probabilities.npy"};
  if (!settings.vectors.empty()) files.push_back(name + ".vectors.npy");
  files.push_back(name + ".jsonl");
  return files;
}

absl::Status CheckSameScores(const ScoreSettings& before, const ScoreSettings& now) {
  const auto differ = [](const std::string& what, const auto& there, const auto& here) {
    return absl::FailedPreconditionError(absl::StrCat(what, " was ", there, ", now it is ", here));
  };
  const auto words = [](const std::string& text) { return text.empty() ? std::string("not given") : text; };
  if (before.model != now.model) return differ("the model", before.model, now.model);
  if (before.version != now.version) return differ("the version of the model", before.version, now.version);
  if (before.weights_sha256 != now.weights_sha256) {
    return differ("the digest of the weights", before.weights_sha256, now.weights_sha256);
  }
  if (!before.precision.empty() && !now.precision.empty() && before.precision != now.precision) {
    return differ("the precision of the model", before.precision, now.precision);
  }
  if (before.images != now.images) return differ("the number of images in the source", before.images, now.images);
  if (before.names_sha256 != now.names_sha256) {
    return absl::FailedPreconditionError(
        absl::StrCat("the source ", before.source, " had images of other names, or in another order"));
  }
  if (before.top_k != now.top_k) return differ("--top-k", before.top_k, now.top_k);
  if (before.resolution != now.resolution) {
    return differ("--resolution", words(before.resolution), words(now.resolution));
  }
  if (before.vectors != now.vectors) return differ("--embeddings", words(before.vectors), words(now.vectors));
  return absl::OkStatus();
}

absl::StatusOr<ScoreIndex> ReadScoreIndex(const std::string& folder) {
  const std::string path = IndexPath(folder);
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  absl::StatusOr<ScoreIndex> index = absl::DataLossError("it is damaged");
  try {
    index = FromJson(Json::parse(text));
  } catch (const nlohmann::json::exception&) {
  }
  if (!index.ok()) {
    const absl::StatusCode code =
        absl::IsFailedPrecondition(index.status()) ? index.status().code() : absl::StatusCode::kDataLoss;
    return absl::Status(code, absl::StrCat(path, ": ", index.status().message()));
  }
  int64_t next = ImagesOf(index->shard, index->settings.images).first;
  for (const ScoreChunk& chunk : index->chunks) {
    if (chunk.images < 1 || chunk.first != next) {
      return absl::DataLossError(absl::StrCat(path, ": the images from ", next, " on are in no chunk"));
    }
    next += chunk.images;
    RETURN_IF_ERROR(CheckFiles(folder, index->settings, chunk));
  }
  if (CountScores(*index).rows > CountScores(*index).expected) {
    return absl::DataLossError(absl::StrCat(path, ": its chunks have more images than the shard"));
  }
  return index;
}

absl::Status WriteScoreIndex(const std::string& folder, const ScoreIndex& index) {
  Json json = ToJson(index);
  if (index.settings.registers > 0) json["registers"] = index.settings.registers;
  return ReplaceFile(IndexPath(folder), json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

absl::Status DiscardScores(const std::string& folder) {
  if (const absl::Status read = ReadScoreIndex(folder).status(); absl::IsFailedPrecondition(read)) return read;
  std::error_code ignored;
  fs::remove(IndexPath(folder), ignored);
  return RemoveOtherChunks(folder, ScoreIndex());
}

absl::Status RemoveOtherChunks(const std::string& folder, const ScoreIndex& index) {
  std::set<std::string> listed;
  for (const ScoreChunk& chunk : index.chunks) {
    for (std::string& file : ChunkFiles(index.settings, chunk)) listed.insert(std::move(file));
  }
  std::error_code error;
  std::vector<fs::path> others;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (IsChunkFile(name) && !listed.contains(name) && IsRegularFile(entry->path())) others.push_back(entry->path());
  }
  for (const fs::path& other : others) {
    if (!error) fs::remove(other, error);
  }
  if (!error) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("cannot remove old chunks from ", folder, ": ", error.message()));
}

}  // namespace vitrine
