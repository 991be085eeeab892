#ifndef VITRINE_SERVER_LOADED_MODEL_H_
#define VITRINE_SERVER_LOADED_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "models/model.h"
#include "repository/repository.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// A version in memory, verified and ready to compute. Immutable; thread-safe.
struct LoadedModel {
  VersionId id;
  v1::Manifest manifest;
  std::string weights_sha256;
  std::vector<std::string> labels;
  std::string device;     // "cpu" or "cuda:N"
  std::string precision;  // "fp32"
  int64_t device_bytes = 0;
  AttentionAbility attention;
  std::unique_ptr<const Model> model;
};

// Pins what it serves: a queued request keeps its version alive, so unloading cannot race with inference.
using ModelHandle = std::shared_ptr<const LoadedModel>;

}  // namespace vitrine

#endif  // VITRINE_SERVER_LOADED_MODEL_H_
