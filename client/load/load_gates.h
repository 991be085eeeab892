// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_LOAD_GATES_H_
#define VITRINE_CLIENT_LOAD_LOAD_GATES_H_

#include <span>
#include <vector>

#include "client/gate.h"
#include "client/load/load_report.h"

namespace vitrine {

// What `vitrine bench --require` can bound. Percentiles and shares are of all requests due: one without an answer is
// longer than any. Rates are of answers during the measured time.
std::span<const GateMeasure> LoadGateMeasures();

// A result for each gate: of the only point, of a search the one at the highest rate that met its goal, which is its
// `rate`.
std::vector<GateResult> JudgeLoad(std::span<const Gate> gates, const LoadReport& report);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_LOAD_GATES_H_
