// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_MODEL_LIMITS_H_
#define VITRINE_SERVER_REGISTRY_MODEL_LIMITS_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "vitrine/v1/serving.pb.h"

namespace vitrine {

// What one model may hold between admission and answer, all its versions together. Admission reads it for every
// request; the registry sets it when the serving configuration changes. Requests that are admitted already are not
// touched by a lower limit. Thread-safe.
struct QueueLimits {
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> max_requests = kNone;  // at least 1
  std::atomic<int64_t> max_bytes = kNone;     // of pictures and tensors; at least 1
};

// The queue limits by model. Every version of a model shares one object (LoadedModel::queue_limits), so that a swap
// neither forgets nor doubles them. Thread-safe.
class ModelLimitsTable {
 public:
  // Made without limits on first use; never null.
  std::shared_ptr<QueueLimits> For(const std::string& model) {
    MutexLock lock(mutex_);
    std::shared_ptr<QueueLimits>& limits = limits_[model];
    if (limits == nullptr) limits = std::make_shared<QueueLimits>();
    return limits;
  }

  void Set(const std::string& model, const v1::ModelLimits& limits) {
    const std::shared_ptr<QueueLimits> held = For(model);
    held->max_requests = limits.has_max_queued_requests() ? limits.max_queued_requests() : QueueLimits::kNone;
    held->max_bytes = limits.has_max_queued_bytes() ? limits.max_queued_bytes() : QueueLimits::kNone;
  }

 private:
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<QueueLimits>> limits_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_MODEL_LIMITS_H_
