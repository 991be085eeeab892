// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_PAGE_PAGE_H_
#define VITRINE_CLIENT_EVAL_PAGE_PAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/eval/distance.h"
#include "client/eval/evaluation.h"
#include "client/eval/metrics.h"
#include "client/eval/page/look.h"
#include "client/eval/run/run.h"

namespace vitrine {

struct ReportOptions {
  int mistakes = 24;               // most confident wrong answers to show, at least 0
  int64_t attention_distance = 0;  // images for the mean attention distances; 0: none
};

// Data from which an evaluation's HTML page is made (docs/how-to/evaluating.md lists the page's parts).
struct EvaluationPage {
  const Evaluation& evaluation;
  const EvaluationMetrics& metrics;
  // The most confident mistakes; `looks` has one entry for each.
  std::vector<const Prediction*> mistakes = {};
  Looks looks = {};
  const AttentionDistances* distances = nullptr;  // null: not requested
  std::string distances_fault = {};               // why distances are not available
  // Input of CommandOf, for the command that repeats the evaluation.
  std::string folder = {};
  const EvalCommand* command = nullptr;
  ReportOptions wish = {};
};
std::string RenderPage(const EvaluationPage& input);

// Returns up to `most` wrong answers, the most confident first; ties by index.
std::vector<const Prediction*> SurestMistakes(const Evaluation& evaluation, size_t most);

// Writes report.html and its charts, figures/*.svg, into an --out folder and, if requested, attention_distance.json,
// each atomically. The page lists data that the data set or the server cannot provide; this is not an error. Model and
// resolution of `source` are set from the evaluation. Once `source.stop` is true, the page is written with the data so
// far, and the status is CANCELLED. `command` made the evaluation; null if unknown. Returns the reason why requested
// attention distances are missing; otherwise "".
absl::StatusOr<std::string> WriteReport(const std::string& folder, const Evaluation& evaluation, ImageSource source,
                                        const ReportOptions& wish = {}, const EvalCommand* command = nullptr);

// Returns a shell command that repeats the evaluation in `folder`, and its report, in another folder beside it. If
// `command` is null, options known only from it have their defaults, and a required label map is "FILE". May contain
// the name of a token file, but never a token.
std::string CommandOf(const Evaluation& evaluation, const std::string& folder, const EvalCommand* command = nullptr,
                      const ReportOptions& wish = {});

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_PAGE_PAGE_H_
