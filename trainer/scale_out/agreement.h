// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SCALE_OUT_AGREEMENT_H_
#define VITRINE_TRAINER_SCALE_OUT_AGREEMENT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "models/reference/module.h"
#include "trainer/communicator.h"

namespace vitrine {

// Checks that `processes` processes can train the model like one process. FAILED_PRECONDITION: there are several
// processes and the model has BatchNorm. Each process would normalise by its own share of the batch, and only rank 0's
// running statistics would be saved.
absl::Status CheckParallel(const Module& model, int processes);

// Checks that all ranks start at the same step with the same bits in the model. All ranks must make this call, and all
// ranks get the same result. FAILED_PRECONDITION names the ranks that differ from rank 0. Such a rank has for instance
// another recipe, seed or state.
absl::Status CheckSameStart(Communicator& ranks, const Module& model, int64_t step);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SCALE_OUT_AGREEMENT_H_
