// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PAGES_VERSION_FAMILIES_H_
#define VITRINE_SERVER_PAGES_VERSION_FAMILIES_H_

#include <vector>

#include "server/observe/families.h"
#include "server/registry/version/version_status.h"

namespace vitrine {

// Adds the metric families of `versions`, the result of Registry::List. Called by the function
// Metrics::Sources::versions.
void AddVersionFamilies(MetricFamilies& families, const std::vector<VersionStatus>& versions);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PAGES_VERSION_FAMILIES_H_
