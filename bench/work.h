// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BENCH_WORK_H_
#define VITRINE_BENCH_WORK_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// A piece of work that is timed by repeating it.
struct Work {
  std::string description;
  int images = 0;                                     // in one repetition
  std::function<absl::Status()> repeat;               // one repetition
  std::function<std::vector<std::string>()> results;  // lines to compare with a peer's; may be null
};

// Does the work on the commands that come from standard input, so that a driver can interleave it with its peers:
//
//   run N      repeats the work N times and prints the seconds that took
//   results    prints what the work computed, a line per image, then an empty line
//
// First it prints "ready IMAGES DESCRIPTION", where IMAGES are in one repetition. Returns the exit code at the end of
// the input.
int Serve(const std::string& program, const absl::StatusOr<Work>& work);

// The forward pass of a stored model over one batch.
struct ForwardOptions {
  std::vector<std::string> sizes;    // "HEIGHTxWIDTH", one per image; the inputs are drawn from a fixed seed
  std::vector<std::string> batches;  // "0,3,5": images that go together, in turn; all in one where there are none
  std::string save_inputs;           // unless empty, a safetensors file for them ("input.000", ...), so that a peer
                                     // computes the same
  bool compiled = false;             // by the CPU engine, in place of the reference
  std::string isa;                   // of the engine: "avx512", "avx2", "portable"; the best of this CPU where empty
  std::string precision = "fp32";    // of the engine's products, all of them: "fp32", "bf16", "int8"
};
absl::StatusOr<Work> ForwardWork(const std::string& repository, const std::string& name, const ForwardOptions& forward);

// Multiply-adds in registers, as fast as one core can by that path and in that precision: an "image" is 10^9
// operations.
absl::StatusOr<Work> PeakWork(const ForwardOptions& forward);

// Decoding and preprocessing of all pictures, for a stored model, by the server's own code.
absl::StatusOr<Work> DecodeWork(const std::string& repository, const std::string& name,
                                const std::vector<std::string>& paths);

// The forward pass over all pictures, in the batches that the server would form from a full queue in this order: as
// many as fit its default budgets, sorted by grid.
absl::StatusOr<Work> ModelWork(const std::string& repository, const std::string& name,
                               const std::vector<std::string>& paths);

}  // namespace vitrine

#endif  // VITRINE_BENCH_WORK_H_
