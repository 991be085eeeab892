// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_HISTORY_H_
#define VITRINE_TRAINER_WATCH_HISTORY_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// A row of history.csv: the end of an epoch, or a measurement within an epoch.
struct HistoryRow {
  int64_t step = 0;
  double epoch = 0;
  double lr = 0;
  double loss = 0;                       // mean loss over the steps since the last row
  double train_accuracy = 0;             // accuracy in the epoch that ends here; NaN: within an epoch, or not counted
  double samples_per_second = 0;         // in this process since it started or resumed
  bool best = false;                     // true: a measurement at this step was the best so far
  std::map<std::string, double> scores;  // scores measured at this step; key: "SPLIT_MEASURE", such as "test_top1"
};

struct History {
  std::vector<std::string> score_columns;  // keys of the scores, in the order of the file's columns
  std::vector<HistoryRow> rows;
};

// A row of steps.csv.
struct StepRow {
  int64_t step = 0;
  double loss = 0;
  double lr = 0;
  double gradient_norm = 0;
  std::vector<double> block_norms = {};  // gradient norms of Steps::blocks
};

struct Steps {
  std::vector<std::string> blocks;  // names of the last columns; empty unless Recipe.block_norms
  std::vector<StepRow> rows;
};

// history.csv and steps.csv have a header line. Numbers have the fewest digits that give the same value when they are
// read back (samples_per_second: one decimal). NaN and missing values are written as empty fields. An incomplete last
// line, which a killed writer leaves, is ignored.
std::string FormatHistory(const History& history);
std::string FormatSteps(const Steps& steps);
std::string FormatStep(const StepRow& row);  // one line

// Parse the text of a file. INVALID_ARGUMENT names the invalid line.
absl::StatusOr<History> ParseHistory(std::string_view text);
absl::StatusOr<Steps> ParseSteps(std::string_view text);

// Return the paths WORK_DIR/history.csv and WORK_DIR/steps.csv, or read these files. NOT_FOUND: there is no such file.
// Other errors are those of ParseHistory and ParseSteps, with the file's name.
std::filesystem::path HistoryFile(const std::filesystem::path& work_dir);
std::filesystem::path StepsFile(const std::filesystem::path& work_dir);
absl::StatusOr<History> ReadHistory(const std::filesystem::path& work_dir);
absl::StatusOr<Steps> ReadSteps(const std::filesystem::path& work_dir);

// Returns the last block's mean gradient norm over all steps, divided by the first block's. Frozen blocks are not in
// `steps`. Nullopt: there are no blocks, or the mean of the first block is 0.
std::optional<double> LastBlockByFirst(const Steps& steps);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_HISTORY_H_
