// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_STATED_LICENCE_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_STATED_LICENCE_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/strings/string_view.h"

namespace vitrine {

// These functions return the licence that the source of weights states, escaped: at most 100 bytes, or
// kMostLicenceBytes for a list of licences; "" if the source states no licence.

// Reads `license` in the YAML at the start of a model card, between two lines of "---". If it is a list, returns its
// entries with " OR " between them. If it is "other", returns `license_name` if the card has one.
std::string LicenceOfCard(absl::string_view card);

// Reads `license` in a config.json of timm or transformers, or in its `pretrained_cfg`.
std::string LicenceOfConfig(std::string_view json);

// Reads `license` or `modelspec.license` in the metadata of a safetensors file.
std::string LicenceOfMetadata(const std::map<std::string, std::string>& metadata);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_STATED_LICENCE_H_
