// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_ADMIN_SERVING_STATUS_H_
#define VITRINE_SERVER_MODELS_ADMIN_SERVING_STATUS_H_

#include <string>

#include "server/models/admin/canary_watch.h"
#include "server/models/registry/registry.h"
#include "server/models/registry/serving_settings.h"
#include "vitrine/v1/admin.pb.h"

namespace vitrine {

// How one model is served and why. `canaries` may be null.
v1::ModelServingStatus DescribeServing(const std::string& model, const Registry& registry,
                                       const ServingSettings& settings, const CanaryWatch* canaries);

// The server as a whole, without the models.
v1::ServingStatus DescribeServer(const Registry& registry, const ServingSettings& settings);

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_ADMIN_SERVING_STATUS_H_
