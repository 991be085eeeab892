// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_MEMORY_BUDGET_H_
#define VITRINE_SERVER_MODELS_REGISTRY_MEMORY_BUDGET_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "server/models/registry/version_status.h"
#include "vitrine/v1/serving.pb.h"

namespace vitrine {

inline constexpr int64_t kNoMemoryLimit = std::numeric_limits<int64_t>::max();

// Bytes of the weights of the versions in memory, retiring ones that a request holds among them; of one model or of
// all.
int64_t MemoryOf(const std::vector<VersionStatus>& versions, std::string_view model = "");

// Whether another version of `bytes` may be in memory beside those that are, and those that are `loading`: under the
// model's limit and under `total`, that of all models. RESOURCE_EXHAUSTED says what is there, what is needed and what
// is allowed. Pure.
absl::Status CheckMemory(const VersionId& id, int64_t bytes, const std::vector<VersionStatus>& versions,
                         const std::map<VersionId, int64_t>& loading, const v1::ModelLimits& limits, int64_t total);

// What versions take that are being loaded side by side, so that together they stay under the limits. Thread-safe.
class MemoryClaims {
 public:
  // `versions`: those in memory; called with the claims locked.
  explicit MemoryClaims(std::function<std::vector<VersionStatus>()> versions) : versions_(std::move(versions)) {}

  // Claims `bytes` for a version in place of what it claimed before, which it keeps where CheckMemory refuses.
  absl::Status Claim(const VersionId& id, int64_t bytes, const v1::ModelLimits& limits, int64_t total);
  // Ends a claim, if there is one, at once with `settle`, which puts the version in memory: it is counted once.
  void Release(const VersionId& id, const std::function<void()>& settle = nullptr);
  // Likewise every claim of a model, none of whose versions is being loaded any more.
  void ReleaseAll(const std::string& model);
  // Versions that are being loaded.
  int count() const;

 private:
  const std::function<std::vector<VersionStatus>()> versions_;
  mutable Mutex mutex_;
  std::map<VersionId, int64_t> bytes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_MEMORY_BUDGET_H_
