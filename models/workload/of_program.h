// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_WORKLOAD_OF_PROGRAM_H_
#define VITRINE_MODELS_WORKLOAD_OF_PROGRAM_H_

#include "models/program/program.h"
#include "models/workload/workload.h"

namespace vitrine {

// What a program costs for a batch of equal images, each of at least one cell. The published form is an expansion of
// each operator by itself; the executed form leaves out what nobody reads, and joins what runs as one.
Workload WorkloadOf(const program::Program& program, const WorkloadInput& input, Form form);

}  // namespace vitrine

#endif  // VITRINE_MODELS_WORKLOAD_OF_PROGRAM_H_
