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

// The journal of an evaluation is a text file. Each line has a JSON object, preceded by the CRC-32 of its text (8
// hexadecimal digits) and a space. The first line describes the evaluation. The other lines describe sessions and
// images, in the order in which they were written.

// Name of the file in an --out folder.
inline constexpr char kJournalFile[] = "journal";

struct JournalContents {
  bool begun = false;  // false: the first line is missing or incomplete, and the members below are empty
  Evaluation evaluation = {};
  size_t valid_bytes = 0;  // length up to the end of the last complete line; an incomplete line may follow
};

// Parses a journal, which may end with an incomplete line. If an image has several lines, the last one is used.
// DATA_LOSS: the text is not a journal, or a damaged line precedes complete lines; the message names the line.
absl::StatusOr<JournalContents> ParseJournal(std::string_view text);

// Parses a journal in chunks. Keeps only the parsed contents in memory.
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

// Reads a whole file. Returns the errors of ParseJournal, prefixed by the path. NOT_FOUND: the file does not exist.
absl::StatusOr<JournalContents> ReadJournal(const std::string& path);

// Return the lines of a journal.
std::string HeaderLine(const Evaluation& evaluation);  // without sessions and predictions
std::string SessionLine(const EvaluationSession& session, bool closed);
std::string ImageLine(const Prediction& prediction);

// Returns OK if a run with the settings of `now` may continue the journal of `before`. FAILED_PRECONDITION: it may not;
// the message names the first difference.
absl::Status CheckSameEvaluation(const Evaluation& before, const Evaluation& now);

// A journal open for writing, locked against other processes. Not thread-safe.
class Journal {
 public:
  // Opens or creates `folder` and its journal, and truncates an incomplete end. `evaluation` (without sessions and
  // predictions) must match the journal, and gets the journal's sessions and predictions. `restart` empties an existing
  // journal and, if `name` is kJournalFile, deletes its summary, predictions and report. `name` is the journal's file
  // name. A merge uses the name StagedPath(kJournalFile), so that readers do not find an incomplete journal.
  // FAILED_PRECONDITION: another run has locked the journal, or the journal is of another evaluation. DATA_LOSS: a line
  // is damaged. The messages of both codes say what the user can do.
  static absl::StatusOr<Journal> Open(const std::string& folder, bool restart, Evaluation& evaluation,
                                      const std::string& name = kJournalFile);

  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  ~Journal();

  absl::Status BeginSession(const EvaluationSession& session);
  // Appends a line. When Append returns, the line is in the file, so a crash of this process loses no results. Sync
  // flushes the file to disk. Append also flushes the file if the last flush was more than 10 seconds ago.
  absl::Status Append(const Prediction& prediction);
  absl::Status AppendLine(std::string_view line);
  absl::Status Sync();

 private:
  Journal(std::string path, int file, int64_t size) : path_(std::move(path)), file_(file), size_(size) {}

  std::string path_;
  int file_ = -1;
  int64_t size_ = 0;  // length of the complete lines
  absl::Time synced_ = absl::InfinitePast();
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_JOURNAL_H_
