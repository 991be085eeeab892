#ifndef VITRINE_SERVER_LOADED_MODEL_H_
#define VITRINE_SERVER_LOADED_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "models/model.h"
#include "repository/repository.h"
#include "server/cost_model.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

class ModelMetrics;

// A version in memory, verified and ready to compute. Immutable but for what is measured about it; thread-safe.
struct LoadedModel {
  VersionId id;
  v1::Manifest manifest;
  std::string weights_sha256;
  std::vector<std::string> labels;
  std::string device;        // "cpu" or "cuda:N"
  std::string precision;     // "fp32"
  int64_t device_bytes = 0;  // sum of the sizes of every parameter and buffer
  AttentionAbility attention;
  FeatureAbility features;
  std::unique_ptr<const Model> model;

  // Shared by the versions of a model, so that a new version starts with what is known about the old.
  std::shared_ptr<ModelCost> cost = std::make_shared<ModelCost>();
  std::shared_ptr<ModelMetrics> metrics;  // null: not counted (tests)
};

// Pins what it serves: a queued request keeps its version alive, so unloading cannot race with inference.
using ModelHandle = std::shared_ptr<const LoadedModel>;

}  // namespace vitrine

#endif  // VITRINE_SERVER_LOADED_MODEL_H_
