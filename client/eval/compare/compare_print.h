// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_COMPARE_COMPARE_PRINT_H_
#define VITRINE_CLIENT_EVAL_COMPARE_COMPARE_PRINT_H_

#include <string>

#include "client/eval/compare/compare.h"
#include "common/charts/html/data_table.h"

// Comparisons as text, tables, JSON and CSV.
namespace vitrine {

// Returns "The second is right more often: ..., p = 3.2e-05 (McNemar, ...)." If there are several comparisons, the
// p-value that is corrected for their number follows.
std::string VerdictInWords(const Comparison& comparison);
// Returns "9,998 images were answered by both; ...". Images are matched by name and label only, so the text warns if
// the names of the evaluations' data sets differ.
std::string ImagesInWords(const Comparison& comparison);

// Returns the measures of both evaluations, their differences, and the interval of the accuracy difference.
DataTable MeasuresOf(const Comparison& comparison);
DataTable ClassesOf(const Comparison& comparison);

// Returns a row per comparison, with its p-value and the corrected p-value.
DataTable SeveralOf(const Comparisons& comparisons);

// Returns the output of `vitrine eval compare`. Text: the tables of measures and classes, and the verdict. JSON: also
// the changed images. CSV: only the measures. For several comparisons, the text and CSV forms are the table of
// SeveralOf, and JSON has all fields. `fail_if_worse` adds a gate per comparison to the JSON.
std::string PrintComparison(const Comparison& comparison, OutputFormat format, bool fail_if_worse = false);
std::string PrintComparisons(const Comparisons& comparisons, OutputFormat format, bool fail_if_worse = false);

// Returns the error message of --fail-if-worse. Requires IsWorse(comparison).
std::string WorseInWords(const Comparison& comparison);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_COMPARE_COMPARE_PRINT_H_
