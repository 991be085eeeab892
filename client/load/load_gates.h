// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_LOAD_GATES_H_
#define VITRINE_CLIENT_LOAD_LOAD_GATES_H_

#include <span>
#include <vector>

#include "client/commands/gate.h"
#include "client/load/load_report.h"

namespace vitrine {

// Measures for `vitrine bench --require`. Percentiles and shares are of all requests due: a missing answer counts as
// longer than any. Rates are of answers during the measured time.
std::span<const GateMeasure> LoadGateMeasures();

// Returns a result for each gate: for the only point, or for the best point of a search, whose offered rate is `rate`.
std::vector<GateResult> JudgeLoad(std::span<const Gate> gates, const LoadReport& report);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_LOAD_GATES_H_
