// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_MODEL_LIMITS_H_
#define VITRINE_SERVER_MODELS_REGISTRY_MODEL_LIMITS_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "server/models/registry/batch_limits.h"
#include "vitrine/v1/serving.pb.h"

namespace vitrine {

// What one model may hold between admission and answer, and in one batch, all its versions together. Admission reads it
// for every request and the scheduler for every batch; the registry sets it when the serving configuration changes.
// Requests that are admitted already are not touched by a lower limit of the queue. Thread-safe.
class QueueLimits {
 public:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> max_requests = kNone;  // at least 1
  std::atomic<int64_t> max_bytes = kNone;     // of pictures and tensors; at least 1

  // What a batch of the model may take: its own limits over the server's. Nothing: the scheduler's options hold.
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

// The server's limits with those that the settings give a model in their place.
BatchLimits Over(const BatchLimits& server, const v1::BatchLimits& own);
v1::BatchLimits ToProto(const BatchLimits& limits);

// The limits by model. Every version of a model shares one object (LoadedModel::queue_limits), so that a swap neither
// forgets nor doubles them. Thread-safe.
class ModelLimitsTable {
 public:
  // `server`: of the batches of models that the settings say nothing about.
  explicit ModelLimitsTable(const BatchLimits& server) : server_(server) {}

  // Made with the server's limits on first use; never null.
  std::shared_ptr<QueueLimits> For(const std::string& model);
  void Set(const std::string& model, const v1::ModelServing& serving);

 private:
  const BatchLimits server_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<QueueLimits>> limits_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_MODEL_LIMITS_H_
