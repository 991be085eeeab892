// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_EMULATED_FAULT_H_
#define VITRINE_MODELS_ENGINE_CUDA_EMULATED_FAULT_H_

#include <cstdint>
#include <string>

namespace vitrine::cuda::emulated {

// A place in a kernel's source. clang 14 has no std::source_location.
struct Source {
  // Returns the place of the call whose default argument it is.
  static constexpr Source Current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  const char* file = "";
  int line = 0;
};

enum class FaultKind {
  kStray,       // access outside of every buffer
  kUnwritten,   // read of memory that nobody wrote
  kInFlight,    // access to the destination of a copy that was not waited for
  kRace,        // two threads at one word without a barrier between, one of them writes
  kMisaligned,  // address that the instruction does not take
  kDiverged,    // threads at different barriers, or some of them never at one
};
const char* Name(FaultKind kind);

// A kernel's error and its place.
struct Fault {
  FaultKind kind = FaultKind::kStray;
  std::string kernel;
  int block = 0;
  int thread = 0;
  Source source;
  uintptr_t address = 0;  // 0 for barriers
  std::string detail;

  // "race in linear, block 2, thread 33, kernels.cuh:40, address 0x...: ..."
  std::string ToString() const;
};

}  // namespace vitrine::cuda::emulated

#endif  // VITRINE_MODELS_ENGINE_CUDA_EMULATED_FAULT_H_
