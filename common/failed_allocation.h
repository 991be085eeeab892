// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_FAILED_ALLOCATION_H_
#define VITRINE_COMMON_FAILED_ALLOCATION_H_

#include <new>

namespace vitrine {

// Handles a failed allocation of a C library as `new` would: calls the new_handler, or throws std::bad_alloc if there
// is none. The handler of Vitrine's programs ends the process (common/command_line/out_of_memory.h).
[[noreturn]] inline void FailAllocation() {
  if (const std::new_handler handler = std::get_new_handler()) handler();
  throw std::bad_alloc();
}

}  // namespace vitrine

#endif  // VITRINE_COMMON_FAILED_ALLOCATION_H_
