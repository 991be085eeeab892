// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_ADMIN_DESCRIBE_SERVING_H_
#define VITRINE_SERVER_ADMIN_DESCRIBE_SERVING_H_

#include <cstdint>
#include <string>

#include "server/admin/canary_watch.h"
#include "server/registry/registry.h"
#include "server/registry/settings/serving_settings.h"
#include "vitrine/v1/admin.pb.h"

namespace vitrine {

// Describes the serving state of one model. `canaries` may be null.
v1::ModelServingStatus DescribeServing(const std::string& model, const Registry& registry,
                                       const ServingSettings& settings, const CanaryWatch* canaries);

// Describes the server as a whole, without its models.
v1::ServingStatus DescribeServer(const Registry& registry, const ServingSettings& settings);

// Returns a note about a change that made `version` a canary. The note gives the settings of the model's canary guard.
std::string GuardNote(int64_t version, const v1::ServingChange& change);
// Returns a note about a change that gave `version` the label `stable`.
std::string PinNote(int64_t version);

}  // namespace vitrine

#endif  // VITRINE_SERVER_ADMIN_DESCRIBE_SERVING_H_
