// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_JOURNAL_H_
#define VITRINE_CLIENT_EVAL_JOURNAL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/eval/evaluation.h"

namespace vitrine {

// The journal of an evaluation: what it is, then every picture as it becomes known. A line is the CRC-32 of what
// follows (8 hexadecimal digits), a space, and a JSON object: first the evaluation, then sessions and pictures.

// Name of the file in an --out folder.
inline constexpr char kJournalFile[] = "journal";

struct JournalContents {
  bool begun = false;  // false: not even the first line is whole; the rest below says nothing
  Evaluation evaluation = {};
  size_t valid_bytes = 0;  // up to the end of the last whole line; what follows was torn by a death
};

// Reads what there is, for a torn end too. A picture that occurs twice counts with its last line. DATA_LOSS: no
// journal, or a damaged line with whole ones behind it; names the line.
absl::StatusOr<JournalContents> ParseJournal(std::string_view text);

// The same, piece by piece, in the memory that the contents need.
class JournalReader {
 public:
  JournalReader();
  ~JournalReader();
  absl::Status Take(std::string_view bytes);
  absl::StatusOr<JournalContents> Finish() &&;

 private:
  class Lines;
  struct State;
  void TakeLine(std::string_view line);
  const std::unique_ptr<State> state_;
};

// A whole file. Errors of ParseJournal, with the path in front; NOT_FOUND: there is none.
absl::StatusOr<JournalContents> ReadJournal(const std::string& path);

// Lines of a journal.
std::string HeaderLine(const Evaluation& evaluation);  // without sessions and predictions
std::string SessionLine(const EvaluationSession& session, bool closed);
std::string PictureLine(const Prediction& prediction);

// OK if a run that begins as `now` may continue the journal of `before`; else FAILED_PRECONDITION names the first
// difference.
absl::Status CheckSameEvaluation(const Evaluation& before, const Evaluation& now);

// A journal that is open for writing. No other process has it open at the same time. Not thread-safe.
class Journal {
 public:
  // Opens or begins the journal in `folder`, which is made if needed, and cuts off a torn end. What `evaluation`
  // (without sessions and predictions) says it is must be what the journal says; then its sessions and predictions
  // become those of the journal. `restart` throws away what there is. FAILED_PRECONDITION: another run holds the
  // folder, or it holds another evaluation, in sentences that say what to do.
  // `restart` also removes the files that were made of it. `name` is another's in `folder` while it is not whole.
  static absl::StatusOr<Journal> Open(const std::string& folder, bool restart, Evaluation& evaluation,
                                      const std::string& name = kJournalFile);

  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  ~Journal();

  absl::Status BeginSession(const EvaluationSession& session);
  // The line is in the system's hands when this returns, so that the death of this process loses nothing; it is on the
  // disk at most 10 seconds later, if more lines come, or after Sync.
  absl::Status Append(const Prediction& prediction);
  absl::Status AppendLine(std::string_view line);
  absl::Status Sync();

 private:
  Journal(std::string path, int file, int64_t size) : path_(std::move(path)), file_(file), size_(size) {}

  std::string path_;
  int file_ = -1;
  int64_t size_ = 0;  // bytes that are whole
  absl::Time synced_ = absl::InfinitePast();
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_JOURNAL_H_
