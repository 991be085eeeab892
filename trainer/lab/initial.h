// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_INITIAL_H_
#define VITRINE_TRAINER_LAB_INITIAL_H_

#include "trainer/lab/layers.h"
#include "vitrine/v1/sequence.pb.h"

namespace vitrine::sequences {

// Overwrites a matrix [outputs, inputs] with uniform values of at most sqrt(6 / (inputs + outputs)) in magnitude
// (Glorot and Bengio 2010). If the matrix stacks several layers, `outputs` may be smaller than the number of rows.
void DrawXavier(const at::Tensor& matrix, int64_t outputs, Initializer& initializer);

// Returns true if every matrix of a block is drawn separately from Xavier's uniform distribution.
bool XavierBlocks(v1::SequenceConfig::Initial initial);

// A linear layer with PyTorch's initial values. If `xavier`, its weights are drawn by DrawXavier instead.
class DenseLayer : public Linear {
 public:
  DenseLayer(int inputs, int outputs, bool bias, bool xavier, Initializer& initializer);
};

// Returns the initial values of an embedding or position table, [rows, width].
at::Tensor InitialTable(const v1::SequenceConfig& config, int64_t rows, Initializer& initializer);

}  // namespace vitrine::sequences

#endif  // VITRINE_TRAINER_LAB_INITIAL_H_
