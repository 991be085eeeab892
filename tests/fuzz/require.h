// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_FUZZ_REQUIRE_H_
#define VITRINE_TESTS_FUZZ_REQUIRE_H_

#include <cstdlib>

namespace vitrine {

// Aborts if `condition`, which must hold for every input, is false; the fuzzer reports the abort as a finding.
inline void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_FUZZ_REQUIRE_H_
