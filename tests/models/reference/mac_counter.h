// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_REFERENCE_MAC_COUNTER_H_
#define VITRINE_TESTS_MODELS_REFERENCE_MAC_COUNTER_H_

#include <cstdint>

namespace vitrine::testing {

// Counts multiply-adds of the matrix products and convolutions that LibTorch runs in this thread during its lifetime,
// from the sizes of their operands. Operators that a counted operator calls are not counted again. Only one counter may
// exist at a time.
class MacCounter {
 public:
  MacCounter();
  ~MacCounter();
  MacCounter(const MacCounter&) = delete;
  MacCounter& operator=(const MacCounter&) = delete;

  int64_t total() const;

 private:
  uint64_t handle_;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_REFERENCE_MAC_COUNTER_H_
