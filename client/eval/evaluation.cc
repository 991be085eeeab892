// SPDX-License-Identifier: Apache-2.0
#include "client/eval/evaluation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/eval/journal.h"
#include "common/status_macros.h"

namespace vitrine {

int64_t WithinLimit(const EvaluationSettings& settings) {
  return settings.limit > 0 ? std::min(settings.limit, settings.data_images) : settings.data_images;
}

int64_t CountChosen(const EvaluationSettings& settings) {
  const int64_t before = WithinLimit(settings) - settings.shard.number;
  return before < 0 ? 0 : before / settings.shard.of + 1;
}

std::vector<int64_t> ChosenImages(const EvaluationSettings& settings) {
  const int64_t all = settings.data_images;
  const int64_t chosen = WithinLimit(settings);
  std::vector<int64_t> indices;
  for (int64_t i = settings.shard.number - 1; i < chosen; i += settings.shard.of) {
    // floor(i * all / chosen), without overflow
    indices.push_back(i * (all / chosen) + i * (all % chosen) / chosen);
  }
  return indices;
}

absl::StatusOr<Evaluation> ReadEvaluation(const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/", kJournalFile);
  absl::StatusOr<JournalContents> contents = ReadJournal(path);
  if (absl::IsNotFound(contents.status())) {
    return absl::NotFoundError(absl::StrCat(folder, " holds no evaluation: there is no ", path));
  }
  RETURN_IF_ERROR(contents.status());
  if (!contents->begun) return absl::NotFoundError(absl::StrCat(folder, " holds no evaluation: ", path, " is empty"));
  contents->evaluation.expected = CountChosen(contents->evaluation.settings);
  return std::move(contents->evaluation);
}

}  // namespace vitrine
