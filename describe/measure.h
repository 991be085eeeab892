// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DESCRIBE_MEASURE_H_
#define VITRINE_DESCRIBE_MEASURE_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/steady.h"
#include "engine/cpu/peaks.h"
#include "engine/cpu/profile.h"
#include "models/program/program.h"
#include "models/workload/workload.h"

namespace vitrine {

// A forward pass of the CPU engine on one core. Seconds are each the shortest of all runs, on a machine that may do
// other things between them: what they add to a run is never less than nothing.
struct Measurement {
  std::string path;  // of instructions: "avx512"
  Precision precision = Precision::kFp32;
  engine::CorePeaks peaks;
  std::vector<engine::StepProfile> steps;  // of all pictures together
  double whole = 0;
  Rounds rounds;

  double SumOfSteps() const;
  // More than twice the whole, the steps cannot be of the same undisturbed machine.
  bool Disagree() const { return SumOfSteps() > 2 * whole; }
};

// The least seconds that the roofline of a core allows, whose slanted roof is the second cache.
double BoundOf(const engine::StepProfile& step, const engine::CorePeaks& peaks);

engine::CorePeaks PeaksOfThisCore();

// Compiles the program, and measures the core, the pass over `input.images` random pictures of `channels` and each of
// its steps, in rounds over all of them until the shortest times are steady (steady.h). `weights` are in the program's
// order. UNIMPLEMENTED names an operator that the engine has no step for.
absl::StatusOr<Measurement> MeasureForward(const program::Program& program, std::span<const float* const> weights,
                                           int channels, const WorkloadInput& input, Precision precision);

}  // namespace vitrine

#endif  // VITRINE_DESCRIBE_MEASURE_H_
