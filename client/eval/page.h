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

namespace vitrine {

// An evaluation as one HTML file that needs nothing else (docs/evaluating.md lists its parts).
struct EvaluationPage {
  const Evaluation& evaluation;
  const EvaluationMetrics& metrics;
  // The surest mistakes, and a Looks for them: as many pictures as mistakes.
  std::vector<const Prediction*> mistakes = {};
  Looks looks = {};
  const AttentionDistances* distances = nullptr;  // null: they were not wanted
  std::string distances_fault = {};               // why they could not be had
  std::string folder = {};                        // --out of the command that repeats it
};
std::string DrawPage(const EvaluationPage& page);

// Wrong answers, surest first, at most `most`; equally sure ones by index.
std::vector<const Prediction*> SurestMistakes(const Evaluation& evaluation, size_t most);

struct ReportWish {
  int mistakes = 24;               // pictures of the surest mistakes, at least 0
  int64_t attention_distance = 0;  // pictures whose attention distances are averaged; 0: none
};

// Writes report.html into an --out folder and, where wanted, attention_distance.json. What the data set or the server
// cannot give any more is said on the page and is no error. Of `source`, model and resolution are the evaluation's.
absl::Status WriteReport(const std::string& folder, const Evaluation& evaluation, PictureSource source,
                         const ReportWish& wish = {});

// The command that repeats an evaluation into `folder`, quoted for a shell.
std::string CommandOf(const Evaluation& evaluation, const std::string& folder);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_PAGE_H_
