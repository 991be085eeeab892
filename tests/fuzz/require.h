// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_FUZZ_REQUIRE_H_
#define VITRINE_TESTS_FUZZ_REQUIRE_H_

#include <cstdlib>

namespace vitrine {

// What holds whatever the input is. Ends the process, which the fuzzer takes for a finding.
inline void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_FUZZ_REQUIRE_H_
