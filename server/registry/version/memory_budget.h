// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_VERSION_MEMORY_BUDGET_H_
#define VITRINE_SERVER_REGISTRY_VERSION_MEMORY_BUDGET_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/mutex.h"
#include "server/registry/version/version_status.h"
#include "vitrine/v1/serving.pb.h"

namespace vitrine {

inline constexpr int64_t kNoMemoryLimit = std::numeric_limits<int64_t>::max();

// Returns the bytes of the versions in memory, of one model or of all models. Includes retiring versions that a request
// still uses.
int64_t MemoryOf(const std::vector<VersionStatus>& versions, std::string_view model = "");

// Returns OK if a version of `bytes` fits under the model's limit and under `total`, the limit of all models. The
// versions in memory and in `loading` count too. RESOURCE_EXHAUSTED gives the bytes in memory, the bytes needed and the
// limit. Pure function.
absl::Status CheckMemory(const VersionId& id, int64_t bytes, const std::vector<VersionStatus>& versions,
                         const std::map<VersionId, int64_t>& loading, const v1::ModelLimits& limits, int64_t total);

// Memory claimed by versions that are loading in parallel. The claims keep the memory of all versions under the limits.
// Thread-safe.
class MemoryClaims {
 public:
  // `versions` returns the versions in memory; the claims are locked while it runs.
  explicit MemoryClaims(std::function<std::vector<VersionStatus>()> versions) : versions_(std::move(versions)) {}

  // Claims `bytes` for a version, replacing its earlier claim. If CheckMemory fails, the earlier claim remains.
  absl::Status Claim(const VersionId& id, int64_t bytes, const v1::ModelLimits& limits, int64_t total);
  // Ends a claim, if there is one, and calls `settle`, which adds the version to the versions in memory. Both happen
  // under one lock, so that the version is counted exactly once.
  void Release(const VersionId& id, const std::function<void()>& settle = nullptr);
  // Return the number of versions that are being loaded, and their names, like "digits/1, digits/2".
  int count() const;
  std::string Names() const;

 private:
  const std::function<std::vector<VersionStatus>()> versions_;
  mutable Mutex mutex_;
  std::map<VersionId, int64_t> bytes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_VERSION_MEMORY_BUDGET_H_
