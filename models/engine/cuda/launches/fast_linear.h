// SPDX-License-Identifier: Apache-2.0
// Chooses the fast kernels of linear layers by the widths and alignment of columns, never by the number of rows.
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_FAST_LINEAR_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_FAST_LINEAR_H_

#include <string>

#include "models/engine/cuda/kernels/arguments.h"
#include "models/engine/cuda/launches/device.h"
#include "models/engine/cuda/launches/matrices.h"
#include "models/engine/plan/step.h"

namespace vitrine::cuda {

// --- linear layers

// Returns the arguments without weights. If the layer has a norm and rows longer than LinearTiles::kLongest, the kernel
// does not compute the statistics of the rows; the caller sets `statistics`.
FastLinearArguments FastArguments(const engine::LinearStep& step, const Batch& batch, const Matrix& x, const Matrix& y,
                                  const Matrix& residual);
// Returns true if a fast kernel supports the precision and the widths.
bool HasFastLinear(const engine::LinearStep& step);
// Returns true if a fast kernel supports the layer and the alignment of the matrices.
bool SuitsFastLinear(const engine::LinearStep& step, const FastLinearArguments& arguments);
// Returns true if two launches, one per layer of the perceptron, can compute it and store the hidden values as bf16 in
// between.
bool HasNarrowHidden(const engine::PerceptronStep& step);
// Sets the weights, which must be in MatrixLayout::kByOutputs.
void SetWeights(FastLinearArguments& arguments, const DeviceMatrix& matrix);
// Returns the launch of a fast kernel. Requires SuitsFastLinear.
Launch FastLinear(std::string step, const FastLinearArguments& arguments, Precision precision);

// --- fp32, bit-identical to the plain kernels; weights are in MatrixLayout::kByInputs

bool SuitsFastLinear(const LinearArguments& arguments);
Launch FastLinear(std::string step, const LinearArguments& arguments);

// --- perceptrons in bf16 as one launch, which does not store the hidden rows in memory

PerceptronArguments FastArguments(const engine::PerceptronStep& step, const Batch& batch, const Matrix& x,
                                  const Matrix& y, const Matrix& residual);
bool SuitsFastPerceptron(const engine::PerceptronStep& step, const PerceptronArguments& arguments);
void SetWeights(PerceptronArguments& arguments, const DeviceMatrix& first, const DeviceMatrix& second);
Launch FastPerceptron(std::string step, const PerceptronArguments& arguments);

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_FAST_LINEAR_H_
