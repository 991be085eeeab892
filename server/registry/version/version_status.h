// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_VERSION_VERSION_STATUS_H_
#define VITRINE_SERVER_REGISTRY_VERSION_VERSION_STATUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/registry/version/loaded_model.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// Version number that stands for the model as a whole if its folder cannot be read, so that its versions are unknown.
// Always FAILED.
constexpr int64_t kWholeModel = 0;

// State of a version. `model` is set while READY, and while RETIRING as long as a request holds it.
struct VersionStatus {
  VersionId id;
  v1::ModelState state = v1::MODEL_STATE_UNSPECIFIED;
  std::string reason;  // FAILED: the error; RETIRING: why it was put away, if it was
  ModelHandle model;
  // READY only: its labels, sorted, and its percentage of the requests without version and label.
  std::vector<std::string> labels;
  double traffic_percent = 0;
};

// Returns the message of the Registry service, without the class labels, which only GetModel returns.
v1::ModelVersion Describe(const VersionStatus& status);

// Serializes `version`, which Describe made of `status`, with the class labels added. The labels are written from where
// they are: a message with copies of 20,000 labels would keep the allocator busy for milliseconds.
std::string SerializeWithLabels(const v1::ModelVersion& version, const VersionStatus& status);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_VERSION_VERSION_STATUS_H_
