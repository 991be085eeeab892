// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_LOADED_MODEL_H_
#define VITRINE_SERVER_MODELS_REGISTRY_LOADED_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/abilities.h"
#include "models/model_description.h"
#include "repository/repository.h"
#include "server/models/registry/answer_record.h"
#include "server/models/registry/compute_times.h"
#include "server/models/registry/cost_model.h"
#include "server/models/registry/model_limits.h"
#include "server/models/registry/paired_answers.h"
#include "server/models/registry/version_costs.h"
#include "server/observe/model_metrics.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

class Backend;
struct StoredVersion;

// A version in memory, verified and ready to compute. Immutable but for what is measured about it; thread-safe.
struct LoadedModel {
  VersionId id;
  v1::Manifest manifest;
  std::string weights_sha256;
  std::vector<std::string> labels;
  size_t longest_label = 0;  // in bytes
  std::string device;        // "cpu" or "cuda:N"
  std::string precision;     // "fp32", "bf16" or "int8"
  int64_t device_bytes = 0;  // of the weights, as they are computed with
  AttentionAbility attention;
  FeatureAbility features;
  std::shared_ptr<const ModelDescription> description;
  std::shared_ptr<const Backend> backend;

  // Shared by the versions of a model that are computed in one precision, so that a new version starts with what is
  // known about the old.
  std::shared_ptr<ModelCost> cost = std::make_shared<ModelCost>();
  // Never null. Those of the server where the loader was given them; else its own, which nobody reads.
  std::shared_ptr<ModelMetrics> metrics = std::make_shared<ModelMetrics>();
  std::shared_ptr<VersionMetrics> version_metrics = std::make_shared<VersionMetrics>();
  std::shared_ptr<QueueLimits> queue_limits = std::make_shared<QueueLimits>();

  // How long it computes, of batches that hold more than the server's own probes: for the canary guard.
  const std::shared_ptr<ComputeRecord> computed = std::make_shared<ComputeRecord>();
  // What it answered to requests that the traffic's shares brought to it, and what `stable` would have: likewise.
  const std::shared_ptr<AnswerRecord> answered = std::make_shared<AnswerRecord>();
  const std::shared_ptr<PairedAnswers> paired = std::make_shared<PairedAnswers>();
  // What pictures of each size cost: see CostOf.
  const std::shared_ptr<VersionCosts> costs = std::make_shared<VersionCosts>();
  // The goldens, with the manifest and without the weights, to be run again while the version serves. Null in tests.
  std::shared_ptr<const StoredVersion> golden;
};

// Pins what it serves: a queued request keeps its version alive, so unloading cannot race with inference.
using ModelHandle = std::shared_ptr<const LoadedModel>;

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_LOADED_MODEL_H_
