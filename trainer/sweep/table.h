// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SWEEP_TABLE_H_
#define VITRINE_TRAINER_SWEEP_TABLE_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/sweep/summary.h"
#include "trainer/sweep/sweep.h"

namespace vitrine {

enum class SweepFormat { kTable, kCsv, kJson, kMarkdown };

// Returns a table with a row per point: labels, mean and deviation of the metric over the seeds, range, time per run
// and number of missing runs. Formats for people have fractions (top1, top5, accuracy) in percent, and a second table
// with the effects of the axes (effects.h). Formats for programs have plain numbers and the score of every seed.
std::string SweepTable(const SweepGrid& grid, const std::vector<PointSummary>& points, SweepFormat format);

// Returns the table as an SVG chart. The x axis has the values of the grid's first axis. Each combination of values of
// the other axes is a series; at each x value, the series are drawn side by side.
absl::StatusOr<std::string> SweepPlot(const SweepGrid& grid, const std::vector<PointSummary>& points);

// Writes table.txt, table.csv, table.json, table.md, effects.csv, effects.json, runs.csv (a row per finished run, with
// all its scores) and plot.svg into a folder. Creates the folder. Each file is replaced atomically. UNAVAILABLE: the
// folder cannot be created; other errors are those of ReplaceFile.
absl::Status WriteSweepReport(const SweepGrid& grid, const std::vector<PointSummary>& points,
                              const SweepOutcome& outcome, const std::filesystem::path& folder);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_TABLE_H_
