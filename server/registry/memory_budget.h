// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_MEMORY_BUDGET_H_
#define VITRINE_SERVER_REGISTRY_MEMORY_BUDGET_H_

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "server/registry/version_status.h"
#include "vitrine/v1/serving.pb.h"

namespace vitrine {

inline constexpr int64_t kNoMemoryLimit = std::numeric_limits<int64_t>::max();

// Bytes of the weights of the versions in memory, retiring ones that a request holds among them; of one model or of
// all.
int64_t MemoryOf(const std::vector<VersionStatus>& versions, std::string_view model = "");

// Whether another version of `bytes` may be in memory beside those that are: under the model's limit and under
// `total`, that of all models. RESOURCE_EXHAUSTED says what is there, what is needed and what is allowed. Pure.
absl::Status CheckMemory(const VersionId& id, int64_t bytes, const std::vector<VersionStatus>& versions,
                         const v1::ModelLimits& limits, int64_t total);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_MEMORY_BUDGET_H_
