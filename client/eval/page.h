// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_PAGE_H_
#define VITRINE_CLIENT_EVAL_PAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/eval/distance.h"
#include "client/eval/evaluation.h"
#include "client/eval/look.h"
#include "client/eval/metrics.h"
#include "client/eval/run.h"

namespace vitrine {

struct ReportWish {
  int mistakes = 24;               // pictures of the surest mistakes, at least 0
  int64_t attention_distance = 0;  // pictures whose attention distances are averaged; 0: none
};

// An evaluation as one HTML file that needs nothing else (docs/how-to/evaluating.md lists its parts).
struct EvaluationPage {
  const Evaluation& evaluation;
  const EvaluationMetrics& metrics;
  // The surest mistakes, and a Looks for them: as many pictures as mistakes.
  std::vector<const Prediction*> mistakes = {};
  Looks looks = {};
  const AttentionDistances* distances = nullptr;  // null: they were not wanted
  std::string distances_fault = {};               // why they could not be had
  // For the command that repeats it: see CommandOf.
  std::string folder = {};
  const EvalCommand* command = nullptr;
  ReportWish wish = {};
};
std::string DrawPage(const EvaluationPage& input);

// Wrong answers, surest first, at most `most`; equally sure ones by index.
std::vector<const Prediction*> SurestMistakes(const Evaluation& evaluation, size_t most);

// Writes report.html into an --out folder and, where wanted, attention_distance.json. What the data set or the server
// cannot give any more is said on the page and is no error. Of `source`, model and resolution are the evaluation's;
// becomes its `stop` true meanwhile, the page is written with what there is, and the status is CANCELLED. Each file
// appears as a whole. `command` is what made the evaluation, null if that is not known.
absl::Status WriteReport(const std::string& folder, const Evaluation& evaluation, PictureSource source,
                         const ReportWish& wish = {}, const EvalCommand* command = nullptr);

// The command that repeats the evaluation in `folder`, and its report, into another folder beside it; quoted for a
// shell. Without the `command` that made it (null), what only that knows has its default, and a label map that it needs
// is "FILE". Never holds a token, at most the name of its file.
std::string CommandOf(const Evaluation& evaluation, const std::string& folder, const EvalCommand* command = nullptr,
                      const ReportWish& wish = {});

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_PAGE_H_
