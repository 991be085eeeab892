// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/history_writer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Returns `content`, the result of reading a file; if the file does not exist, returns empty content.
template <typename Content>
absl::StatusOr<Content> Kept(absl::StatusOr<Content> content) {
  if (absl::IsNotFound(content.status())) return Content();
  return content;
}

// Removes rows after `step`, and columns that the remaining rows do not use. If a later measurement needs a removed
// column, the column is added again.
void KeepUpTo(int64_t step, History& history) {
  std::erase_if(history.rows, [&](const HistoryRow& row) { return row.step > step; });
  std::erase_if(history.score_columns, [&](const std::string& column) {
    return std::ranges::none_of(history.rows, [&](const HistoryRow& row) { return row.scores.contains(column); });
  });
}

std::string ColumnOf(const std::string& split, const std::string& measure) {
  return absl::StrReplaceAll(absl::StrCat(split, "_", measure), {{",", "_"}, {"\n", "_"}});
}

}  // namespace

absl::StatusOr<std::unique_ptr<HistoryWriter>> HistoryWriter::Open(const std::filesystem::path& work_dir,
                                                                   std::function<void(const std::string&)> warn) {
  ASSIGN_OR_RETURN(History history, Kept(ReadHistory(work_dir)));
  ASSIGN_OR_RETURN(Steps steps, Kept(ReadSteps(work_dir)));
  ASSIGN_OR_RETURN(AppendFile history_file, AppendFile::Create(HistoryFile(work_dir), FormatHistory(history)));
  ASSIGN_OR_RETURN(AppendFile steps_file, AppendFile::Create(StepsFile(work_dir), FormatSteps(steps)));
  return std::unique_ptr<HistoryWriter>(new HistoryWriter(std::move(history_file), std::move(steps_file),
                                                          std::move(history), std::move(steps), std::move(warn)));
}

void HistoryWriter::OnStart(const StartReport& report) {
  KeepUpTo(report.measures_again ? report.step - 1 : report.step, history_);
  const int64_t last_row = history_.rows.empty() ? 0 : history_.rows.back().step;
  std::erase_if(earlier_steps_, [&](const StepRow& step) { return step.step > report.step; });
  for (const StepRow& step : earlier_steps_) {
    if (step.step > last_row) Count(step);
  }
  const int64_t lost = report.step - last_row - steps_;
  if (lost > 0) {
    // The losses of the steps that steps.csv lacks are unknown. The last learning rate may be unknown, too.
    loss_sum_ = lr_ = std::numeric_limits<double>::quiet_NaN();
    if (warn_) {
      warn_(absl::StrCat("steps.csv lacks ", lost, " of the steps ", last_row + 1, " to ", report.step,
                         ", so the next row of history.csv has no mean loss"));
    }
  }
  Tell(steps_file_.Rewrite(FormatSteps({report.blocks, std::exchange(earlier_steps_, {})})), steps_fail_);
  WriteHistory();
}

void HistoryWriter::Count(const StepRow& step) {
  loss_sum_ += step.loss;
  lr_ = step.lr;
  ++steps_;
}

HistoryRow& HistoryWriter::RowOf(int64_t step) {
  // A score of the best state is added to the row of that state's step, which may be an earlier row.
  const auto row = std::ranges::lower_bound(history_.rows, step, {}, &HistoryRow::step);
  if (row != history_.rows.end() && row->step == step) return *row;
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  const double loss = steps_ == 0 ? nothing : loss_sum_ / static_cast<double>(steps_);
  loss_sum_ = 0;
  steps_ = 0;
  return *history_.rows.insert(row, {.step = step,
                                     .lr = lr_,
                                     .loss = loss,
                                     .train_accuracy = nothing,
                                     .samples_per_second = samples_per_second_,
                                     .scores = {}});
}

void HistoryWriter::OnStep(const StepReport& report) {
  const StepRow row{report.step, report.loss, report.lr, report.gradient_norm, report.block_norms};
  Count(row);
  samples_per_second_ = report.samples_per_second;
  Tell(steps_file_.Append(FormatStep(row)), steps_fail_);
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
  HistoryRow& row = RowOf(report.last.step);
  row.epoch = report.last.epoch;
  row.train_accuracy = report.last.epoch_accuracy;
  WriteHistory();
}

// Rewrites the whole file, because a measurement changes the last row, and a new measure changes the header. The file
// has only a few hundred rows.
void HistoryWriter::WriteHistory() {
  Tell(history_file_.Rewrite(FormatHistory(history_)), history_fails_);
}

void HistoryWriter::Tell(const absl::Status& written, bool& fails) {
  if (written.ok() != fails) return;
  fails = !written.ok();
  if (!warn_) return;
  warn_(fails ? absl::StrCat(std::string(written.message()), "; the run continues, and the history is written later")
              : "the history is written again");
}

}  // namespace vitrine
