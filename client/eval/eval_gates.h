// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_EVAL_GATES_H_
#define VITRINE_CLIENT_EVAL_EVAL_GATES_H_

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "client/eval/evaluation.h"
#include "client/eval/metrics.h"
#include "client/gate.h"

namespace vitrine {

// What `vitrine eval --require` can bound: scores of the answered pictures, as summary.json has them.
std::span<const GateMeasure> EvalGateMeasures();

// FAILED_PRECONDITION: a gate is about a measure that an evaluation of this model with `top_k` guesses will not have,
// or that could not miss.
absl::Status CheckEvalGates(std::span<const Gate> gates, const v1::ModelVersion& model, int top_k);

// A result for each gate, from the measures without rounding.
std::vector<GateResult> JudgeEvaluation(std::span<const Gate> gates, const EvaluationMetrics& metrics);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_EVAL_GATES_H_
