#ifndef VITRINE_PROGRAMS_REPO_MEASURE_H_
#define VITRINE_PROGRAMS_REPO_MEASURE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "models/model.h"
#include "models/workload/workload.h"

namespace vitrine {

// What this machine can do at best, on as many threads as LibTorch uses: the two lines of a roofline.
struct MachinePeaks {
  double gflops = 0;  // of an fp32 matrix product that fits the caches, best of several
  double gigabytes_per_second =
      0;  // of a triad a = b + s c over arrays that do not, three values moved; best of several
  int threads = 0;

  // Seconds that so many operations and bytes take at least, if every operand comes from memory.
  double Bound(double flops, double bytes) const;
};

// Takes about a second.
MachinePeaks MeasurePeaks();

// Times operators alone, each through the function that the models call, with operands that fit the caches staying
// there. Equal shapes are measured once.
class OperatorTimer {
 public:
  // The batch that the operators belong to.
  explicit OperatorTimer(const WorkloadInput& input) : images_(input.images) {}

  // Seconds, the median of at least five runs. INTERNAL with LibTorch's words if it refuses.
  absl::StatusOr<double> Seconds(const Operator& op);

 private:
  const int images_;
  std::map<std::string, double> known_;
};

// Seconds of the whole forward pass of `input.images` equal inputs, the median of at least five runs.
absl::StatusOr<double> ForwardSeconds(const Model& model, const WorkloadInput& input);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_REPO_MEASURE_H_
