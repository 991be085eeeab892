// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_EMULATED_FAULT_H_
#define VITRINE_MODELS_ENGINE_CUDA_EMULATED_FAULT_H_

#include <cstdint>
#include <string>

namespace vitrine::cuda::emulated {

// A location in a kernel's source. (clang 14 lacks std::source_location.)
struct Source {
  // Returns the location of a call to the function that has Current() as a default argument.
  static constexpr Source Current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  const char* file = "";
  int line = 0;
};

enum class FaultKind {
  kStray,       // access outside all buffers
  kUnwritten,   // read of memory that was never written
  kInFlight,    // access to the destination of an unfinished asynchronous copy
  kRace,        // two threads access one word without a barrier in between, and at least one writes
  kMisaligned,  // address without the alignment that the instruction requires
  kDiverged,    // threads at different barriers, or a barrier that some threads never reach
};
const char* Name(FaultKind kind);

// An error of a kernel, with its source location.
struct Fault {
  FaultKind kind = FaultKind::kStray;
  std::string kernel;
  int block = 0;
  int thread = 0;
  Source source;
  uintptr_t address = 0;  // 0 for barriers
  std::string detail;

  // Returns "race in linear, block 2, thread 33, kernels.cuh:40, address 0x...: ...".
  std::string ToString() const;
};

}  // namespace vitrine::cuda::emulated

#endif  // VITRINE_MODELS_ENGINE_CUDA_EMULATED_FAULT_H_
