// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_PAGE_H_
#define VITRINE_MODELS_TOOL_PUBLISH_PAGE_H_

#include <string>
#include <vector>

#include "common/charts/html/data_table.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// Functions with which vitrine-repo shows manifests as text. Control characters from a manifest are escaped.

// Returns a row per version: model, version, parameters, size, creation, metrics.
DataTable TableOf(const std::vector<v1::Manifest>& manifests);
// Returns the main fields of one version, its files and its config as text.
std::string ManifestAsPage(const v1::Manifest& manifest);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_PAGE_H_
