// SPDX-License-Identifier: Apache-2.0
#include "client/eval/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/charts/html/figures.h"
#include "common/data/file.h"
#include "common/file/write.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr absl::Duration kSyncEvery = absl::Seconds(10);
constexpr int64_t kPiece = int64_t{1} << 20;

absl::Status WriteAt(int file, const std::string& path, std::string_view bytes, int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
    bytes.remove_prefix(static_cast<size_t>(written));
    offset += written;
  }
  return absl::OkStatus();
}

std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", text, "\"");
}

std::string ModelName(const Evaluation& evaluation) {
  return absl::StrCat(evaluation.model.model(), "@", evaluation.model.version());
}

}  // namespace

absl::Status CheckSameEvaluation(const Evaluation& before, const Evaluation& now) {
  const auto differ = [](const std::string& what, const std::string& there, const std::string& here) {
    return absl::FailedPreconditionError(absl::StrCat(what, " ", there, ", now it is ", here));
  };
  const EvaluationSettings &a = before.settings, &b = now.settings;
  if (ModelName(before) != ModelName(now)) return differ("the model was", ModelName(before), ModelName(now));
  if (before.model.weights_sha256() != now.model.weights_sha256()) {
    return differ(absl::StrCat("the digest of the weights of ", ModelName(now), " was"), before.model.weights_sha256(),
                  now.model.weights_sha256());
  }
  if (a.split != b.split) return differ("the split was", a.split, b.split);
  if (a.data_images != b.data_images) {
    return differ("the number of images of the data set was", absl::StrCat(a.data_images), absl::StrCat(b.data_images));
  }
  if (a.data_digest != b.data_digest || before.data_labels != now.data_labels) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the data set ", Quoted(before.data), " had other image names or labels than ", Quoted(now.data), " has now"));
  }
  if (a.data_order != b.data_order) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the data set ", Quoted(before.data), " had another order of images than ", Quoted(now.data), " has now"));
  }
  if (a.limit != b.limit) return differ("--limit was", absl::StrCat(a.limit), absl::StrCat(b.limit));
  if (!(a.shard == b.shard)) return differ("--shard was", ToString(a.shard), ToString(b.shard));
  if (a.resolution != b.resolution) return differ("--resolution was", Quoted(a.resolution), Quoted(b.resolution));
  if (a.top_k != b.top_k) return differ("--top-k was", absl::StrCat(a.top_k), absl::StrCat(b.top_k));
  if (a.label_map != b.label_map) {
    return absl::FailedPreconditionError("labels of the data set were mapped to other classes of the model");
  }
  return absl::OkStatus();
}

absl::StatusOr<JournalContents> ReadJournal(const std::string& path) {
  ASSIGN_OR_RETURN(const ReadOnlyFile file, ReadOnlyFile::Open(path));
  JournalReader reader;
  absl::Status taken;
  for (int64_t at = 0; taken.ok() && at < file.size(); at += kPiece) {
    ASSIGN_OR_RETURN(const std::string piece, file.ReadAt(at, std::min(kPiece, file.size() - at)));
    taken = reader.Take(piece);
  }
  absl::StatusOr<JournalContents> contents = std::move(reader).Finish();
  if (contents.ok()) return contents;
  return absl::Status(contents.status().code(), absl::StrCat(path, ": ", contents.status().message()));
}

absl::StatusOr<Journal> Journal::Open(const std::string& folder, bool restart, Evaluation& evaluation,
                                      const std::string& name) {
  RETURN_IF_ERROR(MakeFolder(folder));
  const std::string path = absl::StrCat(folder, "/", name);
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  Journal journal(path, file, 0);
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("another evaluation is writing to ", folder, "; wait for its end or give another --out"));
  }
  JournalContents contents;
  if (!restart) {
    absl::StatusOr<JournalContents> parsed = ReadJournal(path);
    if (absl::IsDataLoss(parsed.status())) {
      return absl::DataLossError(
          absl::StrCat(parsed.status().message(), "; --restart discards it, another --out keeps it"));
    }
    RETURN_IF_ERROR(parsed.status());
    contents = *std::move(parsed);
  } else if (name == kJournalFile) {
    // Removes files made from the earlier evaluation.
    RemovePage(std::filesystem::path(folder) / "report.html");
    for (const char* made : {"summary.json", "predictions.csv", "predictions.jsonl"}) {
      std::remove(absl::StrCat(folder, "/", made).c_str());
    }
  }
  if (contents.begun) {
    if (const absl::Status same = CheckSameEvaluation(contents.evaluation, evaluation); !same.ok()) {
      return absl::FailedPreconditionError(absl::StrCat(folder, " holds another evaluation: ", same.message(),
                                                        "; give another --out, or --restart to discard its ",
                                                        contents.evaluation.predictions.size(), " images"));
    }
    evaluation.sessions = std::move(contents.evaluation.sessions);
    evaluation.predictions = std::move(contents.evaluation.predictions);
  }
  if (ftruncate(file, static_cast<off_t>(contents.valid_bytes)) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  }
  journal.size_ = static_cast<int64_t>(contents.valid_bytes);
  if (!contents.begun) RETURN_IF_ERROR(journal.AppendLine(HeaderLine(evaluation)));
  return journal;
}

Journal::Journal(Journal&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      size_(other.size_),
      synced_(other.synced_) {}

Journal::~Journal() {
  if (file_ >= 0) close(file_);
}

absl::Status Journal::BeginSession(const EvaluationSession& session) {
  return AppendLine(SessionLine(session, /*closed=*/false));
}

absl::Status Journal::Append(const Prediction& prediction) {
  RETURN_IF_ERROR(AppendLine(ImageLine(prediction)));
  return absl::Now() - synced_ < kSyncEvery ? absl::OkStatus() : Sync();
}

absl::Status Journal::AppendLine(std::string_view line) {
  absl::Status written = WriteAt(file_, path_, line, size_);
  if (!written.ok()) {
    (void)!ftruncate(file_, size_);
    return written;
  }
  size_ += static_cast<int64_t>(line.size());
  return absl::OkStatus();
}

absl::Status Journal::Sync() {
  synced_ = absl::Now();
  if (fdatasync(file_) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path_));
  return absl::OkStatus();
}

}  // namespace vitrine
