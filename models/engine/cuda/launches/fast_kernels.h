// SPDX-License-Identifier: Apache-2.0
// Chooses fast kernels by the precision, the widths and the alignment of columns, never by the number of rows. The
// functions are defined in fast_attention.cc, fast_grid.cc, fast_linear.cc and narrow_rows.cc. stem.cc chooses the
// kernels of stems.
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_FAST_KERNELS_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_FAST_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/engine/cuda/kernels/arguments.h"
#include "models/engine/cuda/launches/device.h"
#include "models/engine/cuda/launches/matrices.h"
#include "models/engine/plan/plan.h"

namespace vitrine::cuda {

// --- matrices in memory

inline constexpr int kWideFloats = 4;  // floats per access of 16 bytes

// Returns true if each row begins at a multiple of 16 bytes, so that kernels may access several numbers at once. Also
// returns true for a matrix without data.
inline bool HasWideRows(const Matrix& matrix) {
  return reinterpret_cast<uintptr_t>(matrix.data) % (kWideFloats * sizeof(float)) == 0 &&
         matrix.stride % kWideFloats == 0;
}

// Returns for each buffer whether its rows are bf16 in device memory. This is true if only fast kernels write the
// buffer, and all kernels that read the buffer multiply its numbers in bf16. Storing bf16 halves the traffic of qkv and
// of attention's results. The attention maps, and the lengths of channels in XCiT's attention, are then computed from
// the rounded numbers.
std::vector<bool> NarrowBuffers(const engine::LoweredPlan& plan);

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

// --- linear layers in fp32, bit-identical to the plain kernels; weights are in MatrixLayout::kByInputs

bool SuitsFastLinear(const LinearArguments& arguments);
Launch FastLinear(std::string step, const LinearArguments& arguments);

// --- perceptrons in bf16 as one launch, which does not store the hidden rows in memory

PerceptronArguments FastArguments(const engine::PerceptronStep& step, const Batch& batch, const Matrix& x,
                                  const Matrix& y, const Matrix& residual);
bool SuitsFastPerceptron(const engine::PerceptronStep& step, const PerceptronArguments& arguments);
void SetWeights(PerceptronArguments& arguments, const DeviceMatrix& first, const DeviceMatrix& second);
Launch FastPerceptron(std::string step, const PerceptronArguments& arguments);

// --- attention

// Return true if a fast kernel supports the precision and the widths. For attention among channels, there is no fast
// kernel in fp32.
bool HasFastChannels(const engine::AttendChannelsStep& step);
bool HasFastTokens(const engine::AttendStep& step);

// Returns attention among channels as one launch without scratch memory. Returns nullopt if the attention is not bf16,
// or if the kernel does not support its widths or alignment.
std::optional<Launch> FastChannels(const engine::AttendChannelsStep& step, const std::string& name,
                                   const ChannelArguments& arguments);

// Returns attention among tokens, or nullopt if the kernel does not support the widths or the alignment. In fp32, the
// results are bit-identical to those of the plain kernel.
std::optional<Launch> FastTokens(const engine::AttendStep& step, const std::string& name,
                                 const AttendArguments& arguments);

// Like FastTokens in fp32, but for attention whose only query is the class token.
std::optional<Launch> FastQuery(const engine::AttendStep& step, const std::string& name,
                                const AttendArguments& arguments);

// --- other steps

// A kernel and its launch configuration.
struct KernelChoice {
  const char* kernel;
  int threads = 128;
  size_t shared_bytes = 0;
};

// Return the fast kernel if it supports these arguments, else the plain kernel. Local interactions have only a fast
// kernel.
KernelChoice Choose(const AffineArguments& arguments);
KernelChoice Choose(const AddArguments& arguments);
KernelChoice Choose(const CopyArguments& arguments);
KernelChoice Choose(const PatchifyArguments& arguments);
KernelChoice Choose(const GatherArguments& arguments);
KernelChoice Choose(const DepthwiseArguments& arguments);
KernelChoice Choose(const LocalArguments& arguments);

// Steps of XCiT's local patch interaction that one kernel computes.
struct LocalSteps {
  static constexpr size_t kCount = 3;
  const engine::LayerNormStep& norm;
  const engine::DepthwiseStep &first, &second;
};
// Returns the steps of a local patch interaction that begins at step `first`. Returns nullopt if no interaction begins
// there, if the kernel does not support it, or if other steps read its intermediate values.
std::optional<LocalSteps> FindLocalSteps(const engine::LoweredPlan& plan, size_t first);

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_FAST_KERNELS_H_
