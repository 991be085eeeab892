// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_SEQUENCE_WORKLOAD_H_
#define VITRINE_TRAINER_LAB_SEQUENCE_WORKLOAD_H_

#include "models/workload/workload.h"
#include "vitrine/v1/sequence.pb.h"

namespace vitrine {

// The forward pass of one sequence of `length` elements; of an encoder-decoder, with a target of as many. Causal models
// are counted with all pairs of elements, as they run. Requires a valid config.
Workload SequenceWorkloadOf(const v1::SequenceConfig& config, int length);

// The length that a model's figures are given for: ten elements of a set, otherwise the longest sequence.
int DefaultLength(const v1::SequenceConfig& config);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_SEQUENCE_WORKLOAD_H_
