// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_REFERENCE_MEMORY_METER_H_
#define VITRINE_TESTS_MODELS_REFERENCE_MEMORY_METER_H_

#include <cstdint>

namespace vitrine::testing {

// Counts the memory of CPU tensors of all threads during its lifetime. Only one meter may exist at a time.
class MemoryMeter {
 public:
  MemoryMeter();
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;
  ~MemoryMeter();

  int64_t peak_bytes() const;     // most bytes allocated at the same time
  int64_t largest_bytes() const;  // largest single allocation
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_REFERENCE_MEMORY_METER_H_
