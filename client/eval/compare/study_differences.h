// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_COMPARE_STUDY_DIFFERENCES_H_
#define VITRINE_CLIENT_EVAL_COMPARE_STUDY_DIFFERENCES_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "client/eval/compare/study.h"
#include "common/charts/html/data_table.h"
#include "common/statistics/mcnemar.h"

namespace vitrine {

// Difference of a cell from the first measured cell, on the images that both cells answered.
struct StudyDifference {
  PairedCounts counts = {};
  Interval interval = {};  // interval of the accuracy difference, the cell minus the first
  McNemar test = {};
  double holm = 1;  // p-value of `test`, corrected for the number of differences
};

// Returns the index of the first measured cell; the number of cells if there is none.
size_t FirstMeasured(const Study& study);

// Returns one difference per cell. nullopt: the cell is the first measured cell, or has no answered image in common
// with the first measured cell.
std::vector<std::optional<StudyDifference>> DifferencesOf(const Study& study);

// Returns the differences as a table with a row for each difference.
DataTable DifferencesTable(const Study& study);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_COMPARE_STUDY_DIFFERENCES_H_
