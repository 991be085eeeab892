// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BENCH_WORK_H_
#define VITRINE_BENCH_WORK_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// Work that is repeated to measure its time.
struct Work {
  std::string description;
  int images = 0;                                     // per repetition
  std::function<absl::Status()> repeat;               // one repetition
  std::function<std::vector<std::string>()> results;  // lines to compare with a peer's results; may be null
};

// Runs the work on commands from standard input, so that a driver can interleave it with its peers:
//
//   run N      repeats the work N times and prints the seconds taken
//   results    prints the results, a line per image, then an empty line
//
// Before the first command, prints "ready IMAGES DESCRIPTION", where IMAGES is the number of images per repetition. At
// the end of the input, returns the exit code.
int Serve(const std::string& program, const absl::StatusOr<Work>& work);

// The forward pass of a stored model by the CPU engine.
struct ForwardOptions {
  std::vector<std::string> sizes;  // "HEIGHTxWIDTH", one per image; inputs are drawn from a fixed seed
  // "0,3,5": indices of a batch's images; batches run one after the other; empty: one batch of all images
  std::vector<std::string> batches;
  std::string save_inputs;         // safetensors file for the inputs ("input.000", ...), for a peer; empty: not saved
  std::string isa;                 // engine path: "avx512", "avx2", "portable"; empty: the best of this CPU
  std::string precision = "fp32";  // precision of all engine products: "fp32", "bf16", "int8"
};
absl::StatusOr<Work> ForwardWork(const std::string& repository, const std::string& name, const ForwardOptions& forward);

// Runs multiply-adds in registers at the peak rate of a core, with the path and precision in `forward`. In the rate,
// 10^9 operations count as one image.
absl::StatusOr<Work> PeakWork(const ForwardOptions& forward);

// Decodes and preprocesses all images for a stored model, with the server's own code.
absl::StatusOr<Work> DecodeWork(const std::string& repository, const std::string& name,
                                const std::vector<std::string>& paths);

// Runs the forward pass on all images, in the batches that the server would form if all images waited in the queue in
// this order. A batch has as many images as fit the server's default budgets, sorted by grid.
absl::StatusOr<Work> ModelWork(const std::string& repository, const std::string& name,
                               const std::vector<std::string>& paths);

}  // namespace vitrine

#endif  // VITRINE_BENCH_WORK_H_
