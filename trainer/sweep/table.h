// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SWEEP_TABLE_H_
#define VITRINE_TRAINER_SWEEP_TABLE_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/sweep/results.h"
#include "trainer/sweep/sweep.h"

namespace vitrine {

enum class SweepFormat { kTable, kCsv, kJson, kMarkdown };

// A row per point: its labels, mean and deviation of the metric over the seeds, the range, the time of a run and how
// many runs are missing. For people, fractions (top1, top5, accuracy) are in per cent; programs get plain numbers and
// every seed's score.
std::string SweepTable(const SweepGrid& grid, const std::vector<PointSummary>& points, SweepFormat format);

// The same as a picture, SVG: the first axis along x, the others side by side.
absl::StatusOr<std::string> SweepPlot(const SweepGrid& grid, const std::vector<PointSummary>& points);

// Writes table.txt, table.csv, table.json, table.md, runs.csv (a row per finished run, with all its scores) and
// plot.svg into a folder, which is created. UNAVAILABLE names the file that cannot be written.
absl::Status WriteSweepReport(const SweepGrid& grid, const std::vector<PointSummary>& points,
                              const SweepOutcome& outcome, const std::filesystem::path& folder);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_TABLE_H_
