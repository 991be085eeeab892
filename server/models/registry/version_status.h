// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_VERSION_STATUS_H_
#define VITRINE_SERVER_MODELS_REGISTRY_VERSION_STATUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/models/registry/loaded_model.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// In the place of a version's number: the model as a whole, whose folder cannot be read, so that its versions are not
// known. Always FAILED.
constexpr int64_t kWholeModel = 0;

// A version and how it stands. `model` is set while READY, and while RETIRING as long as a request holds it.
struct VersionStatus {
  VersionId id;
  v1::ModelState state = v1::MODEL_STATE_UNSPECIFIED;
  std::string reason;  // FAILED: why it was refused; RETIRING: why, where it was put away
  ModelHandle model;
  // Of READY versions: what requests may call it, sorted, and how many of those without version and label meet it.
  std::vector<std::string> labels;
  double traffic_percent = 0;
};

// As the Registry service shows it, without the labels of classes, which only GetModel tells.
v1::ModelVersion Describe(const VersionStatus& status);

// The message that Describe made of `status`, with the labels of its classes, as bytes. They are written from where
// they are: a message with its own copies of 20,000 labels keeps the allocator, and whoever shares it, busy for
// milliseconds.
std::string SerializeWithLabels(const v1::ModelVersion& version, const VersionStatus& status);

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_VERSION_STATUS_H_
