// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_SUMMARY_H_
#define VITRINE_CLIENT_EVAL_SUMMARY_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/eval/evaluation.h"
#include "client/eval/metrics.h"
#include "client/terminal.h"

namespace vitrine {

// The content of summary.json (docs/how-to/evaluating.md). Shares and errors have five decimals: further ones depend on
// which pictures shared a batch on the server.
nlohmann::ordered_json SummaryJson(const Evaluation& evaluation, const EvaluationMetrics& metrics);

// The table at the end of a run: what ran, the ledger, the scores, the worst classes, latency by stage. `folder` is
// named as the place of the rest.
std::string SummaryText(const Evaluation& evaluation, const EvaluationMetrics& metrics, const std::string& folder);

// One sentence for each way in which pictures have no answer, with how many and the first few of them.
std::vector<std::string> WhatIsMissing(const Evaluation& evaluation, const EvaluationMetrics& metrics);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_SUMMARY_H_
