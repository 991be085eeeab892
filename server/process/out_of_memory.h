// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_OUT_OF_MEMORY_H_
#define VITRINE_SERVER_PROCESS_OUT_OF_MEMORY_H_

#include <cstdint>
#include <new>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace vitrine {

// Memory that runs out fails the request that asked for it, and nothing else. Whatever takes a request over answers it,
// also when an allocation fails on the way: what may throw is done before the request is touched, or in OrOutOfMemory.
// gRPC does not share this: an allocation that fails inside it ends the process.

// What the caller reads: RESOURCE_EXHAUSTED, and when to come back. Made when the program starts, so that a copy takes
// no memory.
const absl::Status& OutOfMemoryError();

// How long a loop that found no memory waits before it tries again.
inline constexpr absl::Duration kOutOfMemoryPause = absl::Milliseconds(10);

// How often memory ran out on the way of a request, since the program started. Any thread.
void CountOutOfMemory();
int64_t TimesOutOfMemory();

// What `work` returns, an absl::Status or StatusOr; or OutOfMemoryError(), counted, if an allocation failed in it.
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
