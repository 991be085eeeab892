// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_LOADED_MODEL_H_
#define VITRINE_SERVER_MODELS_REGISTRY_LOADED_MODEL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "models/abilities.h"
#include "models/model_description.h"
#include "repository/repository.h"
#include "server/models/registry/compute_times.h"
#include "server/models/registry/cost_model.h"
#include "server/models/registry/model_limits.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

class Backend;
class ModelMetrics;
class VersionMetrics;
struct StoredVersion;

// What became of the requests that a version computed, and how long it took. Written by the threads that compute and
// answer, read by the canary guard.
struct VersionOutcomes {
  std::atomic<int64_t> answers = 0;  // OK, and the errors below
  std::atomic<int64_t> errors = 0;   // INTERNAL, UNKNOWN, DATA_LOSS: the version's fault and not the caller's
  ComputeRecord compute;             // of batches that hold more than the server's own probes

  void Count(absl::StatusCode code) {
    const bool is_error = code == absl::StatusCode::kInternal || code == absl::StatusCode::kUnknown ||
                          code == absl::StatusCode::kDataLoss;
    if (!is_error && code != absl::StatusCode::kOk) return;
    if (is_error) errors.fetch_add(1, std::memory_order_relaxed);
    answers.fetch_add(1, std::memory_order_relaxed);
  }
};

// A version in memory, verified and ready to compute. Immutable but for what is measured about it; thread-safe.
struct LoadedModel {
  VersionId id;
  v1::Manifest manifest;
  std::string weights_sha256;
  std::vector<std::string> labels;
  std::string device;        // "cpu" or "cuda:N"
  std::string precision;     // "fp32", "bf16" or "int8"
  int64_t device_bytes = 0;  // of the weights, as fp32
  AttentionAbility attention;
  FeatureAbility features;
  std::shared_ptr<const ModelDescription> description;
  std::shared_ptr<const Backend> backend;

  // Shared by the versions of a model that are computed in one precision, so that a new version starts with what is
  // known about the old.
  std::shared_ptr<ModelCost> cost = std::make_shared<ModelCost>();
  std::shared_ptr<ModelMetrics> metrics;            // null: not counted (tests)
  std::shared_ptr<VersionMetrics> version_metrics;  // null where `metrics` is
  std::shared_ptr<QueueLimits> queue_limits;        // null: none (tests)

  const std::shared_ptr<VersionOutcomes> outcomes = std::make_shared<VersionOutcomes>();
  // The goldens, with the manifest and without the weights, to be run again while the version serves. Null in tests.
  std::shared_ptr<const StoredVersion> golden;
};

// Pins what it serves: a queued request keeps its version alive, so unloading cannot race with inference.
using ModelHandle = std::shared_ptr<const LoadedModel>;

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_LOADED_MODEL_H_
