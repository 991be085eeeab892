// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_VERSION_VERSION_STATUS_H_
#define VITRINE_SERVER_REGISTRY_VERSION_VERSION_STATUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/registry/version/loaded_model.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// Version number of the entry for a whole model, used if the folder of the model cannot be read and its versions are
// unknown. The state of this entry is always FAILED.
constexpr int64_t kWholeModel = 0;

// State of a version. `model` is set while READY, and while RETIRING if a request still uses it.
struct VersionStatus {
  VersionId id;
  v1::ModelState state = v1::MODEL_STATE_UNSPECIFIED;
  std::string reason;  // FAILED: the error; RETIRING: why it was excluded; READY: why it waits or cannot be reloaded
  ModelHandle model;
  // Set only for a READY version: its labels, sorted, and its percentage of the requests that name no version and no
  // label.
  std::vector<std::string> labels;
  double traffic_percent = 0;
};

// Returns the status as the Registry service's ModelVersion, without the class labels, which only the call GetModel
// returns.
v1::ModelVersion Describe(const VersionStatus& status);

// Serializes `version`, which Describe made of `status`, and adds the class labels. The labels are written without
// copying: a message with copies of 20,000 labels would keep the allocator busy for milliseconds.
std::string SerializeWithLabels(const v1::ModelVersion& version, const VersionStatus& status);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_VERSION_VERSION_STATUS_H_
