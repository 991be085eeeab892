// SPDX-License-Identifier: Apache-2.0
#include "client/eval/run/merge.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/eval/eval_gates.h"
#include "client/eval/journal.h"
#include "common/file/replace.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

struct Part {
  std::string folder;
  Evaluation evaluation;
};

// Reads the shards in `folders` and returns them by shard number. Fails unless all shards belong to one run.
absl::StatusOr<std::map<int64_t, Part>> ReadParts(const std::vector<std::string>& folders) {
  std::map<int64_t, Part> parts;
  for (const std::string& folder : folders) {
    ASSIGN_OR_RETURN(Evaluation evaluation, ReadEvaluation(folder));
    const Shard shard = evaluation.settings.shard;
    if (!parts.empty()) {
      const auto& [number, first] = *parts.begin();
      if (first.evaluation.settings.shard.of != shard.of) {
        return absl::FailedPreconditionError(absl::StrCat(folder, " is shard ", ToString(shard), ", ", first.folder,
                                                          " is ", ToString(first.evaluation.settings.shard)));
      }
      Evaluation same = first.evaluation;
      same.settings.shard = shard;
      if (const absl::Status status = CheckSameEvaluation(same, evaluation); !status.ok()) {
        return absl::FailedPreconditionError(absl::StrCat(
            first.folder, " and ", folder, " are no shards of one run: ", status.message(), " in the second"));
      }
    }
    if (const auto twice = parts.find(shard.number); twice != parts.end()) {
      return absl::FailedPreconditionError(
          absl::StrCat(twice->second.folder, " and ", folder, " are both shard ", ToString(shard)));
    }
    parts.emplace(shard.number, Part{folder, std::move(evaluation)});
  }
  return parts;
}

// Checks that every part has only results of images that its shard evaluates. FAILED_PRECONDITION: a part has a result
// of another image; the message names the first such image.
absl::Status CheckImages(const std::map<int64_t, Part>& parts) {
  for (const auto& [number, part] : parts) {
    const Evaluation& e = part.evaluation;
    const std::vector<int64_t> chosen = ChosenImages(e.settings);
    for (const Prediction& prediction : e.predictions) {
      if (!std::binary_search(chosen.begin(), chosen.end(), prediction.index)) {
        return absl::FailedPreconditionError(absl::StrCat(part.folder, " has image ", prediction.index, ", ",
                                                          prediction.name, ", which is not of shard ",
                                                          ToString(e.settings.shard)));
      }
    }
  }
  return absl::OkStatus();
}

// Atomically writes the journal of `merged` with the parts' contents.
absl::Status WriteMerged(const std::string& folder, const std::map<int64_t, Part>& parts, Evaluation merged) {
  const std::string unfinished = StagedPath(kJournalFile).string();
  ASSIGN_OR_RETURN(Journal journal, Journal::Open(folder, /*restart=*/true, merged, unfinished));
  for (const auto& [number, part] : parts) {
    for (const EvaluationSession& session : part.evaluation.sessions) {
      RETURN_IF_ERROR(journal.AppendLine(SessionLine(session, /*closed=*/true)));
    }
    for (const Prediction& prediction : part.evaluation.predictions) {
      RETURN_IF_ERROR(journal.AppendLine(ImageLine(prediction)));
    }
  }
  return CommitFile(absl::StrCat(folder, "/", kJournalFile));
}

absl::Status CheckComplete(const std::map<int64_t, Part>& parts) {
  const int64_t of = parts.begin()->second.evaluation.settings.shard.of;
  std::vector<std::string> missing, unfinished;
  for (int64_t number = 1; number <= of; ++number) {
    const auto part = parts.find(number);
    if (part == parts.end()) {
      missing.push_back(ToString(Shard{number, of}));
      continue;
    }
    const Evaluation& evaluation = part->second.evaluation;
    const int64_t left = evaluation.expected - static_cast<int64_t>(evaluation.predictions.size());
    if (left > 0) unfinished.push_back(absl::StrCat(part->second.folder, " lacks ", left, " images"));
  }
  if (missing.empty() && unfinished.empty()) return absl::OkStatus();
  std::vector<std::string> sentences;
  if (!missing.empty()) {
    sentences.push_back(absl::StrCat(missing.size() == 1 ? "shard " : "shards ", absl::StrJoin(missing, ", "),
                                     missing.size() == 1 ? " is missing" : " are missing"));
  }
  if (!unfinished.empty()) {
    sentences.push_back(absl::StrCat(absl::StrJoin(unfinished, ", "), "; the same command again continues"));
  }
  return absl::FailedPreconditionError(absl::StrCat(absl::StrJoin(sentences, "; "), ". --allow-missing merges anyway"));
}

}  // namespace

absl::StatusOr<Evaluation> MergeEvaluations(const MergeOptions& options) {
  ASSIGN_OR_RETURN(const auto parts, ReadParts(options.folders));
  if (parts.empty())
    return absl::InvalidArgumentError("there is nothing to merge; give the --out folders of the shards");
  if (!options.allow_missing) RETURN_IF_ERROR(CheckComplete(parts));
  RETURN_IF_ERROR(CheckImages(parts));
  if (!absl::IsNotFound(ReadEvaluation(options.out).status())) {
    return absl::AlreadyExistsError(absl::StrCat(options.out, " holds an evaluation; give another --out"));
  }
  const Evaluation& first = parts.begin()->second.evaluation;
  RETURN_IF_ERROR(CheckEvalGates(options.gates, first.model, first.settings.top_k));
  Evaluation merged = {.model = first.model, .data = first.data, .data_labels = first.data_labels};
  merged.settings = first.settings;
  merged.settings.shard = {};
  RETURN_IF_ERROR(WriteMerged(options.out, parts, std::move(merged)));
  ASSIGN_OR_RETURN(Evaluation whole, ReadEvaluation(options.out));
  RETURN_IF_ERROR(WriteEvaluation(options.out, whole));
  return whole;
}

}  // namespace vitrine
