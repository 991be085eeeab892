// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/score/score.h"
#include "common/data/file.h"
#include "common/file/replace.h"
#include "common/file/write.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

struct Part {
  std::string folder;
  ScoreIndex index;
  std::pair<int64_t, int64_t> images;  // [first, last)
};

// Reads the parts and sorts them by first image. FAILED_PRECONDITION: they are not from one run.
absl::StatusOr<std::vector<Part>> ReadParts(const std::vector<std::string>& folders) {
  std::vector<Part> parts;
  for (const std::string& folder : folders) {
    absl::StatusOr<ScoreIndex> index = ReadScoreIndex(folder);
    if (absl::IsNotFound(index.status())) {
      return absl::NotFoundError(absl::StrCat(folder, " holds no scores: there is no ", folder, "/", kScoreIndexFile));
    }
    RETURN_IF_ERROR(index.status());
    if (!parts.empty()) {
      // Compares the new part with an earlier part that has a precision, or else with the first part. A part without
      // answers has no precision, and matches every precision.
      const auto known =
          std::ranges::find_if(parts, [](const Part& part) { return !part.index.settings.precision.empty(); });
      const Part& first = known == parts.end() ? parts.front() : *known;
      if (const absl::Status same = CheckSameScores(first.index.settings, index->settings); !same.ok()) {
        return absl::FailedPreconditionError(absl::StrCat(
            first.folder, " and ", folder, " are not shards of one run: ", same.message(), " in the second"));
      }
    }
    const auto images = ImagesOf(index->shard, index->settings.images);
    parts.push_back({folder, *std::move(index), images});
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.images < b.images; });
  return parts;
}

// Checks that every image is in exactly one part, and has a row.
absl::Status CheckCoverage(const std::vector<Part>& parts) {
  std::vector<std::string> faults;
  const auto missing = [&faults](int64_t first, int64_t last) {
    if (first < last) faults.push_back(absl::StrCat("images ", first, " to ", last - 1, " are in no part"));
  };
  int64_t next = 0;
  const Part* before = nullptr;  // the previous part that has images
  for (const Part& part : parts) {
    const auto [first, last] = part.images;
    if (first == last) continue;  // empty shard: the source has fewer images than shards
    if (first < next) {
      return absl::FailedPreconditionError(absl::StrCat(before->folder, " (shard ", ToString(before->index.shard),
                                                        ") and ", part.folder, " (shard ", ToString(part.index.shard),
                                                        ") both have image ", first, "; give each shard once"));
    }
    missing(next, first);
    const ScoreCounts counts = CountScores(part.index);
    if (!counts.complete()) {
      faults.push_back(absl::StrCat(part.folder, " has ", counts.rows, " of ", counts.expected,
                                    " rows, and the same command again continues it"));
    }
    next = last;
    before = &part;
  }
  missing(next, parts.front().index.settings.images);
  if (faults.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrJoin(faults, "; "));
}

// Makes `to` a hard link to `from` or, if links are not possible, a synced copy.
absl::Status LinkOrCopy(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::remove(to, error);  // leftover of a merge that was killed
  fs::create_hard_link(from, to, error);
  if (!error) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(from, int64_t{4} << 30));
  return ReplaceFile(to, bytes);
}

}  // namespace

absl::StatusOr<ScoreIndex> MergeScores(const MergeScoresOptions& options) {
  ASSIGN_OR_RETURN(std::vector<Part> parts, ReadParts(options.folders));
  if (parts.empty())
    return absl::InvalidArgumentError("there is nothing to merge; give the --out folders of the shards");
  RETURN_IF_ERROR(CheckCoverage(parts));
  if (!absl::IsNotFound(ReadScoreIndex(options.out).status())) {
    return absl::AlreadyExistsError(absl::StrCat(options.out, " holds scores; give another --out"));
  }
  RETURN_IF_ERROR(MakeFolder(options.out));
  RETURN_IF_ERROR(DiscardScores(options.out));  // leftovers of a merge that was killed, perhaps of other chunks
  ScoreIndex merged = {.settings = parts.front().index.settings, .labels = parts.front().index.labels};
  for (const Part& part : parts) {
    if (merged.settings.precision.empty()) merged.settings.precision = part.index.settings.precision;
    merged.settings.width = std::max(merged.settings.width, part.index.settings.width);
    merged.settings.registers = std::max(merged.settings.registers, part.index.settings.registers);
    for (const ScoreChunk& chunk : part.index.chunks) {
      for (const std::string& file : ChunkFiles(part.index.settings, chunk)) {
        RETURN_IF_ERROR(LinkOrCopy(fs::path(part.folder) / file, fs::path(options.out) / file));
      }
      merged.chunks.push_back(chunk);
    }
  }
  RETURN_IF_ERROR(WriteScoreIndex(options.out, merged));
  return merged;
}

}  // namespace vitrine
