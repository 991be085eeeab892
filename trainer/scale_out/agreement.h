// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SCALE_OUT_AGREEMENT_H_
#define VITRINE_TRAINER_SCALE_OUT_AGREEMENT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "reference/module.h"
#include "trainer/communicator.h"

namespace vitrine {

// Whether `processes` processes can train the model as one process would. FAILED_PRECONDITION for BatchNorm: each
// process would normalise by its own share of the batch, and the running statistics would be those of rank 0's alone.
absl::Status CheckParallel(const Module& model, int processes);

// Whether all ranks begin at one step with the same bits in the model; all ranks call it and get the same answer.
// FAILED_PRECONDITION names the ranks that differ from rank 0: another recipe, seed or state would train on unnoticed.
absl::Status CheckSameStart(Communicator& ranks, const Module& model, int64_t step);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SCALE_OUT_AGREEMENT_H_
