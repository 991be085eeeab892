// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_EMULATED_COUNTERS_H_
#define VITRINE_MODELS_ENGINE_CUDA_EMULATED_COUNTERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "models/engine/cuda/emulated/fault.h"

namespace vitrine::cuda::emulated {

// Traffic that one source line causes in one kind of memory (global or shared).
struct Traffic {
  int64_t requests = 0;  // number of requests, each by one warp
  int64_t bytes = 0;     // sum over all lanes, so bytes that two lanes access count twice
  // For shared memory: passes that the requests take, and passes that they would take without bank conflicts.
  int64_t passes = 0;
  int64_t least_passes = 0;
  // For global memory: 32-byte sectors that the requests touch, and the smallest number of sectors that could hold the
  // bytes.
  int64_t sectors = 0;
  int64_t least_sectors = 0;
};

// Groups the accesses of single lanes into requests of warps. A request consists of the n-th access of each lane of a
// warp at one source line.
class Counters {
 public:
  void Add(int thread, const void* address, size_t bytes, bool is_shared, Source at);
  // Counts the accesses of a finished block.
  void EndBlock();
  // Returns the traffic of shared or of global memory, summed over all source lines.
  Traffic Total(bool is_shared) const;
  void AddFma() { ++fmas_; }
  int64_t fmas() const { return fmas_; }  // calls of Fma in all threads

 private:
  struct Access {
    uintptr_t address;
    size_t bytes;
  };
  using Place = std::tuple<int, int, bool>;                     // warp, line, true for shared memory
  std::map<Place, std::vector<std::vector<Access>>> requests_;  // requests of the current block
  std::map<Place, size_t> counts_;                              // accesses by (thread, line, true for shared memory)
  std::map<std::pair<int, bool>, Traffic> by_line_;             // traffic by (line, true for shared memory)
  int64_t fmas_ = 0;
};

}  // namespace vitrine::cuda::emulated

#endif  // VITRINE_MODELS_ENGINE_CUDA_EMULATED_COUNTERS_H_
