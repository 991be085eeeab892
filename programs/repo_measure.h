// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PROGRAMS_REPO_MEASURE_H_
#define VITRINE_PROGRAMS_REPO_MEASURE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/steady.h"
#include "models/workload/workload.h"
#include "reference/model.h"

namespace vitrine {

// What this machine can do at best, on as many threads as LibTorch uses: the two lines of a roofline.
struct MachinePeaks {
  double gflops = 0;                       // the most that was reached in fp32
  std::string peak_of = "matrix product";  // one that fits the caches, or the operator that was faster
  double gigabytes_per_second =
      0;  // of a triad a = b + s c over arrays that fit no cache, three values moved; the best
  int threads = 0;

  // Seconds that so many operations and bytes take at least, if every operand comes from memory.
  double Bound(double flops, double bytes) const;
};

// Takes about a second.
MachinePeaks MeasurePeaks();

// Seconds, each the shortest of all runs, on a machine that may do other things between them: what they add to a run is
// never less than nothing.
struct ForwardTimes {
  std::vector<double> operators;  // as given
  double whole = 0;               // the forward pass of `input.images` equal inputs

  // More than twice the whole, `sum` of the operators cannot be of the same undisturbed machine.
  bool Disagree(double sum) const { return sum > 2 * whole; }
};

struct Measurement {
  MachinePeaks peaks;  // no operator is above peaks.gflops
  ForwardTimes forward;
  Rounds rounds;
};

// Measures the machine, the forward pass and its operators alone, in rounds over all of them until the shortest times
// are steady (steady.h), so that what disturbs the machine for a while disturbs none of them in every round. Each
// operator goes through the function that the models call, with operands that fit the caches staying there; equal
// shapes are measured once. INTERNAL with LibTorch's words if it refuses one.
absl::StatusOr<Measurement> MeasureForward(const Model& model, const WorkloadInput& input,
                                           const std::vector<Operator>& operators);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_REPO_MEASURE_H_
