// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_OUT_OF_MEMORY_H_
#define VITRINE_SERVER_PROCESS_OUT_OF_MEMORY_H_

#include <cstdint>
#include <new>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace vitrine {

// Out of memory fails only the request that allocates. Code that takes over a request must answer it even if an
// allocation fails: whatever may throw runs before the request is taken over, or in OrOutOfMemory. gRPC is an
// exception: a failed allocation inside it ends the process.

// Returns RESOURCE_EXHAUSTED with a retry delay, for the client. Created at program start, so that a copy needs no
// memory.
const absl::Status& OutOfMemoryError();

// Pause of a loop that is out of memory before it tries again.
inline constexpr absl::Duration kOutOfMemoryPause = absl::Milliseconds(10);

// Count failed allocations in requests since the program started. Any thread.
void CountOutOfMemory();
int64_t TimesOutOfMemory();

// Returns the result of `work`, an absl::Status or StatusOr, or OutOfMemoryError(), counted, if an allocation in it
// failed.
template <typename Work>
auto OrOutOfMemory(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    CountOutOfMemory();
    return OutOfMemoryError();
  }
}

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_OUT_OF_MEMORY_H_
