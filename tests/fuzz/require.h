// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_FUZZ_REQUIRE_H_
#define VITRINE_TESTS_FUZZ_REQUIRE_H_

#include <cstdlib>

namespace vitrine {

// Aborts if `condition` is false. `condition` must hold for every input, and the fuzzer reports an abort as a fault.
inline void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_FUZZ_REQUIRE_H_
