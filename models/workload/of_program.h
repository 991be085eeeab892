// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_WORKLOAD_OF_PROGRAM_H_
#define VITRINE_MODELS_WORKLOAD_OF_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "models/program/program.h"
#include "models/workload/workload.h"

namespace vitrine {

// What a program costs for a batch of equal images, each of at least one cell. The published form is an expansion of
// each operator by itself; the executed form leaves out what nobody reads, and joins what runs as one.
Workload WorkloadOf(const program::Program& program, const WorkloadInput& input, Form form);

// Multiply-adds of each operator of the program, in its order, in the published form; what the papers compute as one
// product is shared out evenly. They add up to those of the workload.
std::vector<int64_t> PublishedMacsOf(const program::Program& program, const WorkloadInput& input);

}  // namespace vitrine

#endif  // VITRINE_MODELS_WORKLOAD_OF_PROGRAM_H_
