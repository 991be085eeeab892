// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_EVAL_GATES_H_
#define VITRINE_CLIENT_EVAL_EVAL_GATES_H_

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "client/commands/gate.h"
#include "client/eval/evaluation.h"
#include "client/eval/metrics.h"

namespace vitrine {

// Measures for `vitrine eval --require`: scores of the answered images, as in summary.json.
std::span<const GateMeasure> EvalGateMeasures();

// Returns FAILED_PRECONDITION in two cases: an evaluation of this model with `top_k` predictions would lack the measure
// of a gate; or a gate is on top5 and the model has at most five classes.
absl::Status CheckEvalGates(std::span<const Gate> gates, const v1::ModelVersion& model, int top_k);

// Returns a result for each gate. Compares the unrounded measures.
std::vector<GateResult> JudgeEvaluation(std::span<const Gate> gates, const EvaluationMetrics& metrics);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_EVAL_GATES_H_
