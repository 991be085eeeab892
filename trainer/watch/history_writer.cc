#include "trainer/watch/history_writer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"

namespace vitrine {
namespace {

// What the file holds of steps up to `step`; nothing where there is no file.
template <typename Content>
absl::StatusOr<Content> Kept(absl::StatusOr<Content> content) {
  if (absl::IsNotFound(content.status())) return Content();
  return content;
}

void DropAfter(int64_t step, History& history) {
  std::erase_if(history.rows, [&](const HistoryRow& row) { return row.step > step; });
  // Columns come in the order in which they are first measured, also after the interruption.
  std::erase_if(history.score_columns, [&](const std::string& column) {
    return std::ranges::none_of(history.rows, [&](const HistoryRow& row) { return row.scores.contains(column); });
  });
}

std::string ColumnOf(const std::string& split, const std::string& measure) {
  return absl::StrReplaceAll(absl::StrCat(split, "_", measure), {{",", "_"}, {"\n", "_"}});
}

void TakeFrom(const StepReport& report, HistoryRow& row) {
  row.epoch = report.epoch;
  row.lr = report.lr;
  row.loss = report.epoch_loss;
  row.train_accuracy = report.epoch_accuracy;
  row.samples_per_second = report.samples_per_second;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HistoryWriter>> HistoryWriter::Open(const std::filesystem::path& work_dir,
                                                                   int64_t resumed_step,
                                                                   std::function<void(const std::string&)> warn) {
  History history;
  std::string steps = kStepsHeader;
  if (resumed_step > 0) {
    ASSIGN_OR_RETURN(history, Kept(ReadHistory(work_dir)));
    DropAfter(resumed_step, history);
    ASSIGN_OR_RETURN(const std::vector<StepRow> rows, Kept(ReadSteps(work_dir)));
    for (const StepRow& row : rows) {
      if (row.step <= resumed_step) steps += FormatStep(row);
    }
  }
  ASSIGN_OR_RETURN(AppendFile history_file, AppendFile::Create(HistoryFile(work_dir), FormatHistory(history)));
  ASSIGN_OR_RETURN(AppendFile steps_file, AppendFile::Create(StepsFile(work_dir), steps));
  return std::unique_ptr<HistoryWriter>(
      new HistoryWriter(std::move(history_file), std::move(steps_file), std::move(history), std::move(warn)));
}

HistoryRow& HistoryWriter::RowOf(int64_t step) {
  if (history_.rows.empty() || history_.rows.back().step != step) {
    history_.rows.push_back({.step = step, .scores = {}});
    if (last_.step == step) TakeFrom(last_, history_.rows.back());
  }
  return history_.rows.back();
}

void HistoryWriter::OnStep(const StepReport& report) {
  last_ = report;
  Tell(steps_file_.Append(FormatStep({report.step, report.loss, report.lr, report.gradient_norm})), steps_fail_);
}

void HistoryWriter::OnScore(const ScoreReport& report) {
  HistoryRow& row = RowOf(report.step);
  row.epoch = report.epoch;
  row.best |= report.best;
  for (const Measure& measure : report.score.measures) {
    const std::string column = ColumnOf(report.split, measure.name);
    row.scores[column] = measure.value;
    if (std::ranges::find(history_.score_columns, column) == history_.score_columns.end()) {
      history_.score_columns.push_back(column);
    }
  }
  WriteHistory();
}

void HistoryWriter::OnEpoch(const EpochReport& report) {
  TakeFrom(report.last, RowOf(report.last.step));
  WriteHistory();
}

// A few hundred rows: written whole, since a measurement changes the last one and a new measure the header.
void HistoryWriter::WriteHistory() {
  Tell(history_file_.Rewrite(FormatHistory(history_)), history_fails_);
}

void HistoryWriter::Tell(const absl::Status& written, bool& fails) {
  if (written.ok() != fails) return;
  fails = !written.ok();
  if (!warn_) return;
  warn_(fails ? absl::StrCat(std::string(written.message()), "; the run goes on, its history waits for room")
              : "the history is written again");
}

}  // namespace vitrine
