// SPDX-License-Identifier: Apache-2.0
#include "server/registry/settings/model_limits.h"

#include <algorithm>

namespace vitrine {

BatchLimits Over(const BatchLimits& server, const v1::BatchLimits& own) {
  BatchLimits limits = server;
  if (own.has_max_batch_tokens()) limits.max_batch_tokens = own.max_batch_tokens();
  if (own.has_max_batch_images()) limits.max_batch_images = own.max_batch_images();
  if (own.has_max_batch_pixels()) limits.max_batch_pixels = own.max_batch_pixels();
  if (own.has_max_wait_seconds()) limits.max_wait = absl::Seconds(own.max_wait_seconds());
  return limits;
}

v1::BatchLimits ToProto(const BatchLimits& limits) {
  v1::BatchLimits proto;
  proto.set_max_batch_tokens(limits.max_batch_tokens);
  proto.set_max_batch_images(limits.max_batch_images);
  proto.set_max_batch_pixels(limits.max_batch_pixels);
  proto.set_max_wait_seconds(absl::ToDoubleSeconds(limits.max_wait));
  return proto;
}

std::shared_ptr<QueueLimits> ModelLimitsTable::For(const std::string& model) {
  MutexLock lock(mutex_);
  std::shared_ptr<QueueLimits>& limits = limits_[model];
  if (limits == nullptr) {
    limits = std::make_shared<QueueLimits>();
    limits->set_batch(WithinDevice(server_));
  }
  return limits;
}

void ModelLimitsTable::Set(const std::string& model, const v1::ModelServing& serving) {
  const v1::ModelLimits& queue = serving.limits();
  const std::shared_ptr<QueueLimits> held = For(model);
  held->max_requests = queue.has_max_queued_requests() ? queue.max_queued_requests() : QueueLimits::kNone;
  held->max_bytes = queue.has_max_queued_bytes() ? queue.max_queued_bytes() : QueueLimits::kNone;
  held->set_batch(WithinDevice(Over(server_, serving.batching())));
}

BatchLimits ModelLimitsTable::WithinDevice(BatchLimits limits) const {
  if (!device_.has_value()) return limits;
  limits.max_batch_images = std::min(limits.max_batch_images, device_->images);
  limits.max_batch_tokens = std::min<int64_t>(limits.max_batch_tokens, device_->tokens);
  return limits;
}

}  // namespace vitrine
