// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_PARALLEL_H_
#define VITRINE_COMMON_DATA_PARALLEL_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"

namespace vitrine {

// Calls work(0) to work(count - 1) on `threads` threads including the caller's, each index once. After the first error
// no new index is started; of several errors that of the lowest index is returned.
absl::Status ParallelFor(int64_t count, int threads, const std::function<absl::Status(int64_t index)>& work);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_PARALLEL_H_
