// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_SETTINGS_MODEL_LIMITS_H_
#define VITRINE_SERVER_REGISTRY_SETTINGS_MODEL_LIMITS_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/mutex.h"
#include "models/engine/device_status.h"
#include "server/registry/settings/batch_limits.h"
#include "vitrine/v1/serving.pb.h"

namespace vitrine {

// Limits of one model, for all its versions together: a queue limit for the requests that are admitted and not yet
// answered, and limits of one batch. Admission reads them for every request and the scheduler for every batch; the
// registry sets them when the serving configuration changes. A lower queue limit does not affect requests that are
// already admitted. Thread-safe.
class QueueLimits {
 public:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> max_requests = kNone;  // at least 1
  std::atomic<int64_t> max_bytes = kNone;     // sum over images and tensors; at least 1

  // Returns the model's batch limits, completed by the server's limits. nullopt: the scheduler's options apply.
  std::optional<BatchLimits> batch() const {
    MutexLock lock(mutex_);
    return batch_;
  }
  void set_batch(const BatchLimits& batch) {
    MutexLock lock(mutex_);
    batch_ = batch;
  }

 private:
  mutable Mutex mutex_;
  std::optional<BatchLimits> batch_ ABSL_GUARDED_BY(mutex_);
};

// Returns `server`, but fields that are set in `own` replace the server's fields.
BatchLimits Over(const BatchLimits& server, const v1::BatchLimits& own);
v1::BatchLimits ToProto(const BatchLimits& limits);

// Limits of each model. All versions of a model share one object (LoadedModel::queue_limits), so replacing a version
// does not reset or double the limits. Thread-safe.
class ModelLimitsTable {
 public:
  // `server`: batch limits of models without settings. `device`: limits of the device's batches; nullopt on a CPU. The
  // device's limits apply to all models, because the device cannot divide a larger batch if its images have attention
  // or features.
  explicit ModelLimitsTable(const BatchLimits& server, const std::optional<DeviceBatch>& device = std::nullopt)
      : server_(server), device_(device) {}

  // Returns the limits of a model, never null. Before Set: the server's batch limits, no queue limits.
  std::shared_ptr<QueueLimits> For(const std::string& model);
  void Set(const std::string& model, const v1::ModelServing& serving);

 private:
  BatchLimits WithinDevice(BatchLimits limits) const;

  const BatchLimits server_;
  const std::optional<DeviceBatch> device_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<QueueLimits>> limits_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_SETTINGS_MODEL_LIMITS_H_
