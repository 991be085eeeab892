// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_WORKLOAD_OF_PROGRAM_H_
#define VITRINE_MODELS_WORKLOAD_OF_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "models/program/program.h"
#include "models/workload/workload.h"

namespace vitrine {

// Returns the cost of a program for a batch of equal images, each of at least one cell. Form::kPublished expands each
// operator separately. Form::kExecuted omits values that no result needs (program::ResultsOfRun), and merges operators
// that run in one pass.
Workload WorkloadOf(const program::Program& program, const WorkloadInput& input, Form form);

// Returns the multiply-adds of each operator in program order, in Form::kPublished. Operators that the papers compute
// as one product share its cost equally. The sum of the results is the number for the whole workload.
std::vector<int64_t> PublishedMacsOf(const program::Program& program, const WorkloadInput& input);

}  // namespace vitrine

#endif  // VITRINE_MODELS_WORKLOAD_OF_PROGRAM_H_
