// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_TRAINER_LAB_ORACLE_H_
#define VITRINE_TESTS_TRAINER_LAB_ORACLE_H_

#include <memory>
#include <string_view>

#include "trainer/lab/sequence_model.h"

namespace vitrine::testing {

// Returns the logits of a sequence model, computed in fp64 from the published formulas, sequence by sequence and head
// by head. Applies map_pos to the whole [n, n, m] tensor and makes masks with loops. Shares only parameter names with
// trainer/lab.
at::Tensor SequenceOracle(const SequenceModel& model, const SequenceBatch& batch);

// Returns the tensor P [n, n, m] of the paper's library in fp64: P_ij = [E(i), E(j)] cut to m channels, where E has 2
// ceil(m / 4) channels.
at::Tensor PositionalTensor(int64_t n, int m);

// Returns the model of a row of the zoo or of a config, with pseudo-random weights. Every weight is large enough to
// affect the results. Aborts the test program if the row does not exist or the config is invalid.
std::unique_ptr<SequenceModel> MakeHashedSequence(std::string_view row);
std::unique_ptr<SequenceModel> MakeHashedSequence(const v1::SequenceConfig& config);
v1::SequenceConfig SequenceConfigOf(std::string_view row);

// Returns a row's config with small sizes: two blocks of width 24 with 3 heads. Other fields are unchanged.
v1::SequenceConfig Small(v1::SequenceConfig config);

// Returns a batch of `batch` sequences of `length` elements, which a model with this config accepts. Target sequences
// are one element shorter.
SequenceBatch HashedBatch(const v1::SequenceConfig& config, int64_t batch, int64_t length, uint64_t seed = 1);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_TRAINER_LAB_ORACLE_H_
