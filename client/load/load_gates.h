// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_LOAD_GATES_H_
#define VITRINE_CLIENT_LOAD_LOAD_GATES_H_

#include <span>
#include <vector>

#include "client/commands/gate.h"
#include "client/load/load_report.h"

namespace vitrine {

// Returns the measures that `vitrine bench --require` accepts. Percentiles and shares are computed over all requests
// that were due; a request without an answer counts as slower than every answered request. Rates count only the answers
// in the measured interval.
std::span<const GateMeasure> LoadGateMeasures();

// Returns a result for each gate. A search is judged by the point at its best rate, any other load by its only point.
// The `rate` of a search is the offered rate.
std::vector<GateResult> JudgeLoad(std::span<const Gate> gates, const LoadReport& report);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_LOAD_GATES_H_
