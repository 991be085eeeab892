// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/history.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/data/file.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr char kHistoryColumns[] = "step,epoch,lr,loss,train_accuracy,samples_per_second,best";
constexpr size_t kFixedColumns = 7;
constexpr char kStepColumns[] = "step,loss,lr,gradient_norm";
constexpr size_t kFixedStepColumns = 4;
constexpr int64_t kMostBytes = int64_t{1} << 40;

std::string Text(double value) {
  if (std::isnan(value)) return "";
  char digits[64];
  return {digits, std::to_chars(digits, digits + sizeof(digits), value).ptr};
}

using Fields = std::vector<absl::string_view>;

// Splits complete lines (with a line feed) at commas.
std::vector<Fields> Lines(std::string_view text) {
  std::vector<Fields> lines;
  for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    lines.push_back(absl::StrSplit(absl::string_view(text.data(), end), ','));
  }
  return lines;
}

// Returns the names of the columns after the first `count` columns, whose names must be `fixed`.
absl::StatusOr<std::vector<std::string>> FurtherColumns(const Fields& header, const char* fixed, size_t count) {
  if (header.size() < count || absl::StrJoin(header.begin(), header.begin() + count, ",") != fixed) {
    return absl::InvalidArgumentError(absl::StrCat("the header does not begin with ", fixed));
  }
  return std::vector<std::string>(header.begin() + count, header.end());
}

// Parses the fields of a line as numbers; empty fields are NaN.
absl::StatusOr<std::vector<double>> Numbers(const Fields& fields, size_t columns, size_t line) {
  if (fields.size() != columns) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", line, " has ", fields.size(), " fields, the header ", columns));
  }
  std::vector<double> numbers;
  for (const absl::string_view field : fields) {
    double value = std::numeric_limits<double>::quiet_NaN();
    if (!field.empty() && !absl::SimpleAtod(field, &value)) {
      return absl::InvalidArgumentError(absl::StrCat("line ", line, ": \"", field, "\" is no number"));
    }
    numbers.push_back(value);
  }
  return numbers;
}

absl::StatusOr<int64_t> StepOf(const Fields& fields, int64_t before, size_t line) {
  int64_t step = 0;
  if (!absl::SimpleAtoi(fields[0], &step) || step <= before) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", line, ": step \"", fields[0], "\" does not follow step ", before));
  }
  return step;
}

absl::Status Named(const absl::Status& status, const std::filesystem::path& path) {
  if (status.ok() || absl::IsNotFound(status)) return status;
  return absl::Status(status.code(), absl::StrCat(path.string(), ": ", status.message()));
}

}  // namespace

std::string FormatHistory(const History& history) {
  std::string text = kHistoryColumns;
  for (const std::string& column : history.score_columns) absl::StrAppend(&text, ",", column);
  text += "\n";
  for (const HistoryRow& row : history.rows) {
    absl::StrAppend(&text, row.step, ",", Text(row.epoch), ",", Text(row.lr), ",", Text(row.loss), ",",
                    Text(row.train_accuracy), ",", Text(std::round(10 * row.samples_per_second) / 10), ",",
                    row.best ? "1" : "");
    for (const std::string& column : history.score_columns) {
      const auto found = row.scores.find(column);
      absl::StrAppend(&text, ",", found == row.scores.end() ? "" : Text(found->second));
    }
    text += "\n";
  }
  return text;
}

std::string FormatSteps(const Steps& steps) {
  std::string text = kStepColumns;
  for (const std::string& block : steps.blocks) absl::StrAppend(&text, ",", block);
  text += "\n";
  for (const StepRow& row : steps.rows) text += FormatStep(row);
  return text;
}

std::string FormatStep(const StepRow& row) {
  std::string line = absl::StrCat(row.step, ",", Text(row.loss), ",", Text(row.lr), ",", Text(row.gradient_norm));
  for (const double norm : row.block_norms) absl::StrAppend(&line, ",", Text(norm));
  return line + "\n";
}

absl::StatusOr<History> ParseHistory(std::string_view text) {
  const std::vector<Fields> lines = Lines(text);
  History history;
  if (lines.empty()) return history;
  ASSIGN_OR_RETURN(history.score_columns, FurtherColumns(lines[0], kHistoryColumns, kFixedColumns));
  for (size_t i = 1; i < lines.size(); ++i) {
    ASSIGN_OR_RETURN(const std::vector<double> values, Numbers(lines[i], lines[0].size(), i + 1));
    HistoryRow row{.epoch = values[1],
                   .lr = values[2],
                   .loss = values[3],
                   .train_accuracy = values[4],
                   .samples_per_second = values[5],
                   .best = values[6] == 1,
                   .scores = {}};
    ASSIGN_OR_RETURN(row.step, StepOf(lines[i], history.rows.empty() ? -1 : history.rows.back().step, i + 1));
    for (size_t c = kFixedColumns; c < values.size(); ++c) {
      if (!lines[i][c].empty()) row.scores[history.score_columns[c - kFixedColumns]] = values[c];
    }
    history.rows.push_back(std::move(row));
  }
  return history;
}

absl::StatusOr<Steps> ParseSteps(std::string_view text) {
  const std::vector<Fields> lines = Lines(text);
  Steps steps;
  if (lines.empty()) return steps;
  ASSIGN_OR_RETURN(steps.blocks, FurtherColumns(lines[0], kStepColumns, kFixedStepColumns));
  for (size_t i = 1; i < lines.size(); ++i) {
    ASSIGN_OR_RETURN(const std::vector<double> values, Numbers(lines[i], lines[0].size(), i + 1));
    StepRow row{.loss = values[1], .lr = values[2], .gradient_norm = values[3]};
    row.block_norms.assign(values.begin() + kFixedStepColumns, values.end());
    ASSIGN_OR_RETURN(row.step, StepOf(lines[i], steps.rows.empty() ? -1 : steps.rows.back().step, i + 1));
    steps.rows.push_back(std::move(row));
  }
  return steps;
}

std::filesystem::path HistoryFile(const std::filesystem::path& work_dir) {
  return work_dir / "history.csv";
}
std::filesystem::path StepsFile(const std::filesystem::path& work_dir) {
  return work_dir / "steps.csv";
}

absl::StatusOr<History> ReadHistory(const std::filesystem::path& work_dir) {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(HistoryFile(work_dir), kMostBytes));
  absl::StatusOr<History> history = ParseHistory(text);
  if (!history.ok()) return Named(history.status(), HistoryFile(work_dir));
  return history;
}

absl::StatusOr<Steps> ReadSteps(const std::filesystem::path& work_dir) {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(StepsFile(work_dir), kMostBytes));
  absl::StatusOr<Steps> steps = ParseSteps(text);
  if (!steps.ok()) return Named(steps.status(), StepsFile(work_dir));
  return steps;
}

std::optional<double> LastBlockByFirst(const Steps& steps) {
  double first = 0, last = 0;
  for (const StepRow& row : steps.rows) {
    if (row.block_norms.empty()) continue;
    first += row.block_norms.front();
    last += row.block_norms.back();
  }
  return first > 0 ? std::optional(last / first) : std::nullopt;
}

}  // namespace vitrine
