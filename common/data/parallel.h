// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_PARALLEL_H_
#define VITRINE_COMMON_DATA_PARALLEL_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"

namespace vitrine {

// Calls work(0) to work(count - 1), each once, on `threads` threads including the caller's. After the first error no
// new index is started. If there are several errors, returns the error of the lowest index.
absl::Status ParallelFor(int64_t count, int threads, const std::function<absl::Status(int64_t index)>& work);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_PARALLEL_H_
