// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_STUDY_DIFFERENCES_H_
#define VITRINE_CLIENT_EVAL_STUDY_DIFFERENCES_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "client/eval/mcnemar.h"
#include "client/eval/study.h"
#include "report/data_table.h"

namespace vitrine {

// A cell against the first one that was measured, on the pictures that both answered.
struct StudyDifference {
  PairedCounts counts = {};
  Interval interval = {};  // of the difference of accuracies, the cell's less the first's
  McNemar test = {};
  double holm = 1;  // its p, corrected for the number of such differences
};

// The first cell that was measured; the number of cells where there is none.
size_t FirstMeasured(const Study& study);

// One for each cell; nullopt for the first that was measured, and for cells that have no answered picture in common
// with it.
std::vector<std::optional<StudyDifference>> DifferencesOf(const Study& study);

// The same for people, a row for each difference; no row where there is none.
DataTable DifferencesTable(const Study& study);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_STUDY_DIFFERENCES_H_
