// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_SUMMARY_H_
#define VITRINE_CLIENT_EVAL_SUMMARY_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/commands/output/terminal.h"
#include "client/eval/evaluation.h"
#include "client/eval/metrics.h"

namespace vitrine {

// Returns the content of summary.json (docs/how-to/evaluating.md). Shares and scores are rounded to five decimals.
nlohmann::ordered_json SummaryJson(const Evaluation& evaluation, const EvaluationMetrics& metrics);

// Returns the text at the end of a run: model, ledger, scores, worst classes, latency by stage. The text names `folder`
// as the place of the details.
std::string SummaryText(const Evaluation& evaluation, const EvaluationMetrics& metrics, const std::string& folder);

// Returns one sentence for each reason why answers are missing, with the number of images and the names of the first
// few images.
std::vector<std::string> WhatIsMissing(const Evaluation& evaluation, const EvaluationMetrics& metrics);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_SUMMARY_H_
