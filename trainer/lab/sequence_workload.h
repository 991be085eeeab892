// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_SEQUENCE_WORKLOAD_H_
#define VITRINE_TRAINER_LAB_SEQUENCE_WORKLOAD_H_

#include "models/workload/workload.h"
#include "vitrine/v1/sequence.pb.h"

namespace vitrine {

// Returns the cost of a forward pass of one sequence of `length` elements. An encoder-decoder has a target of the same
// length. For causal models, all pairs of elements count, since masked pairs are computed, too. Requires a valid
// config.
Workload SequenceWorkloadOf(const v1::SequenceConfig& config, int length);

// Returns the sequence length for which a model's costs are reported: ten elements for a set, otherwise the longest
// sequence.
int DefaultLength(const v1::SequenceConfig& config);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_SEQUENCE_WORKLOAD_H_
