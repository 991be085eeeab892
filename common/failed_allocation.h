// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_FAILED_ALLOCATION_H_
#define VITRINE_COMMON_FAILED_ALLOCATION_H_

#include <new>

namespace vitrine {

// Handles a failed allocation as `new` does, for C libraries that return null: calls the new_handler, which ends our
// programs (common/command_line/out_of_memory.h), or throws std::bad_alloc in programs without one.
[[noreturn]] inline void FailAllocation() {
  if (const std::new_handler handler = std::get_new_handler()) handler();
  throw std::bad_alloc();
}

}  // namespace vitrine

#endif  // VITRINE_COMMON_FAILED_ALLOCATION_H_
