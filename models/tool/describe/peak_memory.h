// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_DESCRIBE_PEAK_MEMORY_H_
#define VITRINE_MODELS_TOOL_DESCRIBE_PEAK_MEMORY_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"

namespace vitrine {

// Runs `work` and returns by how many bytes the process's resident memory rose above that before, at its peak. What the
// kernel counts for each core may lack some hundred kilobytes. Errors of `work`; UNIMPLEMENTED if the kernel cannot
// measure a peak anew (/proc/self/clear_refs). No other thread may allocate meanwhile.
absl::StatusOr<int64_t> PeakBytesOf(const std::function<absl::Status()>& work);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_DESCRIBE_PEAK_MEMORY_H_
