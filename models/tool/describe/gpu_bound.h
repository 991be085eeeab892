// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_DESCRIBE_GPU_BOUND_H_
#define VITRINE_MODELS_TOOL_DESCRIBE_GPU_BOUND_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/charts/html/data_table.h"
#include "models/engine/precision.h"
#include "models/program/program.h"
#include "models/workload/workload.h"

namespace vitrine {

// Peak rates of a GPU from its data sheet, without sparsity.
struct Gpu {
  std::string_view name;  // "h100"
  std::string_view model;
  double fp32_tflops, bf16_tflops, int8_tops;  // fp32: CUDA cores; bf16, int8: tensor cores with 32-bit sums
  double memory_gbps;
  double bus_gbps;  // host to device, in one direction

  // Returns the peak number of multiply-adds per second.
  double MultiplyAdds(Precision precision) const;
};

std::span<const Gpu> Gpus();
// Returns null if the name is unknown.
const Gpu* FindGpu(std::string_view name);

// Work of a step of the engine's execution plan, for a batch of equal images.
struct StepWork {
  std::string name;  // "blocks.*.attention.qkv" for several equal steps
  Precision precision = Precision::kFp32;
  int64_t multiply_adds = 0;
  // Memory traffic, in the types in which values are stored. The step's rows and weights are read or written once. Maps
  // between the layers of a stem are written once and read once.
  int64_t bytes = 0;
  int count = 1;

  // Returns the minimum seconds per step: the longer of the time for the products at peak rate and the time for the
  // bytes at memory bandwidth.
  double BoundOn(const Gpu& gpu) const;
};

// Returns the work of each step of the plan that a device runs, in order. Lists equal steps separately if `every`,
// otherwise once. UNIMPLEMENTED names an operator without a step.
absl::StatusOr<std::vector<StepWork>> WorkOnGpu(const program::Program& program, int channels,
                                                const WorkloadInput& input, Precision precision, bool every);

DataTable BoundTable(const std::vector<StepWork>& steps, const Gpu& gpu);
// Returns a sentence with the sum of the bounds of all steps and of the copy of the pixels.
std::string BoundInWords(const std::vector<StepWork>& steps, const Gpu& gpu, int channels, const WorkloadInput& input);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_DESCRIBE_GPU_BOUND_H_
