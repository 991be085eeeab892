// SPDX-License-Identifier: Apache-2.0
#include "server/registry/version/memory_budget.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace vitrine {
namespace {

absl::Status RefuseLoad(const VersionId& id, int64_t bytes, int64_t held, int64_t limit, const std::string& whose) {
  return absl::ResourceExhaustedError(absl::StrCat(id.model, "/", id.version, ": it needs ", bytes,
                                                   " bytes in addition to ", held, " in memory, which exceeds ", whose,
                                                   " of ", limit, " bytes"));
}

}  // namespace

int64_t MemoryOf(const std::vector<VersionStatus>& versions, std::string_view model) {
  int64_t bytes = 0;
  for (const VersionStatus& version : versions) {
    if (version.model != nullptr && (model.empty() || version.id.model == model)) bytes += version.model->BudgetBytes();
  }
  return bytes;
}

absl::Status CheckMemory(const VersionId& id, int64_t bytes, const std::vector<VersionStatus>& versions,
                         const std::map<VersionId, int64_t>& loading, const v1::ModelLimits& limits, int64_t total) {
  int64_t own = MemoryOf(versions, id.model);
  int64_t all = MemoryOf(versions);
  for (const auto& [other, claimed] : loading) {
    if (other.model == id.model) own += claimed;
    all += claimed;
  }
  if (limits.has_max_memory_bytes() && bytes > limits.max_memory_bytes() - own) {
    return RefuseLoad(id, bytes, own, limits.max_memory_bytes(), "the model's limit");
  }
  if (bytes > total - all) return RefuseLoad(id, bytes, all, total, "the limit of --model-memory");
  return absl::OkStatus();
}

absl::Status MemoryClaims::Claim(const VersionId& id, int64_t bytes, const v1::ModelLimits& limits, int64_t total) {
  MutexLock lock(mutex_);
  std::map<VersionId, int64_t> others = bytes_;
  others.erase(id);
  const absl::Status allowed = CheckMemory(id, bytes, versions_(), others, limits, total);
  if (allowed.ok()) bytes_[id] = bytes;
  return allowed;
}

void MemoryClaims::Release(const VersionId& id, const std::function<void()>& settle) {
  MutexLock lock(mutex_);
  if (settle != nullptr) settle();
  bytes_.erase(id);
}

std::string MemoryClaims::Names() const {
  MutexLock lock(mutex_);
  return absl::StrJoin(bytes_, ", ", [](std::string* out, const auto& claim) {
    absl::StrAppend(out, claim.first.model, "/", claim.first.version);
  });
}

int MemoryClaims::count() const {
  MutexLock lock(mutex_);
  return static_cast<int>(bytes_.size());
}

}  // namespace vitrine
