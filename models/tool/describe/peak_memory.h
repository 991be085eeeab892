// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_DESCRIBE_PEAK_MEMORY_H_
#define VITRINE_MODELS_TOOL_DESCRIBE_PEAK_MEMORY_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"

namespace vitrine {

// Runs `work` and returns the rise of the process's resident memory, from its start to its peak, in bytes. The kernel's
// counters are per core and added up late, so the result may be too small. No other thread may allocate meanwhile.
// Returns errors of `work`; UNIMPLEMENTED if the kernel cannot reset the peak (/proc/self/clear_refs).
absl::StatusOr<int64_t> PeakBytesOf(const std::function<absl::Status()>& work);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_DESCRIBE_PEAK_MEMORY_H_
