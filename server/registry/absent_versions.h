// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_ABSENT_VERSIONS_H_
#define VITRINE_SERVER_REGISTRY_ABSENT_VERSIONS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "models/repository/repository.h"
#include "server/registry/settings/serving_settings.h"

namespace vitrine {

// Logs a warning for each model or version that the settings name but the repository does not have, except for the
// entries of `logged`. Returns all missing models and versions, logged or not; a missing model has the version
// kWholeModel. `present`: the repository's versions by model.
std::set<VersionId> LogAbsentVersions(const ServingSettings& settings,
                                      const std::map<std::string, std::set<int64_t>>& present,
                                      const std::set<VersionId>& logged = {});

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_ABSENT_VERSIONS_H_
