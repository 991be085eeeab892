// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_VERSION_LOADED_MODEL_H_
#define VITRINE_SERVER_REGISTRY_VERSION_LOADED_MODEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/abilities.h"
#include "models/engine/device_status.h"
#include "models/model_description.h"
#include "models/repository/repository.h"
#include "server/observe/model_metrics.h"
#include "server/registry/settings/model_limits.h"
#include "server/registry/version/answer_record.h"
#include "server/registry/version/compute_times.h"
#include "server/registry/version/cost_model.h"
#include "server/registry/version/paired_answers.h"
#include "server/registry/version/version_costs.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

class Backend;
struct StoredVersion;

// A version in memory, verified and ready to compute. Immutable except for measurements; thread-safe.
struct LoadedModel {
  VersionId id;
  v1::Manifest manifest;
  std::string weights_sha256;
  std::vector<std::string> labels;
  size_t longest_label = 0;  // length of the longest class label, in bytes
  std::string device;        // "cpu" or "cuda:N"
  std::string precision;     // "fp32", "bf16" or "int8"
  int64_t device_bytes = 0;  // bytes of the weights in the form used for computing
  // Memory of the version on a device that has its own memory: weights and batches. Zeros on a CPU.
  DeviceMemory device_memory = {};

  // Returns the bytes that count in memory budgets.
  int64_t BudgetBytes() const {
    return std::max(device_bytes, device_memory.device_bytes) + device_memory.pinned_bytes;
  }

  AttentionAbility attention;
  FeatureAbility features;
  std::shared_ptr<const ModelDescription> description;
  std::shared_ptr<const Backend> backend;

  // Costs, shared by the model's versions with the same precision, so that a new version starts with known costs.
  std::shared_ptr<ModelCost> cost = std::make_shared<ModelCost>();
  // Metrics of the model: the server's metrics if the loader has them, otherwise metrics that are never read. Never
  // null.
  std::shared_ptr<ModelMetrics> metrics = std::make_shared<ModelMetrics>();
  std::shared_ptr<VersionMetrics> version_metrics = std::make_shared<VersionMetrics>();
  std::shared_ptr<QueueLimits> queue_limits = std::make_shared<QueueLimits>();

  // Compute times, for the canary guard. Only batches in which no request named a version or label are counted.
  const std::shared_ptr<ComputeRecord> computed = std::make_shared<ComputeRecord>();
  // Answers to requests that named no version or label, and comparisons with the answers of the stable version. The
  // canary guard uses both.
  const std::shared_ptr<AnswerRecord> answered = std::make_shared<AnswerRecord>();
  const std::shared_ptr<PairedAnswers> paired = std::make_shared<PairedAnswers>();
  // Cost of an image, by size: see CostOf.
  const std::shared_ptr<VersionCosts> costs = std::make_shared<VersionCosts>();
  // The manifest and the goldens, without the weights. The goldens are run again while the version serves. Null in
  // tests.
  std::shared_ptr<const StoredVersion> golden;
};

// Reference that keeps a version in memory. Each queued request has a handle, so unloading cannot race with inference.
using ModelHandle = std::shared_ptr<const LoadedModel>;

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_VERSION_LOADED_MODEL_H_
