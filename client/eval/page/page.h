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
  int mistakes = 24;               // number of most confident wrong answers to show, at least 0
  int64_t attention_distance = 0;  // number of images for the mean attention distances; 0: none
};

// Input of RenderPage. docs/how-to/evaluating.md lists the parts of the page.
struct EvaluationPage {
  const Evaluation& evaluation;
  const EvaluationMetrics& metrics;
  // The most confident mistakes; `looks` has one entry for each.
  std::vector<const Prediction*> mistakes = {};
  Looks looks = {};
  const AttentionDistances* distances = nullptr;  // null: not requested
  std::string distances_fault = {};               // reason why distances are not available
  // Inputs of CommandOf, for the command that repeats the evaluation.
  std::string folder = {};
  const EvalCommand* command = nullptr;
  ReportOptions requested = {};
};
std::string RenderPage(const EvaluationPage& input);

// Returns up to `most` wrong answers, the most confident first. Ties are ordered by index.
std::vector<const Prediction*> SurestMistakes(const Evaluation& evaluation, size_t most);

// Writes report.html and its charts, figures/*.svg, into an --out folder, and attention_distance.json if requested.
// Each file is replaced atomically. Returns the reason why requested attention distances are missing; otherwise "".
// Other missing data is not an error: the page names it. Replaces `source.model` and `source.resolution` by the model
// and resolution of the evaluation. `command` is the command of the evaluation; null if unknown. CANCELLED:
// `source.stop` became true during the call; the page is written with the data so far.
absl::StatusOr<std::string> WriteReport(const std::string& folder, const Evaluation& evaluation, ImageSource source,
                                        const ReportOptions& requested = {}, const EvalCommand* command = nullptr);

// Returns a shell command that repeats the evaluation in `folder` and its report. The command writes into another
// folder, beside `folder`. If `command` is null, options that an Evaluation does not store have their default values,
// and a required label map is written as "FILE". The text may contain the name of a token file, but never a token.
std::string CommandOf(const Evaluation& evaluation, const std::string& folder, const EvalCommand* command = nullptr,
                      const ReportOptions& requested = {});

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_PAGE_PAGE_H_
