// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_DESCRIBE_MEASURE_H_
#define VITRINE_MODELS_TOOL_DESCRIBE_MEASURE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/steady.h"
#include "models/engine/cpu/engine.h"
#include "models/engine/cpu/step.h"
#include "models/program/program.h"
#include "models/tool/describe/peaks.h"
#include "models/workload/workload.h"

namespace vitrine {

// Cost of one fused step over a whole batch.
struct StepProfile {
  std::string name;  // name of its first operator: "blocks.0.attention.qkv"
  engine::StepKind kind = engine::StepKind::kRows;
  Precision precision = Precision::kFp32;
  int64_t multiply_adds = 0;
  int64_t bytes = 0;  // memory and cache traffic: values, pixels, and the weights once per group of images
  double seconds = 0;
};

// Runs one pass over the images like Engine::Run and times every step, in plan order. The timer costs about 30 ns per
// step and group of images (models/engine/cpu/group.h).
std::vector<StepProfile> ProfileSteps(const engine::Engine& engine, std::span<const engine::ImagePlanes> images,
                                      engine::Workspace& workspace);

// Times of a forward pass of the CPU engine on one core, in seconds. Each time is the shortest of all runs, because
// other load on the machine can only add time.
struct Measurement {
  std::string path;  // instruction path: "avx512"
  Precision precision = Precision::kFp32;
  CorePeaks peaks;
  std::vector<StepProfile> steps;  // for all images together
  double whole = 0;
  Rounds rounds;

  double SumOfSteps() const;
  // Returns true if the steps took more than twice as long as the whole pass. The machine was then too busy to compare
  // times.
  bool Disagree() const { return SumOfSteps() > 2 * whole; }
};

// Returns the shortest time of a step, in seconds, that the roofline of one core with its L2 bandwidth permits.
double BoundOf(const StepProfile& step, const CorePeaks& peaks);

// Compiles the program. Measures the core's peaks, the pass over `input.images` random images of `channels` channels,
// and each step of the pass, in rounds until the shortest times are stable (steady.h). `weights` are in program order.
// UNIMPLEMENTED names an operator that the engine cannot compute.
absl::StatusOr<Measurement> MeasureForward(const program::Program& program, std::span<const float* const> weights,
                                           int channels, const WorkloadInput& input, Precision precision);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_DESCRIBE_MEASURE_H_
